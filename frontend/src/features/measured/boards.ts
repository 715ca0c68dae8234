/** What is drawn over time of a system, a topic, a class or a broker: its charts, and the lines of
 * each. */
import type { DelayKind, Group, Question } from "./sums";

import type { Schemas } from "@/api/client";
import type { SloCompliance } from "@/api/objectives";
import { targetText } from "@/components/ui/objective-words";
import { fixed, rateText } from "@/lib/numbers";

export type BoardKind = "topics" | "consumer-classes" | "brokers";

/** A question, and what its series are called in the chart. */
export type Line = {
  question: Omit<Question, "range">;
  label: (series: string) => string;
  /** The greatest of the samples instead of their mean. */
  greatest?: true;
  /** What the other lines should not pass. */
  isLimit?: true;
};

/** What a line should not pass, in the unit of the chart's sums. */
export type Crest = { value: number; text: string };

export const NO_CRESTS: readonly Crest[] = [];

export type ChartSpec = { key: string; title: string; lines: readonly Line[] };

const metric = (name: string, by: Group, at: Partial<Question>, label: Line["label"]): Line => ({
  question: { quantity: "measured", metric: name, by, ...at },
  label,
});

const always = (text: string) => () => text;

const limit = (name: string, by: Group, at: Partial<Question>, label: Line["label"]): Line => ({
  ...metric(name, by, at, label),
  isLimit: true,
});

/** All that was measured of it in the system, added up. */
const whole = (name: string, label: string): Line => ({
  question: { quantity: "measured_sum", metric: name, by: "system" },
  label: always(label),
});

const itself = (name: string) => name;

const placed = (what: string) => (broker: string) =>
  broker === "" ? what : `${what} at ${broker}`;

const delays = (at: Partial<Question>, kind: DelayKind): Line[] =>
  (["delay_p50_s", "delay_p95_s", "delay_p99_s"] as const).map((quantity) => ({
    question: { quantity, by: "system", kind, ...at },
    label: always(quantity === "delay_p50_s" ? "median" : quantity.slice(6, 9)),
  }));

/** The charts of a system; delays of a kind. */
export const systemBoard = (kind: DelayKind): ChartSpec[] => [
  {
    key: "rate",
    title: "Traffic",
    lines: [
      whole("offered_per_s", "offered"),
      whole("passed_per_s", "passed"),
      whole("shed_per_s", "dropped"),
    ],
  },
  {
    key: "topics",
    title: "Passed, by topic",
    lines: [
      {
        question: { quantity: "measured_sum", metric: "passed_per_s", by: "topic" },
        label: itself,
      },
    ],
  },
  { key: "delay", title: "Delay", lines: delays({}, kind) },
  {
    key: "waiting",
    title: "Most that waited at gates",
    lines: [{ ...metric("backlog_peak", "topic", {}, itself), greatest: true }],
  },
  {
    key: "consumers",
    title: "Consumers",
    lines: [whole("admitted", "admitted"), whole("waiting", "waiting")],
  },
  { key: "cpu", title: "Processor", lines: [metric("cpu_ratio", "broker", {}, itself)] },
  {
    key: "messages",
    title: "Messages at brokers",
    lines: [whole("in_msgs_per_s", "in"), whole("out_msgs_per_s", "out")],
  },
  { key: "disk", title: "Stored messages", lines: [metric("disk_bytes", "broker", {}, itself)] },
];

/** The charts of a topic; delays of a kind. */
export const topicBoard = (topic: string, kind: DelayKind): ChartSpec[] => [
  {
    key: "rate",
    title: "Rate",
    lines: [
      metric("offered_per_s", "broker", { topic }, placed("offered")),
      metric("passed_per_s", "broker", { topic }, placed("passed")),
      metric("shed_per_s", "broker", { topic }, placed("dropped")),
      limit("limit_per_s", "broker", { topic }, placed("limit")),
    ],
  },
  { key: "delay", title: "Delay", lines: delays({ topic }, kind) },
  {
    key: "waiting",
    title: "Most that waited at the gate, and its bucket",
    lines: [
      { ...metric("backlog_peak", "broker", { topic }, placed("most")), greatest: true },
      metric("limit_messages", "broker", { topic }, placed("bucket")),
    ],
  },
  {
    key: "consumers",
    title: "Consumers",
    lines: [
      metric("admitted", "consumer_class", { topic }, (name) => `${name} admitted`),
      metric("waiting", "consumer_class", { topic }, (name) => `${name} waiting`),
    ],
  },
];

/** The charts of a class; delays of a kind. */
export const classBoard = (name: string, kind: DelayKind): ChartSpec[] => {
  const at = { consumer_class: name };
  return [
    {
      key: "consumers",
      title: "Consumers",
      lines: [
        metric("admitted", "consumer_class", at, always("admitted")),
        metric("waiting", "consumer_class", at, always("waiting")),
        limit("limit_consumers", "broker", at, placed("limit")),
      ],
    },
    { key: "delay", title: "Delay", lines: delays(at, kind) },
    {
      key: "delivered",
      title: "Delivered",
      lines: [metric("delivered_per_s", "consumer_class", at, always("delivered"))],
    },
  ];
};

/** The charts of a broker. */
export const brokerBoard = (broker: string): ChartSpec[] => {
  const at = { broker };
  const own = (name: string, label: string) => metric(name, "broker", at, always(label));
  return [
    { key: "cpu", title: "Processor", lines: [own("cpu_ratio", "of one core")] },
    {
      key: "messages",
      title: "Messages",
      lines: [own("in_msgs_per_s", "in"), own("out_msgs_per_s", "out")],
    },
    {
      key: "gates",
      title: "Passed its gates",
      lines: [metric("passed_per_s", "topic", at, itself)],
    },
    {
      key: "waiting",
      title: "Most that waited at its gates",
      lines: [{ ...metric("backlog_peak", "topic", at, itself), greatest: true }],
    },
    {
      key: "network",
      title: "Network",
      lines: [own("in_bytes_per_s", "in"), own("out_bytes_per_s", "out")],
    },
    {
      key: "memory",
      title: "Memory and storage",
      lines: [
        own("memory_bytes", "memory"),
        own("disk_bytes", "stored messages"),
        limit("disk_limit_bytes", "broker", at, always("storage limit")),
      ],
    },
    { key: "connections", title: "Connections", lines: [own("connections", "connections")] },
  ];
};

type Gate = Pick<
  Schemas["FlowStatus"],
  "flow" | "broker" | "in_force_per_s" | "controlled_per_s" | "burst"
>;

/** What gates of a topic let pass now: as approved, or as rate control holds them. */
export function gateCrests(flows: readonly Gate[], topic: string): Crest[] {
  return flows.flatMap(({ flow, broker, in_force_per_s, controlled_per_s, burst }) => {
    const value = controlled_per_s ?? in_force_per_s;
    if (flow !== topic || value === null) return [];
    const which = controlled_per_s === null ? "limit" : "limit by rate control";
    const bucket = burst === null ? "" : `, bucket ${fixed(burst)} msg`;
    return [
      { value, text: `${which}${broker ? ` at ${broker}` : ""} ${rateText(value)} msg/s${bucket}` },
    ];
  });
}

/** Targets about delays. */
export const delayCrests = (objectives: readonly SloCompliance[]): Crest[] =>
  objectives
    .filter(({ quantity }) => quantity.startsWith("delay_"))
    .map((row) => ({ value: row.target, text: `${row.name}: at most ${targetText(row)}` }));
