/** What Weir carries out by itself: how far it may, what it did or would have done, plan by plan. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { decisionNews, decisionStanding, MODES } from "./words";

import {
  automationQuery,
  decisionsQuery,
  type AutomaticDecision,
  type Automation,
} from "@/api/automation";
import { DataTable, type Column } from "@/components/ui/data-table";
import { FigureStrip, type Figure } from "@/components/ui/figure-strip";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { Badge } from "@/components/ui/state-badge";
import { to } from "@/lib/kinds";
import { countText, durationText, fixed, percentText, UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

const gainText = (gain: number | null) =>
  gain === null ? UNKNOWN : `${gain > 0 ? "+" : ""}${percentText(gain, 1)}`;

function dryText({ would_gain: gain, would_last_s: seconds }: Automation): string {
  const { text, unit } = durationText(seconds);
  return gain === null
    ? "no gain of utility was promised"
    : `${gainText(gain)} utility promised over ${text} ${unit}`;
}

function figuresOf(row: Automation): Figure[] {
  const over = row.brought + row.taken_back + row.unknown;
  return [
    {
      label: "Plans without a person",
      value: row.stop === null ? MODES[row.auto_execute] : "Stopped",
      note:
        row.stop === null ? (
          <Link to="/settings/policies">the policy says how far</Link>
        ) : (
          row.stop_text
        ),
    },
    {
      label: "Went well before",
      value: `${fixed(row.went_well)} of ${fixed(row.needed)}`,
      note: "plans that people approved",
      title: row.trust_text,
    },
    {
      label: "Begun in 24 h",
      value: `${fixed(row.begun_lately)} of ${fixed(row.per_day)}`,
      note: "at most, by the policy",
    },
    {
      label: "Would have carried out",
      value: fixed(row.would_execute),
      note: row.would_execute === 0 ? "in dry runs of 30 d" : dryText(row),
    },
    {
      label: "Carried out",
      value: fixed(over + row.under_way),
      note: `${fixed(row.brought)} as promised, ${fixed(row.taken_back)} taken back`,
      title: `In 30 d. ${countText(row.left, "other")} left to people.`,
    },
  ];
}

const COLUMNS: Column<AutomaticDecision>[] = [
  {
    key: "at",
    title: "Decided",
    cell: (row) => <span title={exactTime(row.decided_at)}>{clockText(row.decided_at)} UTC</span>,
  },
  {
    key: "plan",
    title: "Plan",
    cell: (row) => (
      <>
        <Link to={to.plan(row.plan)}>{row.plan_name}</Link>
        <div className="two">
          <span className="clip" title={row.plan_title}>
            {row.plan_title}
          </span>
        </div>
      </>
    ),
  },
  {
    key: "standing",
    title: "Decision",
    cell: (row) => {
      const { tone, icon, word } = decisionStanding(row);
      return (
        <Badge tone={tone} icon={icon}>
          {word}
        </Badge>
      );
    },
  },
  {
    key: "gain",
    title: "Promised",
    number: true,
    cell: (row) => <span title="Gain of utility">{gainText(row.gain)}</span>,
  },
  { key: "why", title: "Why", cell: (row) => <div className="said">{row.because}</div> },
  {
    key: "news",
    title: "What became of it",
    cell: (row) => (
      <div className="said">
        {decisionNews(row) || UNKNOWN}
        {row.roll_back !== null ? (
          <>
            {" "}
            <Link to={to.plan(row.roll_back)}>{row.roll_back_name}</Link>
          </>
        ) : null}
      </div>
    ),
  },
];

export function AutomaticPanel({ system }: { system: string }) {
  const automation = useQuery(automationQuery(system));
  const decisions = useQuery(decisionsQuery(system));
  const shown = decisions.data?.results.length ?? 0;
  return (
    <Panel
      title="Carried out without a person"
      sub={shown > 0 ? `newest first, ${countText(shown, "decision")}` : undefined}
      flush
    >
      <QueryBody query={automation} what="How far Weir may act by itself" rows={2}>
        {(row) => <FigureStrip figures={figuresOf(row)} />}
      </QueryBody>
      <QueryBody query={decisions} what="The decisions" rows={3}>
        {({ results }) =>
          results.length === 0 ? (
            <Empty>
              Nothing was decided yet: it takes a schedule or trigger that carries plans out, and a
              policy whose plans without a person are on, or a dry run.
            </Empty>
          ) : (
            <DataTable
              label="Decisions"
              tall
              columns={COLUMNS}
              rows={results}
              rowKey={(row) => row.id}
            />
          )
        }
      </QueryBody>
    </Panel>
  );
}
