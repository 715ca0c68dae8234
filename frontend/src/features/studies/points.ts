/** The points of a study put in the order that its pictures need. */
import type { StudyPoint } from "@/api/studies";
import type { Axis, Spec, SweepSpec } from "./spec";

import { gapText } from "@/lib/numbers";

export const AS_IS = "As is";

/** A point that holds an answer. */
export const answered = (point: StudyPoint): point is StudyPoint & { utility: number } =>
  point.utility !== null;

/** The model as it is, by method. */
export function asIs(points: readonly StudyPoint[]): Map<string, StudyPoint> {
  return new Map(
    points
      .filter((point) => point.label === AS_IS && point.coordinates.length === 0)
      .map((point) => [point.method, point]),
  );
}

/** Whether scenarios differ in what consumers are worth: then their utilities do not compare. */
export function weighs(spec: Spec): boolean {
  const edits =
    spec.kind === "sweep"
      ? [...spec.axes.map((axis) => axis.edit), ...spec.scenarios.flatMap(({ edits }) => edits)]
      : [];
  return edits.some((edit) => edit.kind === "utility_weight");
}

/** What changes are held against; nothing where scenarios differ in their utility functions. */
export const compareBase = (spec: Spec, points: readonly StudyPoint[]): Map<string, StudyPoint> =>
  weighs(spec) ? new Map<string, StudyPoint>() : asIs(points);

/** Utility against the model as it is with the same method, 0.01 for one percent more. */
export function change(point: StudyPoint, base: ReadonlyMap<string, StudyPoint>): number | null {
  const before = base.get(point.method)?.utility;
  if (point.utility === null || before === undefined || before === null || before === 0)
    return null;
  return (point.utility - before) / Math.abs(before);
}

export const methodsOf = (spec: Spec): string[] => spec.methods.map((choice) => choice.label);

/** How a sweep is best shown. */
export type View = "frontier" | "heat" | "impact";

const isRange = (axis: Axis) => typeof axis.values[0] === "number";
const isWays = (axis: Axis) => axis.edit.kind === "budget" && axis.field === "spread";

export function viewOf(spec: Spec): View {
  if (spec.kind !== "sweep") return "impact";
  const [first, second] = spec.axes;
  if (
    first &&
    isRange(first) &&
    (spec.axes.length === 1 || (spec.axes.length === 2 && second && isWays(second)))
  ) {
    return "frontier";
  }
  if (spec.axes.length === 2) return "heat";
  return "impact";
}

const WAYS: Record<string, string> = { best: "where worth most", in_proportion: "in proportion" };

/** One curve of the frontier: a method, and where a budget is divided two ways the way. */
export type Line = { label: string; method: string; points: StudyPoint[] };

export function linesOf(spec: SweepSpec, points: readonly StudyPoint[]): Line[] {
  const ways = spec.axes[1]?.values ?? [null];
  const methods = methodsOf(spec);
  return methods.flatMap((method) =>
    ways.map((way) => ({
      label: [
        ...(methods.length > 1 || way === null ? [method] : []),
        ...(way === null ? [] : [WAYS[String(way)] ?? String(way)]),
      ].join(", "),
      method,
      points: along(points, method).filter((point) => way === null || point.coordinates[1] === way),
    })),
  );
}

/** Points of one method along the first axis, by rising value. */
export function along(points: readonly StudyPoint[], method: string): StudyPoint[] {
  return points
    .filter((point) => point.method === method && typeof point.coordinates[0] === "number")
    .sort((a, b) => Number(a.coordinates[0]) - Number(b.coordinates[0]));
}

/** What one more unit is worth at each point of a line. */
export type Worth = {
  /** `price`: the answers' own; `slope`: between neighbouring answers, where there is no price. */
  from: "price" | "slope" | "none";
  values: (number | null)[];
};

