/** What one round measured at each broker: delays beside what was predicted, and the speeds that they show. */
import { Interval, meanColumns } from "./round-means";
import { delay } from "./sentences";
import { adviceOn, causeText, intervalText, longText, VerdictBadge } from "./verdicts";

import type { MeasuredBroker, Round } from "@/api/placements";
import { DataTable, type Column } from "@/components/ui/data-table";
import { delayScale, fixed, rateText, UNKNOWN, type Maybe } from "@/lib/numbers";

type Scale = ReturnType<typeof delayScale>;

const unknown = <span className="faint">{UNKNOWN}</span>;

/** From nothing to what is longest of it all, but to little more than the objective needs. */
export function bandEnd(brokers: readonly MeasuredBroker[], slo: number | null): number {
  const longest = Math.max(0, ...brokers.flatMap(({ p99_s, high_s }) => [p99_s, high_s ?? p99_s]));
  return slo === null ? longest * 1.1 : Math.max(1.4 * slo, Math.min(longest * 1.1, 3 * slo));
}

/** The interval of a percentile as a band against the objective; what is above it is spill. */
export function Band({
  row: { p99_s: p99, low_s: low, high_s: high },
  slo,
  end,
  width = 90,
}: {
  row: MeasuredBroker;
  slo: number | null;
  end: number;
  width?: number;
}) {
  const at = (seconds: number) => (end > 0 ? Math.min(1, seconds / end) * width : 0);
  const crest = slo === null ? width : at(slo);
  const [from, to] = [at(low), at(high ?? p99)];
  const above = Math.max(from, crest);
  const label = `${delay(p99)}, ${intervalText(low, high)}`;
  return (
    <svg
      className="bar band"
      width={width}
      height="14"
      viewBox={`0 -2 ${width} 14`}
      role="img"
      aria-label={slo === null ? label : `${label}, SLO ${delay(slo)}`}
    >
      <rect className="trk" width={width} height="10" rx="2" />
      {high === null ? <rect x={to} width={width - to} height="10" fill="url(#ghosth)" /> : null}
      <rect x={from} width={Math.max(0, Math.min(to, crest) - from)} height="10" />
      <rect x={above} width={Math.max(0, to - above)} height="10" fill="url(#spill)" />
      {slo === null ? null : <path className="crs" d={`M${crest} -2V12`} />}
      <rect className="value" x={at(p99) - 2} y="-1" width="4" height="12" rx="1.5" />
    </svg>
  );
}

function Speed({ row }: { row: MeasuredBroker }) {
  const { speed_before_per_s: before, speed_per_s: speed, fitted } = row;
  if (before === null || speed === null) return unknown;
  if (!fitted)
    return (
      <span title="Too little was measured, or the wait for tokens alone explains the delay.">
        {rateText(speed)} <span className="faint">stays</span>
      </span>
    );
  return (
    <>
      <span className="faint">
        {rateText(before)} {"\u2192"}
      </span>{" "}
      <b>{rateText(speed)}</b>
    </>
  );
}

const bounded = (scale: Scale, value: Maybe) => (value === null ? "no bound" : scale.text(value));

function Processing({ row, scale }: { row: MeasuredBroker; scale: Scale }) {
  const { processing_p99_s: p99, processing_low_s: low, processing_high_s: high } = row;
  return <span title={`95 % interval: ${intervalText(low, high)}`}>{scale.text(p99)}</span>;
}

function columnsOf(round: Round, rows: readonly MeasuredBroker[]): Column<MeasuredBroker>[] {
  const { slo_p99_s: slo } = round;
  const scale = delayScale(
    rows.flatMap((row) => [row.predicted_p99_s, row.p99_s, row.low_s, row.processing_p99_s]),
  );
  const { unit } = scale;
  const end = bandEnd(rows, slo);
  const isPlaced = rows.some(({ speed_per_s: speed }) => speed !== null);
  return [
    { key: "broker", title: "Broker", cell: (row) => <span className="ent">{row.broker}</span> },
    {
      key: "publishers",
      title: "Publishers",
      number: true,
      cell: (row) => fixed(row.publishers),
    },
    {
      key: "rate",
      title: "Rate",
      unit: "msg/s",
      number: true,
      cell: (row) => rateText(row.rate_per_s),
    },
    {
      key: "messages",
      title: "Messages",
      number: true,
      cell: (row) => (
        <>
          {fixed(row.messages)} <span className="faint">in {longText(row.seconds)}</span>
        </>
      ),
    },
    {
      key: "predicted",
      title: "p99 predicted",
      unit,
      number: true,
      cell: (row) => bounded(scale, row.predicted_p99_s),
    },
    {
      key: "p99",
      title: "measured",
      unit,
      number: true,
      strong: true,
      cell: (row) => scale.text(row.p99_s),
    },
    {
      key: "interval",
      title: "95 % interval",
      unit,
      number: true,
      cell: (row) => <Interval low={row.low_s} high={row.high_s} scale={scale} />,
    },
    {
      key: "band",
      title: "Against the SLO",
      silent: true,
      cell: (row) => <Band row={row} slo={slo} end={end} />,
    },
    {
      key: "processing",
      title: "processing",
      unit,
      number: true,
      cell: (row) => <Processing row={row} scale={scale} />,
    },
    ...meanColumns([round], rows, (row) => row),
    {
      key: "verdict",
      title: "Verdict",
      cell: (row) => <VerdictBadge verdict={row.verdict} title={causeText(row) ?? undefined} />,
    },
    ...(isPlaced
      ? [
          {
            key: "speed",
            title: "Processes",
            unit: "msg/s",
            number: true,
            cell: (row: MeasuredBroker) => <Speed row={row} />,
          },
        ]
      : []),
  ];
}

export function RoundBrokers({ round }: { round: Round }) {
  const { name, measured } = round;
  if (measured === null) return null;
  const advice = adviceOn(measured);
  return (
    <div className="roundbrokers">
      <DataTable
        label={`Brokers under ${name}`}
        columns={columnsOf(round, measured.brokers)}
        rows={measured.brokers}
        rowKey={(row) => row.broker}
      />
      {advice.length > 0 ? <p>{advice.join(" ")}</p> : null}
    </div>
  );
}
