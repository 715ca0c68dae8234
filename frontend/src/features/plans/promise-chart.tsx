/** One quantity over the last minutes against what the plan promised for it. */
import { fixed, rateText } from "@/lib/numbers";

const WIDTH = 344;
const HEIGHT = 62;
const RIGHT = 66;
const TOP = 6;

export type PromiseLine = {
  points: readonly { at: number; value: number }[];
  promised: number | null;
  unit: string;
};

/** Two labels at the end of the lines, never over each other. */
function apart(first: number, second: number): [number, number] {
  const gap = 13;
  if (Math.abs(first - second) >= gap) return [first, second];
  const middle = Math.min(Math.max((first + second) / 2, TOP + gap / 2), HEIGHT - gap / 2);
  return first <= second
    ? [middle - gap / 2, middle + gap / 2]
    : [middle + gap / 2, middle - gap / 2];
}

export function PromiseChart({ line, label }: { line: PromiseLine; label: string }) {
  const { points, promised, unit } = line;
  const show = (value: number) => (unit === "msg/s" ? rateText(value) : fixed(value));
  const last = points.at(-1);
  const highest = Math.max(1e-9, promised ?? 0, ...points.map((point) => point.value));
  const y = (value: number) => TOP + (1 - value / (highest * 1.1)) * (HEIGHT - TOP - 4);
  const from = points[0]?.at ?? 0;
  const span = Math.max(1, (last?.at ?? 1) - from);
  const x = (at: number) => ((at - from) / span) * (WIDTH - RIGHT);
  const path = points
    .map(
      (point, index) =>
        `${index === 0 ? "M" : "L"}${x(point.at).toFixed(1)} ${y(point.value).toFixed(1)}`,
    )
    .join("");
  const [measuredY, promisedY] =
    last && promised !== null
      ? apart(y(last.value), y(promised))
      : [y(last?.value ?? 0), y(promised ?? 0)];
  return (
    <svg
      className="chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${label}: ${last ? `measured ${show(last.value)} ${unit}` : "nothing measured yet"}${
        promised === null ? "" : `, promised ${show(promised)} ${unit}`
      }`}
    >
      <path className="axis" d={`M0 ${y(0)}H${WIDTH - RIGHT}`} />
      {promised === null ? null : (
        <>
          <path
            d={`M0 ${y(promised)}H${WIDTH - RIGHT + 4}`}
            stroke="var(--after)"
            strokeWidth="1.25"
            strokeDasharray="4 3"
          />
          <text x={WIDTH - RIGHT + 10} y={promisedY + 4} style={{ fill: "var(--after)" }}>
            {show(promised)}
          </text>
        </>
      )}
      {points.length > 1 ? (
        <path d={path} fill="none" stroke="var(--c1)" strokeWidth="1.75" />
      ) : null}
      {last ? (
        <>
          <circle cx={x(last.at)} cy={y(last.value)} r="3" fill="var(--c1)" />
          <text className="tt" x={WIDTH - RIGHT + 10} y={measuredY + 4}>
            {show(last.value)}
          </text>
        </>
      ) : (
        <text className="tf" x="0" y={TOP + 14}>
          nothing measured yet
        </text>
      )}
    </svg>
  );
}
