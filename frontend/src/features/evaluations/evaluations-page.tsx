/** Every evaluation of one system's overlay, newest first. */
import { Link, useParams } from "react-router";

import { evaluationsAt } from "./addresses";
import { horizonText } from "./candidate-words";

import { evaluationsQuery, type Evaluation } from "@/api/evaluations";
import { useSystem } from "@/api/systems";
import type { Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn } from "@/components/ui/list-panel";
import { StateBadge } from "@/components/ui/state-badge";
import { sectionTabs, to } from "@/lib/kinds";
import { fixed, rateText, UNKNOWN } from "@/lib/numbers";

const columnsOf = (system: string): Column<Evaluation>[] => [
  {
    key: "name",
    title: "Evaluation",
    orderBy: "number",
    cell: (row) => (
      <Link className="ent" to={evaluationsAt.one(system, row.id)}>
        {row.name}
      </Link>
    ),
  },
  { key: "state", title: "State", cell: (row) => <StateBadge state={row.state} /> },
  { key: "overlay", title: "From overlay", cell: (row) => row.overlay_name },
  {
    key: "traffic",
    title: "Published",
    unit: "msg/s",
    number: true,
    cell: (row) => (
      <span title={row.traffic.detail}>
        {rateText(row.traffic.published_per_s)}{" "}
        <span className="faint">{row.traffic.source === "measured" ? "measured" : "model"}</span>
      </span>
    ),
  },
  {
    key: "candidates",
    title: "Candidates",
    number: true,
    cell: (row) => fixed(row.candidates_count),
  },
  { key: "objective", title: "Few", cell: (row) => row.objective },
  { key: "horizon", title: "Savings count for", number: true, cell: (row) => horizonText(row) },
  {
    key: "why",
    title: "Recommended",
    cell: (row) => (
      <div className="clip" title={row.why[0]}>
        {row.why[0] ?? UNKNOWN}
      </div>
    ),
  },
  { key: "author", title: "By", cell: (row) => row.author ?? "Weir" },
  createdColumn("Asked"),
];

export default function EvaluationsPage() {
  const { systemId = "" } = useParams();
  const system = useSystem(systemId).data;
  return (
    <ListPage
      title="Evaluations"
      about="Candidates for a better overlay, each with the way to it and what it is worth."
      system={systemId}
      crumbs={[
        { label: system?.name ?? "System", to: to.system(systemId) },
        { label: "Topology", to: to.topology(systemId) },
      ]}
      tabs={sectionTabs(systemId, "topology")}
      query={evaluationsQuery}
      columns={columnsOf(systemId)}
      newestFirst
      empty="An evaluation compares other trees with the one in force by the traffic between the brokers. This system has none yet."
      command={
        <Link className="btn pri" to={evaluationsAt.ask(systemId)}>
          <Icon name="affiliate" small />
          Find a better overlay
        </Link>
      }
      needs="optimize"
      address={(row) => evaluationsAt.one(systemId, row.id)}
    />
  );
}
