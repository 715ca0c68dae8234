/** The correlation analyses of one system, newest first, and the command that makes the next. */
import { Link, useParams } from "react-router";

import { correlationAt } from "./addresses";
import { LookDialog } from "./look-dialog";
import { sourceText } from "./words";

import { analysesQuery, type Analysis } from "@/api/correlation";
import { useSystem } from "@/api/systems";
import { ActiveRuns, useRequestDialog } from "@/components/ui/request-dialog";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn } from "@/components/ui/list-panel";
import { to } from "@/lib/kinds";
import { fixed, significant } from "@/lib/numbers";

const columnsOf = (system: string): Column<Analysis>[] => [
  {
    key: "name",
    title: "Analysis",
    orderBy: "number",
    cell: (row) => (
      <Link className="ent" to={correlationAt.one(system, row.id)}>
        {row.name}
      </Link>
    ),
  },
  {
    key: "topic",
    title: "Topic",
    cell: (row) =>
      row.topic === null ? (
        row.topic_name
      ) : (
        <Link to={to.object(system, "topics", row.topic)}>{row.topic_name}</Link>
      ),
  },
  { key: "source", title: "Messages", cell: sourceText },
  {
    key: "groups",
    title: "Groups",
    orderBy: "groups",
    number: true,
    strong: true,
    cell: (row) => fixed(row.groups),
  },
  {
    key: "publishers",
    title: "Publishers",
    orderBy: "publishers",
    number: true,
    cell: (row) => fixed(row.publishers),
  },
  {
    key: "judged",
    title: "Judged",
    number: true,
    cell: (row) => fixed(row.judged),
  },
  { key: "periodic", title: "Periodic", number: true, cell: (row) => fixed(row.periodic) },
  {
    key: "within",
    title: "Within",
    unit: "ms",
    number: true,
    cell: (row) => significant(row.within_s * 1e3, 3),
  },
  createdColumn("Found"),
];

export default function AnalysesPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId).data;
  const { isOpen, params, ask } = useRequestDialog("look", ["topic"]);
  return (
    <ListPage
      title="Correlation"
      list="Analyses"
      about="Publishers that burst together, found in what they sent; what is accepted becomes a correlation key, which placements split over brokers."
      system={systemId}
      query={analysesQuery}
      search="Topic or recording"
      columns={columnsOf(systemId)}
      newestFirst
      empty="An analysis compares when the publishers of a topic sent, and suggests the groups that send at the same moments. This system has none yet."
      command={
        <Command primary icon="burst" onClick={() => ask(true)}>
          Look for bursts
        </Command>
      }
      needs="optimize"
      address={(row) => correlationAt.one(systemId, row.id)}
    >
      <ActiveRuns kind="correlation" system={systemId} />
      {system?.allowed_commands.includes("optimize") ? (
        <LookDialog
          system={system}
          open={isOpen}
          topic={params.get("topic") ?? undefined}
          onClose={() => ask(false)}
        />
      ) : null}
    </ListPage>
  );
}
