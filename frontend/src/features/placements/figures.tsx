/** The four figures of a placement, in what-if with their change against what is stored. */
import { gainersOf, usedOf } from "./outcome";
import { delay, promiseText } from "./sentences";

import type { Outcome } from "@/api/placements";
import { FigureStrip, type Figure } from "@/components/ui/figure-strip";
import { Delta } from "@/components/ui/unit-number";
import { countText, delayScale, fixed, UNKNOWN } from "@/lib/numbers";

function bucketsText(outcome: Outcome): string | undefined {
  const buckets = usedOf(outcome).flatMap(({ bucket }) => bucket ?? []);
  const whole = outcome.contract.bucket;
  if (buckets.length === 0) return undefined;
  if (buckets.length === 1) return `one bucket of ${fixed(whole)} tokens, not split`;
  const [low, high] = [Math.min(...buckets), Math.max(...buckets)];
  const digits = low < 10 ? 1 : 0;
  const size =
    fixed(low, digits) === fixed(high, digits)
      ? fixed(low, digits)
      : `${fixed(low, digits)} to ${fixed(high, digits)}`;
  return `${fixed(buckets.length)} buckets of ${size} tokens, not one of ${fixed(whole)}`;
}

function movesText(outcome: Outcome): string {
  if (outcome.moved === 0) return "all stay where they are";
  const gainers = gainersOf(outcome);
  if (gainers === null) return `over ${countText(usedOf(outcome).length, "broker")}`;
  const [only, second] = gainers;
  if (gainers.length === 1) return `all to ${only ?? ""}`;
  return gainers.length === 2
    ? `to ${only ?? ""} and ${second ?? ""}`
    : `to ${fixed(gainers.length)} brokers`;
}

function whyBrokers(outcome: Outcome): string {
  const { today, curve, meets, contract } = outcome;
  const chosen = curve.find((option) => option.chosen);
  const now = today === null ? "none today" : `${fixed(today.brokers)} today`;
  if (outcome.status === "infeasible")
    return `${now}; ${countText(outcome.unassigned, "publisher has", "publishers have")} no room`;
  if (promiseText(contract) === null) return now;
  if (!meets) return `${now}; misses the SLO`;
  const fewest = curve.find((option) => option.meets === true);
  return `${now}; ${fewest === chosen ? "the fewest that meet the SLO" : "meets the SLO"}`;
}

/** The difference of two delays; where one has no bound there is none. */
function Against({ now, then, name }: { now: number | null; then: number | null; name: string }) {
  const scale = delayScale([now, then]);
  if (now === null || then === null)
    return (
      <>
        {delay(then)} on {name}
      </>
    );
  return (
    <>
      <Delta
        value={(now - then) * scale.perSecond}
        decimals={scale.decimals}
        better="down"
        unit={scale.unit}
      />{" "}
      against {scale.text(then)} on {name}
    </>
  );
}

export function Figures({
  outcome,
  stored,
  name,
}: {
  outcome: Outcome;
  /** What it is compared with; null outside of what-if. */
  stored: Outcome | null;
  name: string;
}) {
  const p99 = delayScale([outcome.p99_s]);
  const penalty = delayScale([outcome.penalty_s]);
  const used = usedOf(outcome).length;
  const slo = promiseText(outcome.contract);
  const bounded = (value: number | null, scale: typeof p99) =>
    value !== null
      ? { value: scale.text(value), unit: scale.unit }
      : { value: outcome.status === "infeasible" ? UNKNOWN : "no bound" };
  const figures: Figure[] = [
    {
      label: "Brokers",
      value: fixed(used),
      unit: `of ${fixed(outcome.shares.length)}`,
      note: stored ? (
        <>
          <Delta value={used - usedOf(stored).length} /> against {fixed(usedOf(stored).length)} on{" "}
          {name}
        </>
      ) : (
        whyBrokers(outcome)
      ),
    },
    {
      label: "p99, predicted",
      ...bounded(outcome.p99_s, p99),
      note: stored ? (
        <Against now={outcome.p99_s} then={stored.p99_s} name={name} />
      ) : slo === null ? (
        "the topic has no SLO"
      ) : (
        <span className={outcome.meets === false ? "worse" : undefined}>
          {(outcome.contract.slo_mean_s ?? null) === null
            ? ""
            : `mean ${delay(outcome.mean_s ?? null)}; `}
          {outcome.meets === false ? "misses the SLO of" : "SLO"} {slo}
        </span>
      ),
    },
    {
      label: "Penalty of the split",
      ...bounded(outcome.penalty_s, penalty),
      note: stored ? (
        <Against now={outcome.penalty_s} then={stored.penalty_s} name={name} />
      ) : (
        bucketsText(outcome)
      ),
    },
    {
      label: "Publishers that move",
      value: fixed(outcome.moved),
      unit: `of ${fixed(outcome.publishers)}`,
      note: stored ? (
        <>
          <Delta value={outcome.moved - stored.moved} better="down" /> against {fixed(stored.moved)}{" "}
          on {name}
        </>
      ) : (
        movesText(outcome)
      ),
    },
  ];
  return <FigureStrip figures={figures} />;
}
