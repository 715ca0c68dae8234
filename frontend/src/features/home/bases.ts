/** Where the loads of a system's brokers are known from, in words. */
import type { Overview } from "@/api/allocations";

type Basis = Overview["loads"]["basis"];

export const BASES: Record<Basis, string> = {
  measured: "measured",
  in_force: "computed for what is in force",
  proposed: "proposed",
  none: "not known",
};

/** Whether it says how full brokers are, and not how full they would be. */
export const stands = (basis: Basis) => basis === "measured" || basis === "in_force";

/** Such as "measured", or "19 measured, 5 computed for what is in force". */
export function basesText(systems: readonly Overview[]): string {
  const counts = new Map<Basis, number>();
  for (const { loads, node_loads } of systems) {
    counts.set(loads.basis, (counts.get(loads.basis) ?? 0) + node_loads.length);
  }
  const said = [...counts].filter(([, count]) => count > 0);
  const only = said.length === 1 ? said[0] : undefined;
  return only
    ? BASES[only[0]]
    : said.map(([basis, count]) => `${count} ${BASES[basis]}`).join(", ");
}
