/** The studies of one system, newest first. */
import { Link, useParams } from "react-router";

import { studiesAt } from "./addresses";

import { studiesQuery, type Study } from "@/api/studies";
import type { Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn, tookSeconds } from "@/components/ui/list-panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { capital } from "@/lib/words";

const KINDS = { sweep: "Sweep", schedule: "Through the day" };

const STATES = ["queued", "running", "succeeded", "failed", "cancelled"];

const COLUMNS: Column<Study>[] = [
  {
    key: "number",
    title: "Study",
    orderBy: "number",
    cell: (row) => (
      <Link className="ent" to={studiesAt.one(row.id)}>
        W-{row.number}
      </Link>
    ),
  },
  {
    key: "name",
    title: "Name",
    orderBy: "name",
    cell: (row) => <span className="clip">{row.name}</span>,
  },
  { key: "kind", title: "Kind", cell: (row) => KINDS[row.kind] },
  { key: "state", title: "State", cell: (row) => <StateBadge state={row.state} /> },
  {
    key: "points",
    title: "Answers",
    number: true,
    orderBy: "points_total",
    cell: (row) =>
      row.points_done === row.points_total
        ? fixed(row.points_total)
        : `${fixed(row.points_done)} of ${fixed(row.points_total)}`,
  },
  {
    key: "model",
    title: "Model",
    cell: (row) =>
      row.allocation_number === null
        ? row.model_version === null
          ? UNKNOWN
          : `v${row.model_version}`
        : `A-${row.allocation_number}, v${row.model_version ?? UNKNOWN}`,
  },
  { key: "author", title: "Author", cell: (row) => row.author ?? "Weir" },
  {
    key: "took",
    title: "Took",
    number: true,
    cell: (row) => <UnitNumber as="duration" value={tookSeconds(row)} />,
  },
  createdColumn("Asked"),
];

export default function StudiesPage() {
  const { systemId = "" } = useParams();
  return (
    <ListPage
      title="What-if"
      list="Studies"
      about="Sweeps over capacities, class sizes, weights and removals, and days of changing populations. A study never changes the system."
      system={systemId}
      query={studiesQuery}
      search="Search studies"
      filters={[
        {
          name: "kind",
          label: "Kind",
          options: Object.entries(KINDS).map(([value, label]) => ({ value, label })),
        },
        {
          name: "state",
          label: "State",
          options: STATES.map((state) => ({ value: state, label: capital(state) })),
        },
      ]}
      columns={COLUMNS}
      newestFirst
      empty="A study solves many variants of this system side by side: what more CPU is worth, what a lost broker costs, how a day goes. There is none yet."
      command={
        <Link className="btn pri" to={studiesAt.ask(systemId)}>
          <Icon name="plus" small />
          New study
        </Link>
      }
      needs="optimize"
      address={(row) => studiesAt.one(row.id)}
    />
  );
}
