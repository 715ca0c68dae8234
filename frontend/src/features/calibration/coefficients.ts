/** What a coefficient is called, how far it moved, and which ones a person would apply. */
import type { Coefficient, FitCase } from "@/api/calibration";
import { significant, UNKNOWN, type Maybe } from "@/lib/numbers";

const KINDS: Record<Coefficient["kind"], string> = {
  idle: "Idle load",
  flow: "per message",
  class: "per message and consumer",
};

export const termTitle = (row: Pick<Coefficient, "kind" | "name">) =>
  row.kind === "idle" ? KINDS.idle : row.name;

export const termUnit = (row: Pick<Coefficient, "kind">, resource: string) =>
  row.kind === "idle" ? `${resource} per second` : KINDS[row.kind];

/** Three significant digits; very small costs as a power of ten. */
export function costText(value: Maybe): string {
  if (typeof value !== "number") return UNKNOWN;
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(2).replace("-", "\u2212");
  return significant(value, 4);
}

/** Only what the model can hold, and by default only what the measurements fix. */
export const applicable = (row: Coefficient) => row.kind !== "idle";

export const suggested = (cases: readonly FitCase[]): string[] =>
  cases.flatMap((one) =>
    one.coefficients
      .filter((row) => applicable(row) && row.identified && row.value !== row.old)
      .map((row) => row.id),
  );

/** The scale of the interval bars of one case: the largest number that any of a kind shows. */
export function barScale(one: FitCase, kind: Coefficient["kind"]): number {
  const values = one.coefficients
    .filter((row) => row.kind === kind)
    .flatMap((row) => [row.old ?? 0, row.value, Math.min(row.high ?? 0, 4 * row.value)]);
  return Math.max(...values, 0);
}

/** Normalised root of the mean squared distance, before and after, as shares of the capacity. */
export function misfit(one: FitCase): { before: number | null; after: number | null } {
  const points = one.scatter;
  if (points.length === 0 || one.capacity <= 0) return { before: null, after: null };
  const root = (distances: number[]) =>
    Math.sqrt(distances.reduce((sum, d) => sum + d * d, 0) / distances.length) / one.capacity;
  return {
    before: root(points.map((point) => point.before - point.measured)),
    after: root(points.map((point) => point.fitted - point.measured)),
  };
}
