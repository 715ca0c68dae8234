/**
 * Load against capacity: a stepped ramp of water that gets deeper up to the crest. Full use is what an
 * optimum looks like, so only what stands above the crest has the colour of an alarm.
 */

/** The optimizer holds constraints to a relative 1e-9; below this, a load at capacity is not over it. */
export const CAPACITY_TOLERANCE = 1e-6;
export const NEAR_CREST = 0.9;
/** Full, but for what whole consumers leave over. */
export const AT_CREST = 0.995;

const STEPS = [0.2, 0.4, 0.6, 0.8, 0.9, 1 + CAPACITY_TOLERANCE] as const;

export type LoadLevel = 0 | 1 | 2 | 3 | 4 | 5 | 6;

export function loadLevel(fraction: number): LoadLevel {
  const step = STEPS.findIndex((limit) => fraction <= limit);
  return (step === -1 ? 6 : step) as LoadLevel;
}

/** Fill of the water below the crest; what stands above it is hatched spill. */
export function loadColour(fraction: number): string {
  return `var(--load-${Math.min(5, loadLevel(fraction))})`;
}

export const isOver = (fraction: number): boolean => fraction > 1 + CAPACITY_TOLERANCE;

export type LoadState = "over" | "at" | "near" | "steady";

export function loadState(fraction: number): LoadState {
  if (isOver(fraction)) return "over";
  if (fraction >= AT_CREST) return "at";
  return fraction > NEAR_CREST ? "near" : "steady";
}

/** The largest fraction over all resources of one node; null when nothing is measured. */
export function worstFraction(
  load: Readonly<Record<string, number>>,
  capacity: Readonly<Record<string, number>>,
): { resource: string; fraction: number } | null {
  let worst: { resource: string; fraction: number } | null = null;
  for (const [resource, limit] of Object.entries(capacity)) {
    const value = load[resource];
    if (value === undefined || !(limit > 0)) continue;
    const fraction = value / limit;
    if (worst === null || fraction > worst.fraction) worst = { resource, fraction };
  }
  return worst;
}
