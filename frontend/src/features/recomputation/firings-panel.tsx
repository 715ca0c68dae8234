/** Every time that something fired: why, the run, the plan, what became of it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { outcomeWord, thenWord } from "./words";

import { firingsQuery, type Firing } from "@/api/recomputation";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const STATES: Record<Firing["state"], string> = {
  waiting: "queued",
  computing: "running",
  done: "succeeded",
  merged: "superseded",
  failed: "failed",
};

export function FiringState({ firing }: { firing: Firing }) {
  const word = outcomeWord(firing);
  return (
    <div title={firing.detail || undefined}>
      {firing.state === "merged" ? (
        <span className="faint">Joined another</span>
      ) : firing.state === "done" && firing.outcome === "stale" ? (
        <StateBadge state="stale" />
      ) : (
        <StateBadge state={STATES[firing.state]} />
      )}
      {word ? <div className="two">{word}</div> : null}
    </div>
  );
}

const COLUMNS: Column<Firing>[] = [
  {
    key: "at",
    title: "Fired",
    cell: (row) => <span title={exactTime(row.fired_at)}>{clockText(row.fired_at)} UTC</span>,
  },
  { key: "cause", title: "Cause", cell: (row) => <b>{row.cause}</b> },
  { key: "why", title: "Why", cell: (row) => <div className="said">{row.why}</div> },
  { key: "then", title: "Then", cell: (row) => thenWord(row.then) },
  {
    key: "run",
    title: "Run",
    cell: (row) => (row.run ? <Link to={to.run(row.run)}>{row.run_name}</Link> : UNKNOWN),
  },
  {
    key: "plan",
    title: "Plan",
    cell: (row) => (row.plan ? <Link to={to.plan(row.plan)}>{row.plan_name}</Link> : UNKNOWN),
  },
  { key: "state", title: "Outcome", cell: (row) => <FiringState firing={row} /> },
  {
    key: "detail",
    title: "In words",
    cell: (row) => <div className="said">{row.detail}</div>,
  },
];

export function FiringsPanel({ system }: { system: string }) {
  const firings = useQuery(firingsQuery(system));
  return (
    <Panel title="Firings" sub="newest first, at most 30" flush>
      <QueryBody query={firings} what="The firings" rows={4}>
        {(page) =>
          page.results.length === 0 ? (
            <Empty>Nothing has fired yet.</Empty>
          ) : (
            <DataTable
              label="Firings"
              tall
              columns={COLUMNS}
              rows={page.results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
