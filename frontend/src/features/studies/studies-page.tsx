/** The studies of one system, newest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";

import { studiesAt } from "./addresses";

import { studiesQuery, type Study } from "@/api/studies";
import { useSystem } from "@/api/systems";
import type { Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { createdColumn, ListPanel, tookSeconds } from "@/components/ui/list-panel";
import { FilterSelect, pageAsked, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";

const KINDS = { sweep: "Sweep", schedule: "Through the day" };

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
  useCurrentSystemIs(systemId);
  const navigate = useNavigate();
  const system = useSystem(systemId);
  const address = useListAddress(["state", "kind"]);
  const query = {
    system: systemId,
    state: address.filters.state || undefined,
    kind: address.filters.kind || undefined,
    ...pageAsked(address),
  };
  const list = useQuery({ ...studiesQuery(query), placeholderData: keepPreviousData });
  const mayStart = system.data?.allowed_commands.includes("optimize") ?? false;
  const button = mayStart ? (
    <Link className="btn pri" to={studiesAt.ask(systemId)}>
      <Icon name="plus" small />
      New study
    </Link>
  ) : null;
  return (
    <>
      <PageHead
        title="What-if"
        crumbs={[{ label: system.data?.name ?? "System", to: to.topology(systemId) }]}
        commands={button}
        plainFacts={
          <span>
            Sweeps over capacities, class sizes, weights and removals, and days of changing
            populations. A study never changes the system.
          </span>
        }
      />
      <div className="main">
        <ListPanel
          title="Studies"
          query={list}
          address={address}
          search="Search studies"
          tools={
            <>
              <FilterSelect
                label="Kind"
                value={address.filters.kind ?? ""}
                options={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
                onChange={(kind) => address.setFilter("kind", kind)}
              />
              <FilterSelect
                label="State"
                value={address.filters.state ?? ""}
                options={["queued", "running", "succeeded", "failed", "cancelled"].map((state) => ({
                  value: state,
                  label: state.charAt(0).toUpperCase() + state.slice(1),
                }))}
                onChange={(state) => address.setFilter("state", state)}
              />
            </>
          }
          columns={COLUMNS}
          newestFirst
          empty="A study solves many variants of this system side by side: what more CPU is worth, what a lost broker costs, how a day goes. There is none yet."
          command={button}
          onOpen={(row) => void navigate(studiesAt.one(row.id))}
        />
      </div>
    </>
  );
}
