/** What one may change of a frozen placement, and what the server is asked for it. */
import { headroomOf } from "./outcome";

import type { Outcome, WhatIf } from "@/api/placements";
import { decimalsOf, niceStep, stepsAround, type Steps } from "@/components/ui/what-if-slider";
import { delayScale } from "@/lib/numbers";

/** Percent of headroom, milliseconds of the SLO: as the sliders show them. What is left out stays. */
export type Draft = {
  rate?: number;
  headroom?: number;
  bucket?: number;
  batch?: number;
  groupSize?: number;
  slo?: number;
  drained?: readonly string[];
  added?: number;
};

export type Lever = "rate" | "headroom" | "bucket" | "batch" | "groupSize" | "slo";

export type Scale = {
  lever: Lever;
  label: string;
  unit: string;
  /** Where it begins. */
  start: number;
  /** Null where the problem has none. */
  stored: number | null;
  steps: Steps;
  decimals: number;
};

/** The server refuses more. */
export const MOST_ADDED = 16;
const MOST_GROUP = 1000;

const sized = (groups: Outcome["groups"]) =>
  groups.flatMap(({ name, publishers }) => (name === null ? [] : publishers));

/** Sliders that make sense for this outcome, each around what is stored. */
export function scalesOf(stored: Outcome): Scale[] {
  const { rate_per_s: rate, bucket, batch, slo_p99_s: slo } = stored.contract;
  // What is sent while nobody moves it is exact.
  const headroom = Math.round(headroomOf(stored) * 1000) / 10;
  const free = stored.curve.find(({ chosen }) => chosen)?.free_bucket ?? bucket;
  const sizes = sized(stored.groups);
  const size = Math.max(1, ...sizes);
  const goal = slo ?? stored.p99_s;
  const ms = goal === null ? 1 : Number((goal * 1e3).toPrecision(slo === null ? 2 : 12));
  const scale = (
    lever: Lever,
    label: string,
    unit: string,
    start: number,
    [low, high, step]: readonly [number, number, number],
    known: number | null = start,
  ): Scale => {
    const steps = stepsAround(start, low, high, step);
    const least = lever === "slo" ? delayScale([start / 1e3]).decimals : 0;
    const decimals = Math.max(least, decimalsOf(steps));
    return { lever, label, unit, start, stored: known, steps, decimals };
  };
  return [
    scale("rate", "Topic rate", "msg/s", rate, [rate * 0.4, rate * 1.6, niceStep(rate / 100)]),
    scale("headroom", "Token rate above topic rate", "%", headroom, [
      Math.min(1, headroom),
      Math.max(30, headroom * 2),
      1,
    ]),
    scale("bucket", "Bucket", "tokens", bucket, [
      Math.min(bucket, Math.max(1, bucket / 5)),
      Math.max(bucket * 5, free * 1.25),
      niceStep(Math.max(1, bucket / 50)),
    ]),
    scale("batch", "Batch", "messages", batch, [
      1,
      Math.max(16, batch * 4),
      niceStep(Math.max(1, batch / 25)),
    ]),
    ...(sizes.length > 0
      ? [
          scale("groupSize", "Group size", "publishers", size, [
            1,
            Math.min(MOST_GROUP, Math.max(16, size * 2)),
            niceStep(Math.max(1, size / 50)),
          ]),
        ]
      : []),
    scale(
      "slo",
      "SLO, p99",
      "ms",
      ms,
      [ms * 0.3, ms * 2, niceStep(ms / 20)],
      slo === null ? null : ms,
    ),
  ];
}

/** The draft with one slider moved; back where it began it is no change. */
export function moved(draft: Draft, { lever, start, stored, steps }: Scale, value: number): Draft {
  const same = stored !== null && Math.abs(value - start) < steps.step / 2;
  return { ...draft, [lever]: same ? undefined : value };
}

/** Drain a broker, or let it serve again. */
export function drainedOr(draft: Draft, stored: readonly string[], broker: string): Draft {
  const now = draft.drained ?? stored;
  const next = now.includes(broker) ? now.filter((name) => name !== broker) : [...now, broker];
  const same = next.length === stored.length && next.every((name) => stored.includes(name));
  return { ...draft, drained: same ? undefined : next };
}

/** One more broker, or one less of those that were added. */
export function withMore({ added = 0, ...rest }: Draft, by: number): Draft {
  return { ...rest, added: Math.min(MOST_ADDED, Math.max(0, added + by)) || undefined };
}

/** What is asked; null where nothing is changed. The token rate stays above the rate as it stood. */
export function bodyOf(stored: Outcome, draft: Draft): WhatIf | null {
  const { rate, headroom, bucket, batch, groupSize, slo, drained, added } = draft;
  const exact = (value: number) => Number(value.toPrecision(12));
  const share = headroom === undefined ? headroomOf(stored) : headroom / 100;
  const body: WhatIf = {
    ...(rate === undefined ? {} : { rate_per_s: rate }),
    ...(rate === undefined && headroom === undefined
      ? {}
      : { token_rate_per_s: exact((rate ?? stored.contract.rate_per_s) * (1 + share)) }),
    ...(bucket === undefined ? {} : { bucket }),
    ...(batch === undefined ? {} : { batch }),
    ...(groupSize === undefined ? {} : { group_size: groupSize }),
    ...(slo === undefined ? {} : { slo_p99_s: exact(slo / 1e3) }),
    ...(drained === undefined ? {} : { drained_brokers: [...drained] }),
    ...(added === undefined ? {} : { added_brokers: added }),
  };
  return Object.keys(body).length === 0 ? null : body;
}
