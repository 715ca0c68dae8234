/** The 99th percentile against the number of brokers: processing falls, the penalty of the split rises. */
import { useRef } from "react";

import { chartOf, type Bar } from "./penalty";
import { Why } from "./sentences";

import type { Outcome, SplitOption } from "@/api/placements";
import { ChartPanel, svgText } from "@/components/ui/chart-frame";
import { axisText, decimalsFor, fixed, UNKNOWN } from "@/lib/numbers";
import { useWidth } from "@/lib/width";

const HEIGHT = 316;
/** Beside the sliders there is less width, and more height. */
const NARROW = 720;
const TALL = 420;
const LEFT = 44;
const RIGHT = 84;
const TOP = 22;
const BOTTOM = 52;
/** Where a bar has less room than this, its words are in its tooltip and in the table alone. */
const ROOM_FOR = { value: 30, verdict: 42, sentence: 64, upright: 22 };
const NAMES_SHOWN = 8;

const names = ({ names: all }: SplitOption) =>
  all.slice(0, NAMES_SHOWN).join(", ") + (all.length > NAMES_SHOWN ? ", \u2026" : "");

/** All else is labelled where it stands. */
function Legend() {
  return (
    <span className="legend">
      <span>
        <svg width="12" height="12" aria-hidden="true">
          <rect width="12" height="12" rx="2" fill="var(--c1)" />
        </svg>
        processing
      </span>
      <span>
        <svg width="12" height="12" aria-hidden="true">
          <rect width="12" height="12" rx="2" fill="var(--c2)" />
          <rect width="12" height="12" rx="2" fill="url(#penaltyh)" />
        </svg>
        bucket penalty
      </span>
    </span>
  );
}

