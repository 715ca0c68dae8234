/** The five figures of an allocation: worth, bound, gap, admitted, scarcest. */
import { byRank, scarcest, tally } from "./outcome";

import type {
  AllocationDetail,
  ClassPopulation,
  Comparison,
  ResourceLoad,
} from "@/api/allocations";
import { FigureStrip } from "@/components/ui/figure-strip";
import { Delta } from "@/components/ui/unit-number";
import { fixed, gapText, priceText, significant, UNKNOWN } from "@/lib/numbers";

export const secondsOf = (allocation: { started_at: string; finished_at: string }) =>
  (new Date(allocation.finished_at).getTime() - new Date(allocation.started_at).getTime()) / 1000;

function scarceFigure(loads: readonly ResourceLoad[] | undefined) {
  const scarce = loads ? scarcest(loads) : null;
  if (!loads) return { label: "Scarcest resource", value: UNKNOWN };
  if (!scarce) return { label: "Scarcest resource", value: "none", note: "every price is 0" };
  const { load, next } = scarce;
  return {
    label: "Scarcest resource",
    value: load.name,
    unit: `${load.resource ?? ""}, ${priceText(load.price)} per unit`,
    note: next
      ? `${significant(load.price / next.price, 2)} times the price at ${next.name}`
      : "the only one with a price",
  };
}

export function Figures({
  allocation,
  classes,
  loads,
  comparison,
}: {
  allocation: AllocationDetail;
  classes: readonly ClassPopulation[] | undefined;
  loads: readonly ResourceLoad[] | undefined;
  comparison: Comparison | undefined;
}) {
  const { utility, upper_bound: bound } = allocation;
  const counts = classes ? tally(byRank(classes)) : null;
  const before = comparison?.utility.before ?? null;
  return (
    <FigureStrip
      figures={[
        {
          label: "Total utility",
          value: fixed(utility, 1),
          note:
            before === null ? (
              allocation.compared_with === null ? (
                allocation.in_force === allocation.id ? (
                  "in force"
                ) : (
                  "the first of its system"
                )
              ) : undefined
            ) : (
              <>
                <Delta value={utility - before} decimals={1} better="up" /> on A-
                {comparison?.other_number}
                {comparison?.utility_by_other ? ", by the same functions" : ""}
              </>
            ),
        },
        {
          label: "Upper bound",
          value: fixed(bound, 1),
          note:
            bound === null ? `${allocation.method} proves no bound` : "no allocation can exceed it",
        },
        bound === null
          ? {
              label: "Iterations",
              value: fixed(allocation.iterations),
              note: <>in {significant(secondsOf(allocation), 2)} s</>,
            }
          : {
              label: "Gap",
              value: gapText(utility, bound),
              unit: "%",
              note:
                bound <= utility
                  ? "proven best"
                  : `${significant(bound - utility, 2)} utility left at most`,
            },
        {
          label: "Consumers admitted",
          value: fixed(allocation.admitted),
          unit: `of ${fixed(allocation.wanted)}`,
          note: counts
            ? `${fixed(counts.all)} full, ${fixed(counts.part)} in part, ${fixed(counts.refused)} refused`
            : undefined,
        },
        scarceFigure(loads),
      ]}
    />
  );
}
