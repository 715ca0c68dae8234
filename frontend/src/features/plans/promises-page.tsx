/** What plans promised and what became of it: the record of Weir itself, and a row for each. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { outcomesQuery, type Outcome, type Outcomes } from "@/api/plans";
import { useSystems } from "@/api/systems";
import { DataTable, type Column } from "@/components/ui/data-table";
import { FigureStrip } from "@/components/ui/figure-strip";
import { useListAddress } from "@/components/ui/list-tools";
import { PageHead } from "@/components/ui/page";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { FilterSelect, Select } from "@/components/ui/select";
import { Badge } from "@/components/ui/state-badge";
import { aimOf, VERDICTS } from "@/components/ui/verdicts";
import { to } from "@/lib/kinds";
import { countText, fixed, percentText, relativeChange, UNKNOWN } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

const DAYS = ["7", "90", "366"];
const USUAL = "30";
const MOST = 50;

const COLUMNS: Column<Outcome>[] = [
  {
    key: "judged",
    title: "Verdict",
    cell: ({ judged }) => {
      const { word, tone, icon } = VERDICTS[judged];
      return (
        <Badge tone={tone} icon={icon}>
          {word}
        </Badge>
      );
    },
  },
  {
    key: "plan",
    title: "Plan",
    cell: (row) => (
      <div className="planname">
        <Link className="ent" to={to.plan(row.plan)}>
          {row.name}
        </Link>
        <span title={row.title}>{row.title}</span>
      </div>
    ),
  },
  {
    key: "system",
    title: "System",
    cell: (row) => (
      <Link className="clip" to={to.system(row.system)} title={row.system_name}>
        {row.system_name}
      </Link>
    ),
  },
  {
    key: "executed",
    title: "Executed",
    number: true,
    cell: (row) => <span title={exactTime(row.executed_at)}>{ageText(row.executed_at)} ago</span>,
  },
  {
    key: "promised",
    title: "Promised",
    number: true,
    cell: (row) => {
      const aim = aimOf(row);
      return aim ? (
        <span title={`Change of ${aim.name}`}>{relativeChange(aim.after, aim.before)}</span>
      ) : (
        UNKNOWN
      );
    },
  },
  {
    key: "measured",
    title: "Measured",
    number: true,
    strong: true,
    cell: (row) =>
      aimOf(row)?.name === "utility" && row.measured_after !== null ? (
        <span title="Change of the utility, at the weights the plan was made with">
          {relativeChange(row.measured_after, row.measured_before)}
        </span>
      ) : (
        UNKNOWN
      ),
  },
  {
    key: "parts",
    title: "Parts kept",
    number: true,
    cell: ({ parts_kept: kept, parts_missed: missed, parts_unknown: unknown }) => {
      const all = kept + missed + unknown;
      return all === 0 ? (
        UNKNOWN
      ) : (
        <span title={`${fixed(missed)} missed; of ${fixed(unknown)} nothing can be told`}>
          {fixed(kept)} of {fixed(all)}
        </span>
      );
    },
  },
  {
    key: "because",
    title: "Evidence",
    cell: (row) => <div className="said">{row.because}</div>,
  },
];

export default function PromisesPage() {
  const address = useListAddress(["system", "judged", "days"]);
  const { system = "", judged = "", days = "" } = address.filters;
  const systems = useSystems().data?.results ?? [];
  const page = useQuery({
    ...outcomesQuery({
      days: Number(DAYS.includes(days) ? days : USUAL),
      ...(system ? { system } : {}),
      ...(judged in VERDICTS ? { judged: [judged as Outcome["judged"]] } : {}),
    }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title="Promises"
        plainFacts={<span>what executed plans promised, and what was measured after them</span>}
        strip={page.data ? <RecordStrip record={page.data.record} /> : undefined}
      />
      <div className="main">
        <Panel
          title="Executed plans"
          sub={page.data ? shownText(page.data.results) : undefined}
          flush
          stale={page.isPlaceholderData}
          right={
            <>
              <FilterSelect
                label="System"
                value={system}
                options={systems.map(({ id, name }) => ({ value: id, label: name }))}
                onChange={(value) => address.setFilter("system", value)}
              />
              <FilterSelect
                label="Verdict"
                value={judged}
                options={Object.entries(VERDICTS).map(([value, { word }]) => ({
                  value,
                  label: word,
                }))}
                onChange={(value) => address.setFilter("judged", value)}
              />
              <Select
                label="Time"
                value={DAYS.includes(days) ? days : ""}
                options={[
                  { value: "", label: `${USUAL} days` },
                  ...DAYS.map((value) => ({ value, label: `${value} days` })),
                ]}
                onChange={(value) => address.setFilter("days", value)}
              />
            </>
          }
        >
          <QueryBody query={page} what="What became of plans" rows={6}>
            {({ results }) =>
              results.length === 0 ? (
                <Nothing narrowed={address.isNarrowedBy(["days"])} clear={address.clear} />
              ) : (
                <DataTable
                  label="Executed plans"
                  tall
                  columns={COLUMNS}
                  rows={results}
                  rowKey={(row) => row.plan}
                />
              )
            }
          </QueryBody>
        </Panel>
      </div>
    </>
  );
}

function Nothing({ narrowed, clear }: { narrowed: boolean; clear: () => void }) {
  return narrowed ? (
    <Empty
      command={
        <button type="button" className="btn sm" onClick={() => clear()}>
          Show all
        </button>
      }
    >
      No executed plan is of this system and verdict.
    </Empty>
  ) : (
    <Empty
      command={
        <Link className="btn primary sm" to={to.plans}>
          Plans
        </Link>
      }
    >
      No plan was executed in this time. Some minutes after one was, Weir compares what is measured
      with what it promised.
    </Empty>
  );
}

const shownText = (rows: readonly Outcome[]) =>
  rows.length === MOST ? `the newest ${fixed(MOST)}` : countText(rows.length, "plan");

function RecordStrip({ record }: { record: Outcomes["record"] }) {
  const { decided, executed, kept, objective, share, is_met: isMet } = record;
  const missed = decided - kept;
  return (
    <FigureStrip
      figures={[
        {
          label: "Promises kept, 30 days",
          value: percentText(share, 1),
          note:
            decided === 0
              ? "no plan has a verdict yet"
              : `${fixed(kept)} of ${countText(decided, "plan")}`,
        },
        {
          label: "Service level of Weir",
          value: percentText(objective),
          note:
            isMet === null ? (
              "not known yet"
            ) : isMet ? (
              <Badge tone="good" icon="check">
                Met
              </Badge>
            ) : (
              <Badge tone="warn" icon="alert">
                Not met
              </Badge>
            ),
        },
        {
          label: "Not kept whole",
          value: fixed(missed),
          unit: missed === 1 ? "plan" : "plans",
          note:
            decided === 0
              ? "of those with a verdict"
              : `of ${fixed(decided)}; ${fixed(Math.floor((1 - objective) * decided + 1e-9))} may be`,
        },
        {
          label: "Cannot be told",
          value: fixed(executed - decided),
          unit: executed - decided === 1 ? "plan" : "plans",
          note: `too early or not known, of ${fixed(executed)}`,
        },
      ]}
    />
  );
}