export function PenaltyChart({
  name,
  outcome,
  waits,
}: {
  name: string;
  outcome: Outcome;
  waits: boolean;
}) {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const picture = useRef<SVGSVGElement>(null);
  const { bars, most, ticks, step, unit, slo } = chartOf(outcome);
  const height = width < NARROW ? TALL : HEIGHT;
  const room = (width - LEFT - RIGHT) / Math.max(1, bars.length);
  const bar = Math.min(64, room * 0.6);
  const y = (seconds: number) => TOP + (1 - seconds / most) * (height - TOP - BOTTOM);
  const x = (at: number) => LEFT + (at + 0.5) * room;
  const every = Math.ceil(24 / room);
  const rows = bars.map(({ option, verdict, kind }) => [
    option.brokers,
    option.names.join(" "),
    option.processing_p99_s === null ? null : option.processing_p99_s * 1e3,
    option.penalty_s === null ? null : option.penalty_s * 1e3,
    option.p99_s === null ? null : option.p99_s * 1e3,
    option.moved,
    kind === "full" ? "does not fit" : kind === "unbounded" ? "no bound" : verdict,
  ]);
  const describe = ({ option, kind, verdict }: Bar) => {
    const who = `${fixed(option.brokers)} ${option.brokers === 1 ? "broker" : "brokers"} (${names(option)})`;
    if (kind === "full") return `${who}: the topic does not fit`;
    if (kind === "unbounded") return `${who}: the delay grows without bound`;
    return `${who}: ${unit.text(option.p99_s)} ${unit.unit}, of it ${unit.text(option.processing_p99_s)} processing and ${unit.text(option.penalty_s)} penalty${verdict ? `, ${verdict}` : ""}`;
  };
  const chosen = bars.find((one) => one.option.chosen);
  const data = {
    name: `${name} delay by brokers`,
    head: ["Brokers", "Names", "Processing ms", "Penalty ms", "p99 ms", "Move", "Verdict"],
    rows,
  };
  const format = (cell: string | number | null | undefined, column: number) => {
    if (cell === null || cell === undefined) return UNKNOWN;
    if (typeof cell === "string") return cell;
    return column >= 2 && column <= 4
      ? fixed(cell, Math.max(2, decimalsFor(cell, 2)))
      : fixed(cell);
  };
  return (
    <ChartPanel
      title="Delay at p99 against number of brokers"
      right={<Legend />}
      footer={<Why outcome={outcome} />}
      stale={waits}
      data={data}
      svg={() => svgText(picture.current)}
      format={format}
    >
      <div ref={box}>
        <svg
          ref={picture}
          className="chart"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`99th percentile of the delay by number of brokers${chosen ? `; chosen: ${describe(chosen)}` : ""}`}
        >
          <defs>
            <pattern
              id="penaltyh"
              width="5"
              height="5"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <rect width="1.3" height="5" fill="var(--surface)" opacity=".6" />
            </pattern>
          </defs>
          {bars.map((one, at) =>
            one.option.chosen ? (
              <rect
                key={one.option.brokers}
                className="chosencol"
                x={x(at) - room * 0.44}
                y="4"
                width={room * 0.88}
                height={height - 10}
                rx="6"
                fill="var(--selected)"
              />
            ) : null,
          )}
          {ticks.map((tick) => (
            <g key={tick}>
              <path className="gridl" d={`M${LEFT} ${y(tick / unit.perSecond)}H${width - RIGHT}`} />
              <text className="tf" x={LEFT - 8} y={y(tick / unit.perSecond) + 4} textAnchor="end">
                {axisText(tick, step)}
              </text>
            </g>
          ))}
          {bars.map((one, at) => (
            <Column
              key={one.option.brokers}
              bar={one}
              title={describe(one)}
              x={x(at)}
              width={bar}
              y={y}
              top={y(most)}
            />
          ))}
          {slo === null || slo > most ? null : (
            <>
              <path
                className="crs"
                d={`M${LEFT - 2} ${y(slo)}H${width - RIGHT + 2}`}
                strokeWidth="2"
              />
              <text className="tt" x={width - RIGHT + 6} y={y(slo) + 4}>
                SLO {unit.text(slo)}
              </text>
            </>
          )}
          {bars.map((one, at) => (
            <Words
              key={one.option.brokers}
              bar={one}
              x={x(at)}
              y={Math.max(TOP - 6, y(one.whole) - 6)}
              middle={y(one.whole / 2)}
              bottom={height}
              room={room}
              numbered={one.option.chosen || at % every === 0}
            />
          ))}
          <text className="tf" x={width - RIGHT + 6} y={height - 34}>
            brokers
          </text>
          <text
            className="tf"
            x={width - RIGHT + 6}
            y={y((ticks.at(-1) ?? 0) / unit.perSecond) + 4}
          >
            {unit.unit}
          </text>
        </svg>
      </div>
      <table className="vh" aria-label="Delay by number of brokers">
        <thead>
          <tr>
            {data.head.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row[0]}>
              {row.map((cell, column) => (
                <td key={column}>{format(cell, column)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ChartPanel>
  );
}

/** Two bars on each other; hatched grey where nothing fits, torn at the top where the scale ends. */
function Column({
  bar: { kind, processing, whole, cut, verdict },
  title,
  x,
  width,
  y,
  top,
}: {
  bar: Bar;
  title: string;
  x: number;
  width: number;
  y: (seconds: number) => number;
  top: number;
}) {
  const left = x - width / 2;
  if (kind === "full") {
    return (
      <g>
        <title>{title}</title>
        <rect
          x={left}
          y={y(whole)}
          width={width}
          height={y(0) - y(whole)}
          rx="2"
          fill="url(#ghosth)"
        />
      </g>
    );
  }
  const gap = whole > processing && processing > 0 ? 1 : 0;
  const penalty = Math.max(0, y(processing) - y(whole) - gap);
  return (
    <g opacity={verdict === "misses" ? 0.5 : 1}>
      <title>{title}</title>
      <rect
        x={left}
        y={y(processing)}
        width={width}
        height={y(0) - y(processing)}
        fill="var(--c1)"
      />
      <rect x={left} y={y(whole)} width={width} height={penalty} fill="var(--c2)" />
      <rect x={left} y={y(whole)} width={width} height={penalty} fill="url(#penaltyh)" />
      {cut ? (
        <path
          className="tear"
          d={`M${left - 3} ${top + 11}l${width + 6} -5v4l${-width - 6} 5z`}
          fill="var(--surface)"
        />
      ) : null}
    </g>
  );
}

function Words({
  bar: { option, kind, verdict, label },
  x,
  y,
  middle,
  bottom,
  room,
  numbered,
}: {
  bar: Bar;
  x: number;
  y: number;
  /** Of the bar. */
  middle: number;
  /** Of the drawing. */
  bottom: number;
  room: number;
  numbered: boolean;
}) {
  const { chosen } = option;
  const needs = kind === "delay" ? ROOM_FOR.value : ROOM_FOR.sentence;
  return (
    <g aria-hidden="true">
      {chosen || room >= needs ? (
        <text className={chosen ? "tt halo onchosen" : "halo"} x={x} y={y} textAnchor="middle">
          {label}
        </text>
      ) : kind !== "delay" && room >= ROOM_FOR.upright ? (
        <text
          className="halo"
          transform={`translate(${x + 4} ${middle}) rotate(-90)`}
          textAnchor="middle"
        >
          {label}
        </text>
      ) : null}
      {numbered ? (
        <text className={chosen ? "tt" : ""} x={x} y={bottom - 34} textAnchor="middle">
          {fixed(option.brokers)}
        </text>
      ) : null}
      {chosen || room >= ROOM_FOR.verdict ? (
        <text className="tf" x={x} y={bottom - 19} textAnchor="middle">
          {verdict}
        </text>
      ) : null}
    </g>
  );
}
