/** When the members of a suggestion sent: a row each, a tick a moment, tall where it is part of a burst. */
import { useState } from "react";

import { rasterOf, type RasterRow } from "./raster-rows";
import { lengthText, windowText } from "./words";

import type { Suggestion } from "@/api/correlation";
import { DataTable, type Column } from "@/components/ui/data-table";
import { Icon } from "@/components/ui/icons";
import { download, toCsv } from "@/lib/csv";
import { axisText, axisTicks, countText, fixed } from "@/lib/numbers";
import { exactTime } from "@/lib/time";
import { useWidth } from "@/lib/width";

const ROW = 18;
const TALL = 12;
const SHORT = 6;
const LEFT = 134;
const RIGHT = 44;
const FOOT = 22;
/** Letters that fit beside the ticks. */
const NAME = 17;

/** Names of a group begin alike: both ends are kept. */
const shortened = (name: string) =>
  name.length > NAME ? `${name.slice(0, NAME - 9)}\u2026${name.slice(-8)}` : name;

const COLUMNS: Column<RasterRow>[] = [
  {
    key: "publisher",
    title: "Publisher",
    cell: (row) => <span className="ent">{row.publisher}</span>,
  },
  {
    key: "moments",
    title: "Moments",
    number: true,
    cell: (row) => fixed(row.together.length + row.apart.length),
  },
  {
    key: "together",
    title: "Part of a burst",
    number: true,
    cell: (row) => fixed(row.together.length),
  },
];

/** One unit for the axis. */
const axisUnit = (span: number) => (span < 2 ? ([1e3, "ms"] as const) : ([1, "s"] as const));

export function Raster({ suggestion, within_s }: { suggestion: Suggestion; within_s: number }) {
  const [box, width] = useWidth<HTMLDivElement>(640);
  const [asTable, setAsTable] = useState(false);
  const { example, size, number } = suggestion;
  const { rows, bursts } = rasterOf(example, within_s);
  if (rows.length === 0) return <p className="lead">No example is kept of it.</p>;
  const span = Math.max(example.until_s - example.since_s, 1e-3);
  const start = exactTime(new Date(example.since_s * 1e3));
  const words = `Moments of ${countText(rows.length, "publisher")} over ${windowText(span)} from ${start} on; ${countText(bursts.length, "burst")} had at least half of them.`;
  const save = () =>
    download(
      `suggestion-${number}.csv`,
      toCsv(
        ["publisher", "at_s"],
        example.rows.flatMap(({ publisher, at_s: times }) => times.map((at) => [publisher, at])),
      ),
    );
  return (
    <div className="raster" ref={box}>
      {asTable ? (
        <DataTable
          label={`Moments of suggestion ${number}`}
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => row.publisher}
        />
      ) : (
        <Ticks rows={rows} bursts={bursts} span={span} width={width} words={words} />
      )}
      <p className="lead">
        {rows.length < size ? `${fixed(rows.length)} of the ${fixed(size)}. ` : ""}
        From {start} on. Tall ticks: within {lengthText(within_s)} of one of{" "}
        {countText(bursts.length, "burst")}.{" "}
        <button type="button" className="link" onClick={() => setAsTable((on) => !on)}>
          {asTable ? "Show as chart" : "Show as table"}
        </button>{" "}
        <button type="button" className="link" onClick={save}>
          <Icon name="download" small />
          CSV
        </button>
      </p>
    </div>
  );
}

function Ticks({
  rows,
  bursts,
  span,
  width,
  words,
}: {
  rows: readonly RasterRow[];
  bursts: readonly number[];
  span: number;
  width: number;
  words: string;
}) {
  const [scale, unit] = axisUnit(span);
  const ticks = axisTicks(0, span * scale, 5);
  const step = (ticks[1] ?? span * scale) - (ticks[0] ?? 0);
  const base = rows.length * ROW;
  // Who is a little earlier than the leader may lie before the stretch.
  const x = (at: number) => {
    const part = Math.min(1, Math.max(0, at / span));
    return Number((LEFT + part * Math.max(1, width - LEFT - RIGHT)).toFixed(1));
  };
  const marks = (times: readonly number[], middle: number, height: number) =>
    times.map((at) => `M${x(at)} ${middle - height / 2}v${height}`).join("");
  return (
    <svg className="chart" viewBox={`0 0 ${width} ${base + FOOT}`} role="img" aria-label={words}>
      <path className="burst" d={bursts.map((at) => `M${x(at)} 0V${base}`).join("")} />
      {rows.map(({ publisher, together, apart }, at) => {
        const middle = at * ROW + ROW / 2;
        return (
          <g key={publisher}>
            <path className="gridl" d={`M${LEFT} ${middle}H${width - RIGHT}`} />
            <text x={LEFT - 8} y={middle + 4} textAnchor="end">
              {shortened(publisher)}
              <title>{publisher}</title>
            </text>
            <path className="apart" d={marks(apart, middle, SHORT)} />
            <path className="together" d={marks(together, middle, TALL)} />
          </g>
        );
      })}
      <path className="axis" d={`M${LEFT} ${base}H${width - RIGHT}`} />
      {ticks.map((tick) => (
        <text key={tick} className="tf" x={x(tick / scale)} y={base + 15} textAnchor="middle">
          {axisText(tick, step)}
        </text>
      ))}
      <text className="tf" x={width - RIGHT + 24} y={base + 15}>
        {unit}
      </text>
    </svg>
  );
}
