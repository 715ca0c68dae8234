/** The placements of one system, newest first, and the command that makes the next. */
import { SloBadge } from "./sentences";
import { Link, useParams } from "react-router";

import { placementsAt } from "./addresses";
import { PlaceDialog } from "./place-dialog";

import { placementsQuery, type Placement } from "@/api/placements";
import { useSystem } from "@/api/systems";
import { ActiveRuns, useRequestDialog } from "@/components/ui/request-dialog";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn } from "@/components/ui/list-panel";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";
import { methodWord } from "@/lib/words";

/** Rows of a list have different scales: milliseconds for all, so that they compare. */
const ms = (seconds: number | null) => fixed(seconds === null ? null : seconds * 1e3, 2);

const columnsOf = (system: string): Column<Placement>[] => [
  {
    key: "name",
    title: "Placement",
    orderBy: "number",
    cell: (row) => (
      <Link className="ent" to={placementsAt.one(system, row.id)}>
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
  {
    key: "brokers",
    title: "Brokers",
    orderBy: "brokers",
    number: true,
    strong: true,
    cell: (row) => fixed(row.brokers),
  },
  {
    key: "p99",
    title: "p99 predicted",
    orderBy: "p99_s",
    unit: "ms",
    number: true,
    strong: true,
    cell: (row) => (row.p99_s === null ? "no bound" : ms(row.p99_s)),
  },
  {
    key: "slo",
    title: "SLO",
    unit: "ms",
    number: true,
    cell: ({ slo_p99_s: p99, slo_mean_s: mean }) => (
      <span className="faint">
        {p99 === null && mean !== null ? "" : ms(p99)}
        {mean === null ? "" : `${p99 === null ? "" : ", "}mean ${ms(mean)}`}
      </span>
    ),
  },
  { key: "meets", title: "Against it", cell: (row) => <SloBadge meets={row.meets} /> },
  {
    key: "penalty",
    title: "Penalty of the split",
    unit: "ms",
    number: true,
    cell: (row) => ms(row.penalty_s),
  },
  {
    key: "moved",
    title: "Publishers that move",
    orderBy: "moved",
    number: true,
    cell: (row) => (
      <>
        {fixed(row.moved)} <span className="faint">of {fixed(row.publishers)}</span>
      </>
    ),
  },
  { key: "method", title: "Method", cell: (row) => methodWord(row.method) },
  createdColumn("Found"),
];

const VERDICTS = [
  { value: "true", label: "meets" },
  { value: "false", label: "misses" },
];

export default function PlacementsPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId).data;
  const { isOpen, params, ask } = useRequestDialog("place", ["topic"]);
  return (
    <ListPage
      title="Placement"
      list="Placements"
      about="Which brokers serve the publishers of a topic, and what splitting its rate limit over them costs."
      system={systemId}
      query={placementsQuery}
      search="Topic or method"
      filters={[{ name: "meets", label: "Against the SLO", options: VERDICTS }]}
      columns={columnsOf(systemId)}
      newestFirst
      empty="A placement gives every publisher of a topic its broker, and every broker its part of the topic's token bucket. This system has none yet."
      command={
        <Command primary icon="split" onClick={() => ask(true)}>
          Place a topic
        </Command>
      }
      needs="optimize"
      address={(row) => placementsAt.one(systemId, row.id)}
    >
      <ActiveRuns kind="placement" system={systemId} />
      {system?.allowed_commands.includes("optimize") ? (
        <PlaceDialog
          system={system}
          open={isOpen}
          topic={params.get("topic") ?? undefined}
          onClose={() => ask(false)}
        />
      ) : null}
    </ListPage>
  );
}
