/** How complete what was measured is: brokers that were silent, rows that came late or do not fit. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { qualityQuery, RANGES, type Quality, type Range } from "./sums";

import { DataTable, type Column } from "@/components/ui/data-table";
import { Empty, Panel, QueryBody } from "@/components/ui/panel";
import { to } from "@/lib/kinds";
import { countText, durationText, fixed, percentText, UNKNOWN } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

type BrokerQuality = Quality["brokers"][number];
type Problem = Quality["set_aside"][number];

const MINUTE_S = 60;
/** Of the reasons why rows were set aside. */
const MOST_SHOWN = 5;

const minutesText = (minutes: number) => {
  const { text, unit } = durationText(minutes * MINUTE_S);
  return `${text} ${unit}`;
};

/** Never all or nothing but where it is. */
export function completenessText({ minutes, measured_minutes: measured }: BrokerQuality): string {
  if (minutes === 0) return UNKNOWN;
  const share = measured / minutes;
  if (share === 0 || share === 1) return percentText(share);
  return percentText(Math.min(0.999, Math.max(0.001, share)), 1);
}

const columnsOf = (system: string): Column<BrokerQuality>[] => [
  {
    key: "broker",
    title: "Broker",
    cell: (row) => (
      <Link to={to.overTime(system, "brokers", row.broker)}>
        <b className="clip" title={row.broker_name}>
          {row.broker_name}
        </b>
      </Link>
    ),
  },
  {
    key: "complete",
    title: "Complete",
    number: true,
    strong: true,
    cell: (row) => (
      <span title={`${fixed(row.measured_minutes)} of ${countText(row.minutes, "minute")}`}>
        {completenessText(row)}
      </span>
    ),
  },
  { key: "gaps", title: "Gaps", number: true, cell: (row) => fixed(row.gaps) },
  {
    key: "longest",
    title: "Longest gap",
    number: true,
    cell: (row) =>
      row.longest_gap_at === null ? (
        <span className="faint">none</span>
      ) : (
        <>
          {minutesText(row.longest_gap_minutes)}{" "}
          <span className="faint" title={exactTime(row.longest_gap_at)}>
            from {clockText(row.longest_gap_at)} UTC
          </span>
        </>
      ),
  },
  {
    key: "suspect",
    title: "Contradict the broker",
    number: true,
    cell: (row) => (
      <span title="Samples that contradict their broker's own totals are left out.">
        {row.suspect_ratio === null ? UNKNOWN : percentText(row.suspect_ratio, 1)}
      </span>
    ),
  },
];

const PROBLEMS: Column<Problem>[] = [
  {
    key: "problem",
    title: "Set aside because",
    cell: (row) => (
      <span className="clip" title={row.problem}>
        {row.problem}
      </span>
    ),
  },
  { key: "rows", title: "Rows", number: true, strong: true, cell: (row) => fixed(row.rows) },
  { key: "waiting", title: "Wait", number: true, cell: (row) => fixed(row.waiting) },
];

const arrivedText = ({ rows, late, set_aside, repeats }: Quality): string => {
  if (rows === 0) return "no rows arrived in this time";
  const aside = set_aside.reduce((sum, row) => sum + row.rows, 0);
  const parts = [
    `${countText(rows, "row")} arrived in this time`,
    `${fixed(aside)} set aside`,
    `${fixed(late)} of them late`,
    ...(repeats > 0 ? [`${countText(repeats, "batch", "batches")} sent again`] : []),
  ];
  return parts.join(", ");
};

export function QualityPanel({
  system,
  range,
  broker,
}: {
  system: string;
  range: Range;
  /** Of this one alone, by its id; what arrived is not of one broker. */
  broker?: string;
}) {
  const quality = useQuery(qualityQuery(system, range));
  return (
    <Panel
      title="Data quality"
      sub={
        quality.data && broker === undefined
          ? arrivedText(quality.data)
          : `last ${RANGES[range].words}`
      }
      right={
        <Link className="btn sm" to={`/systems/${system}/records`}>
          Records
        </Link>
      }
      flush
      stale={quality.isPlaceholderData}
      footer={
        quality.data && quality.data.brokers_left_out > 0 && broker === undefined
          ? `${countText(quality.data.brokers_left_out, "further broker")} not shown`
          : undefined
      }
    >
      <QueryBody query={quality} what="The data quality" rows={3}>
        {({ brokers, set_aside: problems }) => {
          const rows = brokers.filter((row) => broker === undefined || row.broker === broker);
          return (
            <>
              {rows.length === 0 ? (
                <Empty>No broker of it is known here, so nobody measures.</Empty>
              ) : (
                <DataTable
                  label="Completeness"
                  columns={columnsOf(system)}
                  rows={rows}
                  rowKey={(row) => row.broker}
                />
              )}
              {broker === undefined && problems.length > 0 ? (
                <DataTable
                  label="Set aside"
                  columns={PROBLEMS}
                  rows={problems.slice(0, MOST_SHOWN)}
                  rowKey={(row) => `${row.table} ${row.problem}`}
                />
              ) : null}
            </>
          );
        }}
      </QueryBody>
    </Panel>
  );
}
