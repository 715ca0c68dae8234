/** What the plan promised of each flow and class, next to what the agents measure. */
import { absentAt } from "./step-view";

import type { PlanDetail } from "@/api/plans";
import type { Point, Telemetry } from "@/api/telemetry";

export type Sampled = Pick<Telemetry, "at" | "flows" | "classes"> | Point;

export type Promised = {
  key: string;
  kind: "rate" | "admitted";
  name: string;
  broker: string;
  before: number | null;
  after: number | null;
  /** Said where the plan leaves nothing to limit; else empty. */
  absent: string;
};

const numberOf = (values: Readonly<Record<string, unknown>> | null, name: string) => {
  const value = values?.[name];
  return typeof value === "number" ? value : null;
};

const size = (row: Promised) =>
  row.before === null || row.after === null ? Infinity : Math.abs(row.after - row.before);

/** Rates and limits that the plan leaves behind, the largest change of each first. */
export function promisedOf(plan: Pick<PlanDetail, "steps">): Promised[] {
  const rows = new Map<string, Promised>();
  for (const action of plan.steps.flatMap((step) => step.actions)) {
    // A part of a bucket that is only counted promises nothing.
    const part = action.kind === "set_bucket" && action.after?.mode !== "count";
    const rate = part || action.kind === "set_flow_rate";
    if (!rate && action.kind !== "set_population") continue;
    const member = rate ? "rate_per_s" : "limit";
    const name = (rate ? action.target.flow : action.target.class) ?? "";
    const broker = action.target.broker ?? "";
    const key = `${action.kind} ${name} ${broker}`;
    rows.set(key, {
      key,
      kind: rate ? "rate" : "admitted",
      name,
      broker,
      before: rows.has(key) ? (rows.get(key)?.before ?? null) : numberOf(action.before, member),
      after: numberOf(action.after, member),
      absent: absentAt(plan, plan.steps.length, action.target),
    });
  }
  return [...rows.values()].sort(
    (a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)) || (b.after ?? 0) - (a.after ?? 0),
  );
}

/** The measured counterpart of a promise in one sample; null where the broker says nothing of it. */
export function measuredOf(promised: Promised, sample: Sampled | undefined): number | null {
  if (!sample) return null;
  return promised.kind === "rate"
    ? (sample.flows[promised.name]?.passed_per_s ?? null)
    : (sample.classes[promised.name]?.admitted ?? null);
}

/** Stored points and what was heard since, of the last `seconds` before the newest, oldest first. */
export function joined(
  stored: readonly Sampled[],
  heard: readonly Sampled[],
  seconds: number,
): Sampled[] {
  const last = stored.at(-1)?.at ?? "";
  const all = [...stored, ...heard.filter((sample) => sample.at > last)];
  const end = new Date(all.at(-1)?.at ?? 0).getTime();
  return all.filter((sample) => new Date(sample.at).getTime() >= end - seconds * 1000);
}
