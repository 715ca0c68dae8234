/** What the tables of an allocation say about its rows. */
import type { ClassPopulation, Comparison, ResourceLoad } from "@/api/allocations";

export type Outcome = "all" | "part" | "refused";

export function outcomeOfRow({ admitted, wanted }: ClassPopulation): Outcome {
  if (admitted >= wanted) return "all";
  return admitted === 0 ? "refused" : "part";
}

export function tally(rows: readonly ClassPopulation[]): Record<Outcome, number> {
  const counts = { all: 0, part: 0, refused: 0 };
  for (const row of rows) counts[outcomeOfRow(row)] += 1;
  return counts;
}

/** Highest rank first, then by topic and name, so that the order never depends on the run. */
export function byRank(rows: readonly ClassPopulation[]): ClassPopulation[] {
  return [...rows].sort(
    (a, b) =>
      b.scale - a.scale ||
      a.flow.localeCompare(b.flow, "en", { numeric: true }) ||
      a.consumer_class.localeCompare(b.consumer_class, "en", { numeric: true }),
  );
}

/** Former values by name; null where the other allocation had none. */
export function formerOf(
  changes: Comparison["rates"] | undefined,
): ReadonlyMap<string, number | null> {
  return new Map((changes ?? []).map((change) => [change.name, change.before]));
}

/** The resource with the highest price, and how it stands to the next. */
export function scarcest(
  loads: readonly ResourceLoad[],
): { load: ResourceLoad; next: ResourceLoad | null } | null {
  const priced = loads
    .filter((load) => load.place === "node" && load.price > 1e-9)
    .sort((a, b) => b.price - a.price);
  const first = priced[0];
  return first ? { load: first, next: priced[1] ?? null } : null;
}
