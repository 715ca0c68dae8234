/** Did an executed plan keep its promise? Judged by utility, the quantity that every plan names. */
import type { Schemas } from "@/api/client";

export type Outcome = Schemas["Outcome"];

/** Of the promised gain this share counts as kept: agents measure over one second. */
const ENOUGH = 0.9;

export const utilityOf = (outcome: Outcome) =>
  outcome.promise.find((promised) => promised.name === "utility") ?? null;

/** What a plan was for: utility, or where it moves links what then crosses them. */
export const aimOf = (outcome: Pick<Outcome, "promise">) =>
  ["utility", "traffic on links"].flatMap(
    (name) => outcome.promise.find((promised) => promised.name === name) ?? [],
  )[0] ?? null;

/** null: nothing is measured, or nothing was promised. */
export function keptPromise(outcome: Outcome): boolean | null {
  const promised = utilityOf(outcome);
  const measured = outcome.measured_utility;
  if (measured === null || promised?.after === null || promised === null) return null;
  const before = promised.before ?? 0;
  const gain = promised.after - before;
  return gain >= 0
    ? measured >= before + ENOUGH * gain
    : measured >= promised.after - (1 - ENOUGH) * Math.abs(promised.after);
}
