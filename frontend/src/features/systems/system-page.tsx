/** One system: its own values, its history, and its end. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";

import { AccessPanel } from "./access-panel";
import { ChecklistPanel } from "./checklist-panel";
import { ModelStatePanel } from "./model-state-panel";
import { RetentionPanel } from "./retention-panel";
import { differing, SYSTEM_FIELDS, systemBody, SystemForm, type SystemDraft } from "./system-form";

import { auditQuery } from "@/api/administration";
import { keys } from "@/api/query-keys";
import { systemDelete, systemUpdate, useSystem, type System } from "@/api/systems";
import { AuditTrail } from "@/components/ui/audit-trail";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { RestoredNote } from "@/components/ui/restored-note";
import { tellWithUndo } from "@/components/ui/toast";
import { listAddress } from "@/lib/computations";
import { rememberSystem, useCurrentSystemIs } from "@/lib/current-system";
import { KIND_NAMES, KINDS, to } from "@/lib/kinds";
import { labelWords } from "@/lib/labels";
import { fixed } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";
import { useSubmission } from "@/lib/submission";
import { ageText } from "@/lib/time";

const draftOf = (system: System): SystemDraft => ({
  name: system.name,
  description: system.description ?? "",
  product: system.product ?? "simulated",
  resources: system.resources ?? [],
  external_id: system.external_id ?? "",
  labels: labelWords(system.labels),
  reason: "",
});

export default function SystemPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId);
  if (system.data) return <SystemView key={systemId} latest={system.data} />;
  return (
    <>
      <PageHead title="System" crumbs={[{ label: "Systems", to: to.systems }]} />
      <div className="main">
        <section className="panel">
          <QueryBody query={system} what="This system" rows={6}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function SystemView({ latest }: { latest: System }) {
  useCurrentSystemIs(latest.id);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [base, setBase] = useState(latest);
  const [draft, setDraft] = useState(() => draftOf(latest));
  const { errors, setErrors, busy, send, others } = useSubmission(SYSTEM_FIELDS);
  const [deleting, setDeleting] = useState(false);
  const audit = useQuery(auditQuery({ object: latest.id, page_size: 20 }));
  const mayEdit = latest.allowed_commands.includes("edit");
  const isDirty = JSON.stringify(draft) !== JSON.stringify(draftOf(base));
  const movedOn = latest.version !== base.version;
  if (movedOn && !isDirty) {
    setBase(latest);
    setDraft(draftOf(latest));
  }

  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: keys.systems.all });
    await queries.invalidateQueries({ queryKey: keys.overview });
    await queries.invalidateQueries({ queryKey: keys.audit.all });
  };
  const take = (system: System) => {
    setBase(system);
    setDraft(draftOf(system));
  };

  const keepMine = () => {
    // What one has not touched is as somebody else, or a program, has left it.
    setDraft({ ...draftOf(latest), ...differing(draftOf(base), draft) });
    setBase(latest);
  };

  const save = async () => {
    if (!isDirty) return;
    const { body, errors: wrong } = systemBody(draft);
    setErrors(wrong);
    if (wrong.length > 0) return;
    await send(
      async () => {
        const stored = systemBody(draftOf(base)).body;
        const former = differing(body, stored);
        const saved = await systemUpdate(base.id, base.version, differing(stored, body));
        take(saved);
        tellWithUndo(`Saved system ${saved.name}`, async () => {
          take(
            await systemUpdate(saved.id, saved.version, { ...former, reason: "Undo of an edit" }),
          );
          await refresh();
        });
        await refresh();
      },
      async (error) => {
        if (problemOf(error).status !== 412) return false;
        await queries.refetchQueries({ queryKey: keys.systems.one(base.id) });
        return true;
      },
    );
  };

  const remove = async (reason: string) => {
    await systemDelete(latest.id, latest.version, reason);
    rememberSystem(null);
    await navigate(to.systems);
    queries.removeQueries({ queryKey: keys.systems.one(latest.id) });
    await refresh();
  };

  return (
    <>
      <PageHead
        title={latest.name}
        crumbs={[{ label: "Systems", to: to.systems }]}
        state={
          <>
            <span className="tag">{latest.product_name}</span>
            {latest.model_only ? <span className="tag out">model only</span> : null}
          </>
        }
        facts={[
          { key: "model", icon: "versions", text: `model v${fixed(latest.model_version)}` },
          { key: "changed", icon: "clock", text: `changed ${ageText(latest.updated_at)} ago` },
        ]}
        commands={
          <>
            {latest.allowed_commands.includes("delete") ? (
              <Command danger icon="trash" onClick={() => setDeleting(true)}>
                Delete
              </Command>
            ) : null}
            {mayEdit ? (
              <Command
                primary
                icon="check"
                type="submit"
                form="system"
                disabled={busy || !isDirty}
                reason="Nothing is changed yet."
              >
                Save
              </Command>
            ) : null}
          </>
        }
      />
      <div className="main">
        <div className="cols c-8-4">
          <div className="stack">
            <RestoredNote system={latest.id} />
            {movedOn && isDirty ? (
              <Note tone="warn">
                <b>Changed by someone else while you edited.</b> Your entries are still here.{" "}
                <button type="button" className="link" onClick={() => take(latest)}>
                  Load the stored version
                </button>{" "}
                or{" "}
                <button type="button" className="link" onClick={keepMine}>
                  keep mine and save over it
                </button>
                .
              </Note>
            ) : null}
            <Panel title={mayEdit ? "Edit" : "Values"}>
              <div className="form" style={{ maxWidth: 760, paddingTop: 4 }}>
                {others.length > 0 ? (
                  <Note tone="bad">{others.map((error) => error.message).join(" ")}</Note>
                ) : null}
                <SystemForm
                  draft={draft}
                  onDraft={setDraft}
                  errors={errors}
                  disabled={!mayEdit}
                  onSubmit={() => void save()}
                />
              </div>
            </Panel>
            <ChecklistPanel system={latest.id} modelVersion={latest.model_version} />
            <ModelStatePanel
              system={latest.id}
              modelVersion={latest.model_version}
              mayPlan={mayEdit}
            />
            <Panel title="What is in it" sub="the parts of its model">
              <ul className="parts">
                <li>
                  <Link to={to.topology(latest.id)}>Map</Link>
                </li>
                {KIND_NAMES.map((kind) => (
                  <li key={kind}>
                    <Link to={to.kind(latest.id, kind)}>{KINDS[kind].many}</Link>
                  </li>
                ))}
                <li>
                  <Link to={listAddress("allocation", latest.id)}>Allocations</Link>
                </li>
              </ul>
            </Panel>
          </div>
          <div className="stack">
            <AccessPanel
              system={latest}
              onSaved={async (saved) => {
                // The form keeps what was typed; only the version that it is based on moves.
                setBase((known) => ({ ...known, version: saved.version }));
                await refresh();
              }}
            />
            <RetentionPanel
              system={latest}
              onSaved={async (saved) => {
                // The form keeps what was typed; only the version that it is based on moves.
                setBase((known) => ({ ...known, version: saved.version }));
                await refresh();
              }}
            />
            <Panel title="History">
              <QueryBody query={audit} what="History" rows={3}>
                {(page) => <AuditTrail entries={page.results} />}
              </QueryBody>
            </Panel>
          </div>
        </div>
      </div>
      <ConfirmDialog
        title={`Delete system ${latest.name}`}
        command="Delete"
        open={deleting}
        onClose={() => setDeleting(false)}
        askReason
        run={remove}
      >
        <p>
          Weir stops managing <b>{latest.name}</b> and deletes its whole model with all runs and
          allocations. The brokers themselves are not touched. This cannot be undone here.
        </p>
      </ConfirmDialog>
    </>
  );
}
