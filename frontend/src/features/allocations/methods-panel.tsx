/** Every method on the same frozen model, side by side; one command starts those that are missing. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";

import { allocationsAt } from "./addresses";
import { secondsOf } from "./figures";

import { methodsQuery, useCompare, type Allocation, type Standing } from "@/api/allocations";
import { ENDED } from "@/api/runs";
import { Command } from "@/components/ui/command";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { tell, tellFailure } from "@/components/ui/toast";
import { UnitNumber } from "@/components/ui/unit-number";
import { to } from "@/lib/kinds";
import { fixed, gapText, UNKNOWN } from "@/lib/numbers";

/** News arrive by themselves; this only covers a stream that is away. */
const ASK_EVERY_MS = 5000;

const isActive = (row: Standing) => row.run !== null && !ENDED.includes(row.run.state);

/** A number of the allocation; a dash where the method has none. */
const ofAllocation =
  (show: (allocation: Allocation) => React.ReactNode) =>
  ({ allocation }: Standing) =>
    allocation ? show(allocation) : <span className="faint">{UNKNOWN}</span>;

function columnsOf(best: number | null, bound: number | null): Column<Standing>[] {
  return [
    { key: "method", title: "Method", cell: (row) => <span className="ent">{row.title}</span> },
    { key: "found", title: "Allocation", cell: (row) => <Found row={row} /> },
    {
      key: "utility",
      title: "Utility",
      number: true,
      strong: true,
      cell: ofAllocation((row) => fixed(row.utility, 1)),
    },
    {
      key: "behind",
      title: bound === null ? "Behind the best" : "Below the bound",
      unit: "%",
      number: true,
      cell: ofAllocation((row) => gapText(row.utility, bound ?? best)),
    },
    {
      key: "admitted",
      title: "Admitted",
      number: true,
      cell: ofAllocation((row) => fixed(row.admitted)),
    },
    {
      key: "iterations",
      title: "Iterations",
      number: true,
      cell: ofAllocation((row) => (
        <span title={row.started_from ? `begun at the prices of ${row.started_from}` : "from cold"}>
          {fixed(row.iterations)}
        </span>
      )),
    },
    {
      key: "time",
      title: "Run time",
      number: true,
      cell: ofAllocation((row) => <UnitNumber value={secondsOf(row)} as="duration" />),
    },
  ];
}

/** The allocation, and beside it a newer run that has found nothing yet. */
function Found({ row }: { row: Standing }) {
  const { allocation, run } = row;
  if (allocation === null && run === null) return <span className="faint">not computed</span>;
  return (
    <>
      {allocation ? <Link to={allocationsAt.one(allocation.id)}>A-{allocation.number}</Link> : null}
      {allocation && run ? " " : null}
      {run ? (
        <Link to={to.run(run.id)} title={run.failure || `run R-${run.number}`}>
          <StateBadge state={run.state} />
        </Link>
      ) : null}
    </>
  );
}

export function MethodsPanel({ allocation }: { allocation: Allocation }) {
  const { id } = allocation;
  const methods = useQuery({
    ...methodsQuery(id),
    refetchInterval: (query) => (query.state.data?.standings.some(isActive) ? ASK_EVERY_MS : false),
  });
  const rows = methods.data?.standings ?? [];
  return (
    <Panel
      title="Methods on this snapshot"
      sub="the latest of each, best first"
      right={
        allocation.allowed_commands.includes("compare") && methods.data ? (
          <CompareCommand id={id} rows={rows} />
        ) : null
      }
      flush
      footer={methods.data ? footerOf(rows, methods.data.upper_bound) : null}
    >
      <QueryBody query={methods} what="Methods" rows={4}>
        {(data) => (
          <DataTable
            label="Methods on this snapshot"
            columns={columnsOf(data.standings[0]?.allocation?.utility ?? null, data.upper_bound)}
            rows={data.standings}
            rowKey={(row) => row.method}
            selected={allocation.method}
          />
        )}
      </QueryBody>
    </Panel>
  );
}

/** Starts every method that has nothing to show; the rows say which ones. */
function CompareCommand({ id, rows }: { id: string; rows: readonly Standing[] }) {
  const compare = useCompare(id);
  // One key per intention: a second press while the first is on its way starts nothing more.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const missing = rows.filter((row) => row.allocation === null && !isActive(row));
  if (missing.length === 0) return null;
  const start = () =>
    compare.mutate(
      { methods: missing.map((row) => row.method), key },
      {
        onSuccess: ({ results }) =>
          tell(
            `Started ${results.map((run) => `R-${run.number}`).join(", ")}`,
            "Same snapshot and seed, default parameters, from cold.",
          ),
        onError: (error) => tellFailure("Not started", error),
        onSettled: () => setKey(crypto.randomUUID()),
      },
    );
  return (
    <Command icon="play" small onClick={start} disabled={compare.isPending}>
      Compare methods
    </Command>
  );
}

function footerOf(rows: readonly Standing[], bound: number | null): string {
  const found = rows.filter((row) => row.allocation !== null).length;
  if (bound !== null) {
    return `No allocation of this snapshot can exceed ${fixed(bound, 1)}. Run time includes the wait for the worker.`;
  }
  return found === 1
    ? "This method proves no bound, and nothing else was computed of this snapshot."
    : "None of these methods proves a bound, so only the best of them is known.";
}
