/** The maps of one system, newest first, what there is to map, and the command that maps it. */
import { Link, useParams } from "react-router";

import { mappingsAt } from "./addresses";
import { DayPanel } from "./day-panel";
import { HandOversPanel } from "./hand-overs-panel";
import { InForceBesideNewest } from "./in-force-panel";
import { MapDialog } from "./map-dialog";
import { MappableStrip } from "./mappable";

import { mappingsQuery, useMappable, type Mapping } from "@/api/mappings";
import { useSystem } from "@/api/systems";
import { ActiveRuns, useRequestDialog } from "@/components/ui/request-dialog";
import { Command } from "@/components/ui/command";
import type { Column } from "@/components/ui/data-table";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn } from "@/components/ui/list-panel";
import { StateBadge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { fixed, percentText, rateText, relativeChange, UNKNOWN } from "@/lib/numbers";
import { methodWord } from "@/lib/words";

/** Less cost is better; where no map was in force there is none to keep. */
function CostChange({ cost, kept }: { cost: number; kept: number | null }) {
  const tone = kept === null || kept === cost ? "same" : cost < kept ? "up" : "worse";
  const title =
    kept === null
      ? "No map was in force"
      : `To keep the map in force costs ${rateText(kept)} work/s`;
  return (
    <span className={`nowrap ${tone}`} title={title}>
      {relativeChange(cost, kept)}
    </span>
  );
}

const columnsOf = (system: string): Column<Mapping>[] => [
  {
    key: "name",
    title: "Mapping",
    orderBy: "number",
    cell: (row) => (
      <>
        <Link className="ent" to={mappingsAt.one(system, row.id)}>
          {row.name}
        </Link>{" "}
        {row.complete ? null : <StateBadge state="time_limit" />}
      </>
    ),
  },
  { key: "method", title: "Method", cell: (row) => methodWord(row.method) },
  {
    key: "former",
    title: "Cost in force",
    unit: "work/s",
    number: true,
    cell: (row) => <span className="faint">{rateText(row.former_cost)}</span>,
  },
  {
    key: "cost",
    title: "Cost",
    unit: "work/s",
    orderBy: "cost",
    number: true,
    strong: true,
    cell: (row) => rateText(row.cost),
  },
  {
    key: "change",
    title: "Against keeping",
    number: true,
    cell: (row) => <CostChange cost={row.cost} kept={row.kept_cost} />,
  },
  {
    key: "random",
    title: "Of random",
    number: true,
    cell: (row) => (row.random_cost > 0 ? percentText(row.cost / row.random_cost) : UNKNOWN),
  },
  {
    key: "moved",
    title: "Flows moved",
    orderBy: "moved",
    number: true,
    cell: (row) =>
      row.former_cost === null ? (
        <span className="faint">all new</span>
      ) : (
        <>
          {fixed(row.moved)} <span className="faint">of {fixed(row.wanted_flows)}</span>
        </>
      ),
  },
  {
    key: "unwanted",
    title: "Unwanted",
    unit: "msg/s",
    number: true,
    cell: (row) => rateText(row.unwanted_per_s),
  },
  { key: "who", title: "Asked by", cell: (row) => row.asked_by ?? "Weir" },
  createdColumn("Found"),
];

function NoMapping({ system }: { system: string }) {
  const mappable = useMappable(system).data;
  return (
    <>
      A mapping gives every flow that somebody wants a stream, and every stream a group, so that
      users receive little that they do not want. This system has none yet.
      {mappable?.interests === 0 ? (
        <>
          {" "}
          No subscriber wants a topic yet:{" "}
          <Link to={to.importInterests(system)}>import interests</Link> from a file.
        </>
      ) : null}
    </>
  );
}

export default function MappingsPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId).data;
  const { isOpen, ask } = useRequestDialog("ask");
  return (
    <ListPage
      title="Mapping"
      list="Mappings"
      about="Which stream carries which flow (topic), in which group, and what users (subscribers) have to filter then."
      system={systemId}
      query={mappingsQuery}
      search="Method or note"
      columns={columnsOf(systemId)}
      newestFirst
      empty={<NoMapping system={systemId} />}
      command={
        <Command primary icon="grid" onClick={() => ask(true)}>
          Map flows
        </Command>
      }
      needs="optimize"
      address={(row) => mappingsAt.one(systemId, row.id)}
    >
      <ActiveRuns kind="mapping" system={systemId} />
      <MappableStrip system={systemId} />
      <InForceBesideNewest system={systemId} />
      <HandOversPanel system={systemId} />
      <DayPanel system={systemId} />
      {system?.allowed_commands.includes("optimize") ? (
        <MapDialog system={system} open={isOpen} onClose={() => ask(false)} />
      ) : null}
    </ListPage>
  );
}
