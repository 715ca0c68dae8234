/** Words and digits of what was measured. */
import type { DelayKind, Group, Quantity, Sums } from "./sums";

import { amountScale, dataScale, delayScale, fixed, type Maybe, UNKNOWN } from "@/lib/numbers";

type Words = { label: string; by: readonly Group[] };

const CONSUMED: readonly Group[] = ["topic", "consumer_class", "broker", "system"];
const MEASURED: readonly Group[] = ["broker", "topic", "consumer_class", "system"];
const DELAYED: readonly Group[] = ["topic", "consumer_class", "system"];

export const QUANTITIES: Record<Quantity, Words> = {
  published_per_s: { label: "Published", by: ["topic", "broker", "system"] },
  received_per_s: { label: "Received", by: CONSUMED },
  requested_per_s: { label: "Requested", by: CONSUMED },
  unanswered_ratio: { label: "Unanswered requests", by: CONSUMED },
  delay_p50_s: { label: "Delay, median", by: DELAYED },
  delay_p95_s: { label: "Delay, p95", by: DELAYED },
  delay_p99_s: { label: "Delay, p99", by: DELAYED },
  delay_longest_s: { label: "Delay, longest", by: DELAYED },
  measured: { label: "Metric", by: MEASURED },
  measured_sum: { label: "Metric, added up", by: MEASURED },
};

export const GROUPS: Record<Group, { label: string; many: string; unknown: string }> = {
  topic: { label: "Topic", many: "topics", unknown: "no topic" },
  consumer_class: { label: "Class", many: "classes", unknown: "no class" },
  broker: { label: "Broker", many: "brokers", unknown: "no known broker" },
  system: { label: "All together", many: "systems", unknown: "" },
};

export const isMetric = (quantity: Quantity) => quantity.startsWith("measured");
export const isDelay = (quantity: Quantity) => quantity.startsWith("delay_");

export const DELAY_KINDS: Record<DelayKind, string> = {
  delivery: "to delivery",
  answer: "to the answer",
  gate: "at the gate",
};
export const kindText = (kind: string) => (DELAY_KINDS as Record<string, string>)[kind] ?? kind;

export const nameOf = (name: string, by: Group) => name || GROUPS[by].unknown;

export type Scale = {
  /** Empty where nobody knows it. */
  unit: string;
  /** What a value is multiplied by to be in this unit. */
  factor: number;
  text: (value: Maybe) => string;
};

/** One unit and one number of decimals for all that stands together. */
export function scaleOf({ unit, series }: Pick<Sums, "unit" | "series">): Scale {
  const values = series.flatMap((each) => each.values);
  if (unit === "s") {
    const { unit: own, perSecond, text } = delayScale(values);
    return { unit: own, factor: perSecond, text };
  }
  if (unit === "ratio") {
    const text = (value: Maybe) => fixed(typeof value === "number" ? value * 100 : value, 1);
    return { unit: "%", factor: 100, text };
  }
  if (unit === "bytes" || unit === "bytes/s") {
    const scale = dataScale(Math.max(0, ...values.map((value) => Math.abs(value ?? 0))));
    const power = ["bytes", "KiB", "MiB", "GiB"].indexOf(scale.unit);
    return {
      unit: unit === "bytes" ? scale.unit : `${scale.unit}/s`,
      factor: 1 / 1024 ** power,
      text: scale.text,
    };
  }
  const { unit: own, per, text } = amountScale(values, unit);
  return { unit: own.trim(), factor: 1 / per, text };
}

export const withUnit = (text: string, unit: string) =>
  text === UNKNOWN || unit === "" ? text : `${text} ${unit}`;
