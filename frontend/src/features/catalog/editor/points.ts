/** Points of a drawn utility as numbers: slopes, bends, moves. The kernel has the last word. */
import { bendsUp, readNumber, type ParameterDraft, type Point } from "@/lib/parameters";

export type XY = readonly [rate: number, utility: number];

/** Points that are numbers; NaN where one types something else. */
export const numbersOf = (points: readonly Point[]): XY[] =>
  points.map((point) => [readNumber(point.rate) ?? NaN, readNumber(point.utility) ?? NaN]);

/** The parameter that holds points, if the kind has one, and its points. */
export function pointsIn(
  parameters: ParameterDraft,
): { name: string; points: Point[] } | undefined {
  for (const [name, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) return { name, points: value };
  }
  return undefined;
}

export function slopeAfter(points: readonly XY[], index: number): number {
  const [here, next] = [points[index], points[index + 1]];
  return here && next ? (next[1] - here[1]) / (next[0] - here[0]) : 0;
}

/** Height of the line at a rate: along the first segment before it, flat after the last point. */
export function lineAt(points: readonly XY[], rate: number): number {
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last) return NaN;
  if (rate >= last[0]) return last[1];
  let index = points.findIndex((_, i) => rate < (points[i + 1]?.[0] ?? Infinity));
  index = Math.max(0, index);
  const from = points[index] ?? first;
  return from[1] + slopeAfter(points, index) * (rate - from[0]);
}

/** Slope of the line just after a rate. */
export function lineSlope(points: readonly XY[], rate: number): number {
  const index = points.findIndex((_, i) => rate < (points[i + 1]?.[0] ?? Infinity));
  const last = points.at(-1);
  return last && rate >= last[0] ? 0 : slopeAfter(points, Math.max(0, index));
}

/** Where the line bends upwards, in words, with the height that would straighten it. */
export function bendSentence(points: readonly XY[], index: number): string {
  const [a, b] = [points[index - 1], points[index + 1]];
  const here = points[index];
  if (!a || !b || !here) return "";
  const straight = a[1] + ((b[1] - a[1]) * (here[0] - a[0])) / (b[0] - a[0]);
  const slope = (i: number) => slopeAfter(points, i).toFixed(2);
  return (
    `Point ${index} bends upwards: the slope rises from ${slope(index - 1)} to ${slope(index)}. ` +
    `Lift it to ${Number(straight.toPrecision(4)).toLocaleString("en")} or more.`
  );
}

const decimals = (unit: number) => Math.max(0, Math.ceil(-Math.log10(unit) - 1e-9));

/** The nearest multiple of the unit, without the dust of binary fractions. */
export const rounded = (value: number, unit: number): number =>
  Number((Math.round(value / unit) * unit).toFixed(decimals(unit)));

/** The step of an arrow key on an axis of this length: a power of ten, about a hundredth of it. */
export const unitOf = (length: number): number =>
  10 ** Math.floor(Math.log10(Math.max(length, 1e-9) / 100));

/** A point moved to where the pointer is, between its neighbours: rates increase, utility never falls. */
export function moved(
  points: readonly XY[],
  index: number,
  to: XY,
  units: { rate: number; utility: number },
): XY {
  const before = points[index - 1];
  const after = points[index + 1];
  const lowest = before ? before[0] + units.rate : 0;
  const highest = after ? after[0] - units.rate : Infinity;
  const floor = before ? before[1] : -Infinity;
  const ceiling = after ? after[1] : Infinity;
  const within = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));
  return [
    within(rounded(to[0], units.rate), lowest, Math.max(lowest, highest)),
    within(rounded(to[1], units.utility), floor, Math.max(floor, ceiling)),
  ];
}

/** A new point where the line is longest, on the line, so that adding never bends it. */
export function inserted(points: readonly XY[]): { index: number; point: XY } {
  const last = points.at(-1);
  if (!last) return { index: 0, point: [0, 0] };
  if (points.length === 1) return { index: 1, point: [last[0] * 2 || 10, last[1]] };
  let widest = 0;
  for (let i = 1; i < points.length - 1; i += 1) {
    const width = (k: number) => (points[k + 1]?.[0] ?? 0) - (points[k]?.[0] ?? 0);
    if (width(i) > width(widest)) widest = i;
  }
  const [a, b] = [points[widest] ?? last, points[widest + 1] ?? last];
  const rate = (a[0] + b[0]) / 2;
  return { index: widest + 1, point: [rate, lineAt(points, rate)] };
}

/** A few points on a curve, fit for a line of points: concave even after rounding. */
export function sampled(curve: readonly XY[], rates: readonly number[]): Point[] {
  const last = curve.at(-1)?.[0] ?? 0;
  let points: XY[] = [...new Set(rates.map((rate) => Number(rate.toPrecision(4))))]
    .filter((rate) => rate >= 0 && rate <= last)
    .sort((a, b) => a - b)
    .map((rate) => [rate, Number(lineAt(curve, rate).toPrecision(5))]);
  for (let bad = bendsUp(points); bad.length > 0; bad = bendsUp(points)) {
    const [first] = bad;
    points = points.filter((_, i) => i !== first);
  }
  return points.map(([rate, utility]) => ({ rate: String(rate), utility: String(utility) }));
}
