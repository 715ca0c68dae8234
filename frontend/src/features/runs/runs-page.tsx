/** Every run, newest first, with its progress while it goes. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { useLive } from "@/api/live";
import { runsQuery, type Run } from "@/api/runs";
import { useSystems } from "@/api/systems";
import { DataTable, type Column } from "@/components/ui/data-table";
import { FilterSelect, pagerOf, SearchField, useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

export const STATES = ["queued", "running", "succeeded", "infeasible", "failed", "cancelled"];

const seconds = (run: Run): number | null =>
  run.started_at && run.finished_at
    ? (new Date(run.finished_at).getTime() - new Date(run.started_at).getTime()) / 1000
    : null;

const COLUMNS: Column<Run>[] = [
  {
    key: "number",
    title: "Run",
    cell: (run) => (
      <Link className="ent" to={to.run(run.id)}>
        R-{run.number}
      </Link>
    ),
  },
  {
    key: "state",
    title: "State",
    orderBy: "state",
    cell: (run) => <StateBadge state={run.state} />,
  },
  {
    key: "system",
    title: "System",
    cell: (run) =>
      run.system ? (
        <Link to={to.topology(run.system)}>{run.system_name}</Link>
      ) : (
        <span className="faint">own problem</span>
      ),
  },
  { key: "method", title: "Method", orderBy: "method", cell: (run) => run.method },
  {
    key: "model",
    title: "Model",
    cell: (run) => (run.model_version === null ? UNKNOWN : `v${run.model_version}`),
  },
  {
    key: "iteration",
    title: "Iterations",
    number: true,
    cell: (run) => fixed(run.progress.iteration),
  },
  {
    key: "utility",
    title: "Utility",
    number: true,
    strong: true,
    cell: (run) => fixed(run.progress.best_utility),
  },
  {
    key: "duration",
    title: "Took",
    number: true,
    cell: (run) => <UnitNumber value={seconds(run)} as="duration" />,
  },
  { key: "asked", title: "Asked by", cell: (run) => run.asked_by ?? "Weir" },
  {
    key: "created",
    title: "Asked",
    unit: "UTC",
    number: true,
    orderBy: "created_at",
    cell: (run) => (
      <span className="faint" title={exactTime(run.created_at)}>
        {clockText(run.created_at)}
      </span>
    ),
  },
];

export default function RunsPage() {
  const navigate = useNavigate();
  const live = useLive();
  const systems = useSystems().data?.results ?? [];
  const address = useListAddress(["state", "system"], "");
  const query = {
    search: address.search || undefined,
    ordering: address.ordering || undefined,
    cursor: address.cursor || undefined,
    state: address.filters.state ? [address.filters.state] : undefined,
    system: address.filters.system || undefined,
    page_size: 50,
  };
  const runs = useQuery({
    ...runsQuery(query as Parameters<typeof runsQuery>[0]),
    placeholderData: keepPreviousData,
  });
  const rows = (runs.data?.results ?? []).map((run): Run => {
    const news = live.runs[run.id];
    const newer = (news?.progress.iteration ?? -1) > (run.progress.iteration ?? -1);
    return news && newer ? { ...run, progress: news.progress } : run;
  });
  return (
    <>
      <PageHead
        title="Runs"
        plainFacts={<span>A run turns a frozen snapshot of a model into an allocation.</span>}
      />
      <div className="main">
        <Panel
          title="Runs"
          sub={runs.data ? fixed(runs.data.count) : undefined}
          flush
          stale={runs.isPlaceholderData}
          footer={pagerOf(runs.data, "runs", address)}
        >
          <div className="tools">
            <SearchField
              label="Find runs"
              value={address.search}
              onSearch={(search) => address.set({ search })}
            />
            <FilterSelect
              label="State"
              value={address.filters.state ?? ""}
              options={STATES.map((state) => ({ value: state, label: state }))}
              onChange={(value) => address.setFilter("state", value)}
            />
            <FilterSelect
              label="System"
              value={address.filters.system ?? ""}
              options={systems.map((system) => ({ value: system.id, label: system.name }))}
              onChange={(value) => address.setFilter("system", value)}
            />
            {address.isNarrowed ? (
              <button type="button" className="btn sm ghost" onClick={address.clear}>
                Show all
              </button>
            ) : null}
          </div>
          <QueryBody query={runs} what="Runs" rows={8}>
            {() =>
              rows.length === 0 ? (
                <Empty>
                  {address.isNarrowed
                    ? "Nothing matches what is searched and filtered for."
                    : "Runs appear here once a system is optimized: open its Allocation page and press Optimize."}
                </Empty>
              ) : (
                <DataTable
                  label="Runs"
                  columns={COLUMNS}
                  rows={rows}
                  rowKey={(run) => run.id}
                  ordering={address.ordering}
                  onOrder={(ordering) => address.set({ ordering })}
                  onOpen={(run) => void navigate(to.run(run.id))}
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
