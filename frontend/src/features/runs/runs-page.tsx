/** Every run, newest first, with its progress while it goes. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { useLive } from "@/api/live";
import { runsQuery, type Run } from "@/api/runs";
import { useSystems } from "@/api/systems";
import type { Column } from "@/components/ui/data-table";
import { createdColumn, ListPanel, tookSeconds } from "@/components/ui/list-panel";
import {
  FilterSelect,
  pageAsked,
  useListAddress,
  WHO_AND_WHEN,
  WhoAndWhen,
  whoAndWhen,
} from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { computations, computationTitle } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";

export const STATES = ["queued", "running", "succeeded", "infeasible", "failed", "cancelled"];

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
  { key: "kind", title: "Kind", cell: (run) => computationTitle(run.kind) },
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
    cell: (run) => <UnitNumber value={tookSeconds(run)} as="duration" />,
  },
  { key: "asked", title: "Asked by", cell: (run) => run.asked_by ?? "Weir" },
  createdColumn("Asked"),
];

export default function RunsPage() {
  const navigate = useNavigate();
  const live = useLive();
  const systems = useSystems().data?.results ?? [];
  const address = useListAddress(["kind", "state", "system", ...WHO_AND_WHEN], "");
  const query = {
    kind: address.filters.kind || undefined,
    state: address.filters.state ? [address.filters.state] : undefined,
    system: address.filters.system || undefined,
    ...whoAndWhen(address.filters),
    ...pageAsked(address),
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
        plainFacts={
          <span>
            A run computes what its kind says from a frozen snapshot, so that it can be computed
            again to the last bit.
          </span>
        }
      />
      <div className="main">
        <ListPanel
          title="Runs"
          query={runs}
          rows={rows}
          address={address}
          search="Find runs"
          tools={
            <>
              <FilterSelect
                label="Kind"
                value={address.filters.kind ?? ""}
                options={computations().map(({ kind, title }) => ({ value: kind, label: title }))}
                onChange={(value) => address.setFilter("kind", value)}
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
              <WhoAndWhen address={address} who="Asked by" />
            </>
          }
          columns={COLUMNS}
          empty="Runs appear here once something of a system is computed: open its Allocation page and press Optimize."
          onOpen={(run) => void navigate(to.run(run.id))}
        />
      </div>
    </>
  );
}
