/** Who did what, when and why, over the whole installation. */
import { useState } from "react";
import { Link } from "react-router";

import { auditQuery, type AuditEntry } from "@/api/administration";
import { useSystems } from "@/api/systems";
import { Differences, valueText } from "@/components/ui/audit-trail";
import type { Column } from "@/components/ui/data-table";
import { Dialog } from "@/components/ui/dialogs";
import { ListPage } from "@/components/ui/list-page";
import { kindOfAudit, KINDS, to } from "@/lib/kinds";
import { UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";
import { actionWord, fieldWord, plainWords } from "@/lib/words";

const ACTIONS = [
  ...["create", "update", "delete", "set_access", "set_retention"],
  ...["enrol", "revoke", "remove", "adopt", "adopt_restored"],
  ...["submit", "approve", "reject", "execute", "pause", "resume", "stop", "roll_back", "decide"],
  ...["sign_in", "refuse_sign_in", "change_password"],
];

function addressOf(entry: AuditEntry): string | null {
  const kind = kindOfAudit(entry.object_kind);
  if (entry.action === "delete") return null;
  if (entry.object_kind === "system") return to.system(entry.object_id);
  if (entry.object_kind === "run") return to.run(entry.object_id);
  if (entry.object_kind === "plan") return to.plan(entry.object_id);
  if (entry.object_kind === "interest_import" && entry.system) {
    return to.interestImport(entry.system, entry.object_id);
  }
  return kind && entry.system ? to.object(entry.system, kind, entry.object_id) : null;
}

function wordOf(entry: AuditEntry): string {
  const kind = kindOfAudit(entry.object_kind);
  return kind ? KINDS[kind].one : plainWords(entry.object_kind);
}

function ObjectName({ entry }: { entry: AuditEntry }) {
  const address = addressOf(entry);
  return (
    <>
      {/* A policy is called "policy of Meridian" already. */}
      {entry.object_name.startsWith(`${wordOf(entry)} `) ? null : (
        <span className="faint">{wordOf(entry)} </span>
      )}
      {address ? (
        <Link className="ent" to={address}>
          {entry.object_name}
        </Link>
      ) : (
        <span className="ent">{entry.object_name}</span>
      )}
    </>
  );
}

function summary(entry: AuditEntry): string {
  if (entry.before && entry.after) {
    return Object.keys(entry.after).map(fieldWord).join(", ");
  }
  return "";
}

export default function AuditPage() {
  const systems = useSystems().data?.results ?? [];
  const nameOf = (id: string | null) => systems.find((system) => system.id === id)?.name;
  const [open, setOpen] = useState<AuditEntry | null>(null);
  const columns: Column<AuditEntry>[] = [
    {
      key: "at",
      title: "When",
      unit: "UTC",
      cell: (entry) => (
        <button
          type="button"
          className="link"
          title={exactTime(entry.at)}
          onClick={() => setOpen(entry)}
        >
          {clockText(entry.at)}
        </button>
      ),
    },
    { key: "actor", title: "Who", cell: (entry) => entry.actor_name },
    {
      key: "action",
      title: "Did",
      cell: (entry) => <span className="tag">{actionWord(entry.action)}</span>,
    },
    { key: "object", title: "What", cell: (entry) => <ObjectName entry={entry} /> },
    {
      key: "changed",
      title: "Changed",
      cell: (entry) => <div className="clip faint">{summary(entry)}</div>,
    },
    {
      key: "system",
      title: "System",
      cell: (entry) => nameOf(entry.system) ?? <span className="faint">{UNKNOWN}</span>,
    },
    {
      key: "version",
      title: "Model",
      number: true,
      cell: (entry) => (entry.model_version ? `v${entry.model_version}` : UNKNOWN),
    },
    {
      key: "reason",
      title: "Why",
      cell: (entry) => <div className="clip">{entry.reason ?? ""}</div>,
    },
  ];
  return (
    <ListPage
      title="Audit"
      list="Entries"
      label="Audit"
      about="The record can only grow; nothing in it is changed or deleted."
      query={auditQuery}
      search="Find entries"
      filters={[
        "system",
        {
          name: "action",
          label: "Action",
          options: ACTIONS.map((action) => ({ value: action, label: actionWord(action) })),
        },
      ]}
      who="Person"
      columns={columns}
      sortable={false}
      newestFirst
      empty="Every edit, run and sign of change is recorded here."
      onOpen={setOpen}
    >
      <Dialog
        title={open ? `${open.actor_name}, ${exactTime(open.at)}` : ""}
        open={open !== null}
        onClose={() => setOpen(null)}
        wide
      >
        {open ? (
          <div className="form">
            <p>
              <span className="tag">{actionWord(open.action)}</span> <ObjectName entry={open} />
            </p>
            {open.reason ? <p>{open.reason}</p> : null}
            <Differences entry={open} />
            {open.before === null || open.after === null ? (
              <dl className="kv">
                {Object.entries(open.after ?? open.before ?? {}).map(([name, value]) => (
                  <div key={name} style={{ display: "contents" }}>
                    <dt>{fieldWord(name)}</dt>
                    <dd>{valueText(value)}</dd>
                  </div>
                ))}
              </dl>
            ) : null}
          </div>
        ) : null}
      </Dialog>
    </ListPage>
  );
}
