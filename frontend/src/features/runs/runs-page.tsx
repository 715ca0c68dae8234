/** Every run, newest first, with its progress while it goes. */
import { Link } from "react-router";

import { useLive, type RunNews } from "@/api/live";
import { runsQuery, type Run } from "@/api/runs";
import type { Column } from "@/components/ui/data-table";
import { ListPage } from "@/components/ui/list-page";
import { createdColumn, tookSeconds } from "@/components/ui/list-panel";
import { StateBadge } from "@/components/ui/state-badge";
import { UnitNumber } from "@/components/ui/unit-number";
import { computations, computationTitle } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { fixed, UNKNOWN } from "@/lib/numbers";
import { methodsText, methodWords } from "@/lib/words";

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
  {
    key: "method",
    title: "Method",
    orderBy: "method",
    cell: (run) => (
      <span title={methodWords(run.method).join(", ")}>{methodsText(run.method)}</span>
    ),
  },
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

/** A run with the progress that was heard since the list was read. */
function withNews(run: Run, news: RunNews | undefined): Run {
  const newer = (news?.progress.iteration ?? -1) > (run.progress.iteration ?? -1);
  return news && newer ? { ...run, progress: news.progress } : run;
}

export default function RunsPage() {
  const heard = useLive((all) => all.runs);
  return (
    <ListPage
      title="Runs"
      about="A run computes one answer from a frozen snapshot. Run again, it gives the same answer to the last bit."
      query={runsQuery}
      shown={(run) => withNews(run, heard[run.id])}
      search="Find runs"
      filters={[
        {
          name: "kind",
          label: "Kind",
          options: computations().map(({ kind, title }) => ({ value: kind, label: title })),
        },
        {
          name: "state",
          label: "State",
          options: STATES.map((state) => ({ value: state, label: state })),
        },
        "system",
      ]}
      who="Asked by"
      columns={COLUMNS}
      empty="Runs appear here once something of a system is computed: open its Allocation page and press Optimize."
      address={(run) => to.run(run.id)}
    />
  );
}
