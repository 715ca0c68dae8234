/** The imports of interests of one system, newest first, live while they go on. */
import { useState } from "react";
import { Link, useParams } from "react-router";

import { CancelImport } from "./cancel-import";
import {
  doneText,
  goesOn,
  interestImportsQuery,
  MODE_NAMES,
  MODES,
  modeText,
  shareOf,
  tookSeconds,
  type InterestImport,
} from "./interest-imports";

import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn } from "@/components/ui/list-panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { useNow } from "@/lib/clock";
import { KINDS, to } from "@/lib/kinds";
import { dataText, fixed, percentText, UNKNOWN } from "@/lib/numbers";
import { capital } from "@/lib/words";

const STATES: InterestImport["state"][] = [
  ...(["queued", "running", "succeeded", "refused", "failed", "cancelled"] as const),
];

/** A count of what was changed; nothing was while it goes on, or where it did not succeed. */
const counted = (row: InterestImport, count: number) =>
  row.state === "succeeded" ? fixed(count) : UNKNOWN;

function Took({ row }: { row: InterestImport }) {
  const now = useNow(goesOn(row));
  return <UnitNumber value={tookSeconds(row, now)} as="duration" />;
}

const columns = (onCancel: (row: InterestImport) => void): Column<InterestImport>[] => [
  {
    key: "name",
    title: "Import",
    cell: (row) => (
      <Link className="ent" to={to.interestImport(row.system, row.id)}>
        {row.name}
      </Link>
    ),
  },
  {
    key: "state",
    title: "State",
    orderBy: "state",
    cell: (row) => (
      <>
        <StateBadge state={row.state} />{" "}
        {row.state === "running" ? (
          <span className="muted nowrap" title={doneText(row)}>
            {row.phase}, {percentText(shareOf(row))}
          </span>
        ) : null}
        {row.state === "refused" ? (
          <span className="muted nowrap">{fixed(row.error_count)} wrong</span>
        ) : null}
      </>
    ),
  },
  { key: "mode", title: "Mode", cell: (row) => <span className="nowrap">{modeText(row)}</span> },
  {
    key: "size",
    title: "File",
    number: true,
    cell: (row) => <span className="nowrap">{dataText(row.size_bytes)}</span>,
  },
  {
    key: "lines",
    title: "Lines",
    number: true,
    cell: (row) => (row.lines === 0 && goesOn(row) ? UNKNOWN : fixed(row.lines)),
  },
  {
    key: "added",
    title: "Added",
    number: true,
    strong: true,
    cell: (row) => counted(row, row.added),
  },
  {
    key: "removed",
    title: "Removed",
    number: true,
    strong: true,
    cell: (row) => counted(row, row.removed),
  },
  {
    key: "unchanged",
    title: "Unchanged",
    number: true,
    cell: (row) => counted(row, row.unchanged),
  },
  { key: "who", title: "Asked by", cell: (row) => row.started_by ?? "Weir" },
  { key: "took", title: "Took", number: true, cell: (row) => <Took row={row} /> },
  createdColumn("Asked"),
  {
    key: "cancel",
    title: "Cancel",
    silent: true,
    cell: (row) =>
      row.allowed_commands.includes("cancel") ? (
        <Command small danger icon="ban" onClick={() => onCancel(row)}>
          Cancel <span className="vh">{row.name}</span>
        </Command>
      ) : null,
  },
];

export default function InterestImportsPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId).data;
  const [cancelled, setCancelled] = useState<InterestImport | null>(null);
  return (
    <ListPage
      title="Imports of interests"
      list="Imports"
      about="Each import takes many interests from one file, or changes nothing at all; one that only checks changes nothing."
      system={systemId}
      crumbs={[
        { label: system?.name ?? "System", to: to.topology(systemId) },
        { label: KINDS.subscribers.many, to: to.kind(systemId, "subscribers") },
      ]}
      query={interestImportsQuery}
      filters={[
        {
          name: "state",
          label: "State",
          options: STATES.map((state) => ({ value: state, label: capital(state) })),
        },
        {
          name: "mode",
          label: "Mode",
          options: MODE_NAMES.map((mode) => ({ value: mode, label: MODES[mode].word })),
        },
        {
          name: "dry_run",
          label: "Checks",
          options: [
            { value: "true", label: "Check only" },
            { value: "false", label: "Imports alone" },
          ],
        },
      ]}
      who="Asked by"
      search="Find by reason"
      columns={columns(setCancelled)}
      newestFirst
      empty="Imports of interests appear here, with what each has changed. This system has none yet."
      command={
        <Link className="btn pri" to={to.importInterests(systemId)}>
          <Icon name="upload" small />
          Import interests
        </Link>
      }
      needs="add"
      address={(row) => to.interestImport(systemId, row.id)}
      tall
    >
      <CancelImport row={cancelled} onClose={() => setCancelled(null)} />
    </ListPage>
  );
}
