/** The studies of one system, newest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";

import { studiesQuery, type Study } from "@/api/studies";
import { useSystem } from "@/api/systems";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { FilterSelect, pagerOf, SearchField, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const KINDS = { sweep: "Sweep", schedule: "Through the day" };

const COLUMNS: Column<Study>[] = [
  {
    key: "number",
    title: "Study",
    orderBy: "number",
    cell: (row) => (
      <Link className="ent" to={to.study(row.id)}>
        W-{row.number}
      </Link>
    ),
  },
  { key: "name", title: "Name", orderBy: "name", cell: (row) => <span className="clip">{row.name}</span> },
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
    cell: (row) => (
      <UnitNumber
        as="duration"
        value={
          row.started_at && row.finished_at
            ? (new Date(row.finished_at).getTime() - new Date(row.started_at).getTime()) / 1000
            : null
        }
      />
    ),
  },
  {
    key: "created",
    title: "Asked",
    unit: "UTC",
    number: true,
    orderBy: "created_at",
    cell: (row) => (
      <span className="faint" title={exactTime(row.created_at)}>
        {clockText(row.created_at)}
      </span>
    ),
  },
];

export default function StudiesPage() {
  const { systemId = "" } = useParams();
  useCurrentSystemIs(systemId);
  const navigate = useNavigate();
  const system = useSystem(systemId);
  const address = useListAddress(["state", "kind"]);
  const query = {
    system: systemId,
    search: address.search || undefined,
    state: address.filters.state || undefined,
    kind: address.filters.kind || undefined,
    ordering: address.ordering || undefined,
    cursor: address.cursor || undefined,
    page_size: 50,
  };
  const list = useQuery({ ...studiesQuery(query), placeholderData: keepPreviousData });
  const mayStart = system.data?.allowed_commands.includes("optimize") ?? false;
  const button = mayStart ? (
    <Link className="btn pri" to={to.newStudy(systemId)}>
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
        <Panel
          title="Studies"
          sub={list.data ? `${fixed(list.data.count)}, newest first` : undefined}
          flush
          footer={pagerOf(list.data, "studies", address)}
        >
          {list.data?.count === 0 && !address.isNarrowed ? null : (
            <div className="tools">
              <SearchField
                label="Search studies"
                value={address.search}
                onSearch={(search) => address.set({ search })}
              />
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
            </div>
          )}
          <QueryBody query={list} what="Studies">
            {(page) =>
              page.results.length === 0 ? (
                <Empty command={address.isNarrowed ? undefined : (button ?? undefined)}>
                  {address.isNarrowed
                    ? "No study of this system fits the search."
                    : "A study solves many variants of this system side by side: what more CPU is worth, what a lost broker costs, how a day goes. There is none yet."}
                </Empty>
              ) : (
                <DataTable
                  label="Studies"
                  columns={COLUMNS}
                  rows={page.results}
                  rowKey={(row) => row.id}
                  ordering={address.ordering}
                  onOrder={(ordering) => address.set({ ordering })}
                  onOpen={(row) => void navigate(to.study(row.id))}
                  keys
                />
              )
            }
          </QueryBody>
        </Panel>
      </div>
    </>
  );
}