export function worthAlong(line: readonly StudyPoint[]): Worth {
  const prices = line.map((point) => point.marginals[0] ?? null);
  if (prices.some((price) => price !== null)) return { from: "price", values: prices };
  const values = line.map((point, index) => {
    const before = line[index - 1];
    const [low, high] = [before?.quantities[0], point.quantities[0]];
    if (typeof before?.utility !== "number" || point.utility === null) return null;
    if (typeof low !== "number" || typeof high !== "number" || !(high > low)) return null;
    return (point.utility - before.utility) / (high - low);
  });
  return { from: values.some((value) => value !== null) ? "slope" : "none", values };
}

/** The first point where one more unit is worth half or less of its worth at the low end. */
export function knee(
  line: readonly StudyPoint[],
): { point: StudyPoint; worth: number; first: number } | null {
  const worth = worthAlong(line).values;
  const first = worth.find((value) => value !== null) ?? null;
  if (first === null || first <= 0) return null;
  const index = worth.findIndex((value) => value !== null && value <= first / 2);
  const point = line[index];
  return point ? { point, worth: worth[index] ?? 0, first } : null;
}

/** The model as it is as a point of the axis; null where the axis says nothing of it. */
export function operatingPoint(
  axis: Axis,
  base: StudyPoint | undefined,
): { at: number; utility: number; price: number | null; quantity: number | null } | null {
  if (typeof base?.utility !== "number") return null;
  const quantity = base.quantities[0] ?? null;
  // `set` is per thing and `quantity` their sum: the same only where one thing is set.
  const one = axis.field === "total" || (axis.field === "set" && onlyOne(axis));
  const at = axis.field === "scale" ? 1 : one ? quantity : null;
  return at === null
    ? null
    : { at, utility: base.utility, price: base.marginals[0] ?? null, quantity };
}

const onlyOne = ({ edit }: Axis) =>
  [edit.nodes, edit.links, edit.classes].some(
    (names) => Array.isArray(names) && names.length === 1,
  );

/** Below this a gap is what is left of rounding two sums of millions of terms. */
const GAP_NOISE = 1e-12;

/** Percent to the bound; what is only rounding is 0. */
export function gapOf(point: StudyPoint): string {
  return point.gap !== null && point.gap < GAP_NOISE
    ? "0"
    : gapText(point.utility, point.upper_bound);
}

/** The widest gap to the bound, where bounds are known. */
export function widestGap(points: readonly StudyPoint[]): number | null {
  const gaps = points.map((point) => point.gap).filter((gap): gap is number => gap !== null);
  return gaps.length === 0 ? null : Math.max(...gaps);
}

export function best(points: readonly StudyPoint[]): StudyPoint | null {
  return points
    .filter(answered)
    .reduce<StudyPoint | null>(
      (found, point) =>
        found === null || point.utility > (found.utility ?? -Infinity) ? point : found,
      null,
    );
}

/** Why points have no answer, each reason once with how often it came. */
export function troubles(
  points: readonly StudyPoint[],
): { status: string; count: number; reason: string }[] {
  const found = new Map<string, { status: string; count: number; reason: string }>();
  for (const point of points) {
    if (answered(point)) continue;
    const entry = found.get(point.status);
    if (entry) entry.count += 1;
    else found.set(point.status, { status: point.status, count: 1, reason: point.reason });
  }
  return [...found.values()];
}

/** The heights of a stack: from the first group up. */
export const stackOf = (point: StudyPoint, group: string, what: "admitted" | "wanted"): number =>
  point.groups.find((entry) => entry.name === group)?.[what] ?? 0;

/** Steps of a heat map: share of the largest change on its side of zero, 1 to 5, 0 for none. */
export function heatStep(value: number | null, largest: number): number {
  if (value === null || largest <= 0 || Math.abs(value) < 1e-9) return 0;
  return Math.sign(value) * Math.max(1, Math.ceil((Math.abs(value) / largest) * 5 - 1e-9));
}
