/** What changes and why, and what the plan promises: the first things a reviewer reads. */
import { memo } from "react";

import type { PlanDetail, Promised } from "@/api/plans";
import { FigureStrip, type Figure } from "@/components/ui/figure-strip";
import { Panel } from "@/components/ui/panel";
import { Delta } from "@/components/ui/unit-number";
import {
  amountScale,
  countText,
  decimalsFor,
  delayScale,
  durationText,
  fixed,
  rateText,
  UNKNOWN,
} from "@/lib/numbers";

export const WhyPanel = memo(function WhyPanel({ plan }: { plan: PlanDetail }) {
  const actions = plan.blast_radius.actions;
  return (
    <Panel
      title="What changes and why"
      right={
        <>
          <span className="tag out">{countText(actions, "action")}</span>
          <span className="tag out">{countText(plan.steps.length, "step")}</span>
        </>
      }
    >
      <div className="whytext">
        {plan.why.length > 0 ? (
          plan.why.map((sentence) => <p key={sentence}>{sentence}</p>)
        ) : (
          <p className="muted">The author gave no reason.</p>
        )}
      </div>
    </Panel>
  );
});

/** Where more (or less) is better for the user; every other quantity is neutral. */
function betterOf(name: string): "up" | "down" | undefined {
  if (/utility|admitted|consumers|delivered/i.test(name)) return "up";
  if (/load|traffic|cost|in flight|pause|latency|percentile|backlog|refused/i.test(name))
    return "down";
  return undefined;
}

/** A quantity by its unit: fractions as percent, rates by the rule of rates, counts whole. */
export function promiseDigits(promised: Pick<Promised, "unit" | "before" | "after">): {
  show: (value: number | null) => string;
  unit: string;
  decimals: number;
  scale: number;
} {
  const { unit, before, after } = promised;
  const largest = Math.max(Math.abs(before ?? 0), Math.abs(after ?? 0));
  if (unit === "share" || unit === "ratio" || unit === "fraction") {
    return {
      show: (value) => fixed(value === null ? null : value * 100, 1),
      unit: "%",
      decimals: 1,
      scale: 100,
    };
  }
  if (unit === "s") {
    if (before !== null && largest < 10) {
      // Before and after stand together, so they share a unit.
      const { text, unit: one, decimals, perSecond } = delayScale([before, after]);
      return { show: text, unit: one, decimals, scale: perSecond };
    }
    const of = (value: number | null) => durationText(value);
    return { show: (value) => of(value).text, unit: of(after).unit, decimals: 2, scale: 1 };
  }
  if (unit === "msg/s") {
    return { show: rateText, unit, decimals: largest < 99.995 ? 2 : 0, scale: 1 };
  }
  if (unit === "work/s") {
    // Before and after stand together, so they share a unit.
    const { text, unit: one, decimals, per } = amountScale([before, after], unit);
    return { show: text, unit: one, decimals, scale: 1 / per };
  }
  const whole = [before, after].every((value) => value === null || Number.isInteger(value));
  const decimals = whole ? 0 : Math.min(4, largest >= 1000 ? 1 : decimalsFor(largest, 4));
  return { show: (value) => fixed(value, decimals), unit, decimals, scale: 1 };
}

function figureOf(promised: Promised): Figure {
  const { name, before, after } = promised;
  const { show, unit, decimals, scale } = promiseDigits(promised);
  const label = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
  const shown = after === null ? "not known" : undefined;
  return {
    label,
    value: shown ? UNKNOWN : show(after),
    unit: shown ? undefined : unit,
    title: `${label}: ${show(before)} now, ${show(after)} promised${unit ? ` (${unit})` : ""}`,
    note:
      promised.name === "longest pause" ? (
        "of each link that moves"
      ) : before === null ? (
        "not known now"
      ) : (
        <>
          <span className="faint">{show(before)} now</span>{" "}
          {after === null ? null : (
            <Delta
              value={(after - before) * scale}
              decimals={decimals}
              better={betterOf(name)}
              unit={unit === "%" ? "pt" : undefined}
            />
          )}
        </>
      ),
  };
}

export const PromiseStrip = memo(function PromiseStrip({
  promise,
}: {
  promise: readonly Promised[];
}) {
  if (promise.length === 0) return null;
  return <FigureStrip figures={promise.map(figureOf)} />;
});
