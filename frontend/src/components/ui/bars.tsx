/** Water against a crest: the bars of tables. Plain SVG, no text on the fill, the value in the label. */
import { isOver, loadColour } from "@/lib/load";
import { countText, fixed, percentText, rateText } from "@/lib/numbers";

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

/** Load of one broker or link in a row, 0 to 120 %; the load before it as a tick. */
export function LoadBar({
  fraction,
  before,
  width = 120,
}: {
  fraction: number;
  before?: number;
  width?: number;
}) {
  const crest = width / 1.2;
  const water = clamp(fraction, 0, 1) * crest;
  const spill = isOver(fraction) ? (clamp(fraction, 1, 1.2) - 1) * crest : 0;
  return (
    <svg
      className="bar"
      width={width}
      height="14"
      viewBox={`0 -2 ${width} 14`}
      role="img"
      aria-label={
        `${percentText(fraction, 1)} of capacity` +
        (before === undefined ? "" : `, before ${percentText(before, 1)}`)
      }
    >
      <rect className="trk" width={width} height="10" rx="2" />
      <rect width={water} height="10" rx="2" fill={loadColour(fraction)} />
      {spill > 0 ? <rect x={crest} width={spill} height="10" fill="url(#spill)" /> : null}
      {before === undefined ? null : (
        <rect
          x={clamp(before, 0, 1.2) * crest - 1}
          y="-1"
          width="2"
          height="12"
          fill="var(--text-3)"
          stroke="var(--surface)"
          strokeWidth="0.5"
        />
      )}
      <path className="crs" d={`M${crest} -2V12`} />
    </svg>
  );
}

/** Load of many brokers at once, one vessel each, highest first; one crest over all. */
export function LevelStrip({
  levels,
  limit = 14,
}: {
  levels: readonly { name: string; fraction: number }[];
  limit?: number;
}) {
  const sorted = [...levels].sort((a, b) => b.fraction - a.fraction);
  const shown = sorted.slice(0, limit);
  const width = shown.length * 13 - 3;
  const top = 2;
  const crest = 7;
  const bottom = 32;
  const highest = sorted[0];
  return (
    <svg
      className="bar"
      width={Math.max(width + 4, 14)}
      height="34"
      viewBox={`-2 0 ${Math.max(width + 4, 14)} 34`}
      role="img"
      aria-label={
        highest
          ? `load of ${countText(levels.length, "broker")}, highest ${highest.name} ${percentText(highest.fraction)}`
          : "no loads"
      }
    >
      {shown.map((level, index) => {
        const x = index * 13;
        const y = bottom - clamp(level.fraction, 0, 1) * (bottom - crest);
        const over = clamp(level.fraction - 1, 0, 0.2) * (bottom - crest);
        return (
          <g key={level.name}>
            <title>{`${level.name} ${percentText(level.fraction)}`}</title>
            <rect x={x} y={top} width="10" height={bottom - top} rx="1.5" className="trk" />
            <rect x={x} y={y} width="10" height={bottom - y} fill={loadColour(level.fraction)} />
            {isOver(level.fraction) ? (
              <rect x={x} y={crest - over} width="10" height={over} fill="url(#spill)" />
            ) : null}
          </g>
        );
      })}
      <path d={`M-1 ${crest}H${width + 1}`} className="crs" strokeWidth="1.25" />
    </svg>
  );
}

/** Where a value stands between two bounds; logarithmic when the lower bound allows it. */
export function boundPosition(value: number, min: number, max: number): number {
  if (!(max > min)) return 1;
  const inside = clamp(value, min, max);
  if (min > 0 && max / min >= 10) return Math.log(inside / min) / Math.log(max / min);
  if (min === 0 && max >= 10) return Math.log1p(inside) / Math.log1p(max);
  return (inside - min) / (max - min);
}

/** A rate in its allowed range: ghost from min to max, a crest at both ends, the previous as a tick. */
export function BoundBar({
  value,
  min,
  max,
  previous,
  width = 150,
}: {
  value: number;
  min: number;
  max: number;
  previous?: number | null;
  width?: number;
}) {
  const span = width - 2;
  const at = (rate: number) => 1 + boundPosition(rate, min, max) * span;
  const fill = Math.max(2, at(value) - 1);
  const label =
    `rate ${rateText(value)} between ${rateText(min)} and ${rateText(max)} msg/s` +
    (previous === undefined || previous === null ? "" : `, before ${rateText(previous)}`);
  return (
    <svg
      className="bar"
      width={width}
      height="16"
      viewBox={`0 0 ${width} 16`}
      role="img"
      aria-label={label}
    >
      <rect className="gho" x="1" y="6" width={span} height="4" rx="2" />
      <path className="crs" d={`M1 2V14M${width - 1} 2V14`} />
      <path d={`M${width / 2} 4V12`} className="axis" />
      <rect x="1" y="4" width={fill} height="8" rx="2" fill="var(--c1)" />
      {previous === undefined || previous === null ? null : (
        <path
          d={`M${at(previous)} 1V15`}
          stroke="var(--before)"
          strokeWidth="1.5"
          strokeDasharray="2 1.5"
        />
      )}
    </svg>
  );
}

/** Admitted of wanted; hatched grey when everybody is refused, never an empty gap. */
export function AdmissionBar({
  admitted,
  wanted,
  width = 104,
}: {
  admitted: number;
  wanted: number;
  width?: number;
}) {
  const share = wanted > 0 ? clamp(admitted / wanted, 0, 1) : 0;
  return (
    <svg
      className="bar"
      width={width}
      height="10"
      viewBox={`0 0 ${width} 10`}
      role="img"
      aria-label={`${fixed(admitted)} of ${fixed(wanted)} admitted`}
    >
      <rect className="trk" width={width} height="10" rx="2" />
      {admitted === 0 && wanted > 0 ? (
        <rect width={width} height="10" rx="2" fill="url(#ghosth)" />
      ) : (
        <rect
          width={admitted > 0 ? Math.max(2, share * width) : 0}
          height="10"
          rx="2"
          fill="var(--c1)"
        />
      )}
    </svg>
  );
}

/** Legend of the load ramp, 0 to 120 with the crest at 100. */
export function LoadLegend() {
  const at = (percent: number) => 4 + percent * 1.8;
  const steps = [0, 20, 40, 60, 80, 90, 100];
  return (
    <svg
      width="232"
      height="34"
      viewBox="0 0 232 34"
      role="img"
      aria-label="Load scale 0 to 120 percent"
    >
      {steps.map((from, index) => {
        const to = steps[index + 1] ?? 120;
        return (
          <rect
            key={from}
            x={at(from)}
            y="4"
            width={at(to) - at(from)}
            height="10"
            fill={index === 6 ? "url(#spill)" : `var(--load-${index})`}
          />
        );
      })}
      {[0, 40, 80, 100, 120].map((tick) => (
        <text key={tick} x={at(tick)} y="27" textAnchor="middle" className="tf">
          {tick}
        </text>
      ))}
      <path d={`M${at(100)} 1V17`} className="crs" />
    </svg>
  );
}
