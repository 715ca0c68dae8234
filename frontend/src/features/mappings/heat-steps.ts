/** Steps of the ochre ramp: round thresholds chosen from the data. */
import { fixed } from "@/lib/numbers";

/** From which amount on a cell has the first to the fourth ochre; below is "hardly any". */
export type HeatSteps = readonly [number, number, number, number];

const LEADS = [1, 1.5, 2, 3, 4, 5, 8];
const FIRST_LEADS = [1, 2, 5];
/** So many of the amounts are not above the one that the darkest step is made for. */
const USUAL = 0.95;

const exact = (value: number) => Number(value.toPrecision(12));

/** The largest product of a lead and a power of ten that is not above `value`. */
function roundBelow(value: number, leads: readonly number[]): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const lead = value / power + 1e-9;
  return exact((leads.findLast((one) => one <= lead) ?? 1) * power);
}

/** One, two and three times a round number, so that a few amounts reach the darkest; below them a
 * quarter of it. Null where there is no amount at all. */
export function heatSteps(amounts: readonly number[]): HeatSteps | null {
  const some = amounts.filter((one) => one > 0).sort((one, other) => one - other);
  const usual = some[Math.ceil(some.length * USUAL) - 1];
  if (usual === undefined) return null;
  const unit = roundBelow(usual / 3, LEADS);
  return [roundBelow(unit / 4, FIRST_LEADS), unit, exact(2 * unit), exact(3 * unit)];
}

/** 0: hardly any; 1 to 4: the ochres. */
export const shadeOf = (amount: number, steps: HeatSteps | null): number =>
  steps === null ? 0 : steps.filter((step) => amount >= step).length;

/** The thresholds with as few decimals as each needs, and their unit once. */
export function stepsText(steps: HeatSteps, unit: string): string {
  const isLarge = steps[3] > 99_999;
  const texts = steps.map((step) => {
    const value = exact(isLarge ? step / 1000 : step);
    return fixed(value, /\.(\d+)$/.exec(value.toFixed(12).replace(/0+$/, ""))?.[1]?.length ?? 0);
  });
  return `from ${texts.join(", ")} ${isLarge ? "k " : ""}${unit}`;
}
