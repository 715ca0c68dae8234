/** The words of recomputation: what triggers watch, what happens then, what became of it. */
import { subjectOf } from "./rule-draft";

import type { Firing, Then, Trigger, TriggerKind } from "@/api/recomputation";
import type { Option } from "@/components/ui/fields";
import { computationTitle } from "@/lib/computations";
import { fixed, percentText, UNKNOWN } from "@/lib/numbers";

export const THENS: readonly Option[] = [
  { value: "none", label: "Compute only" },
  { value: "draft", label: "Make a draft plan" },
  { value: "submit", label: "Make a plan and submit it" },
];

export const thenWord = (then: Then | undefined) =>
  THENS.find((option) => option.value === then)?.label ?? UNKNOWN;

/** In a table. */
export const subjectWord = (subject: string | undefined) =>
  subject === undefined ? UNKNOWN : (subjectOf(subject)?.word ?? computationTitle(subject));

type KindWords = { label: string; unit: "%" | "SLOs"; about: string };

export const TRIGGER_KINDS: Record<TriggerKind, KindWords> = {
  capacity_change: {
    label: "Capacities changed",
    unit: "%",
    about: "The largest relative change of a capacity in the model since the last run.",
  },
  population_change: {
    label: "Populations changed",
    unit: "%",
    about:
      "Consumers that came or went since the last run, over those that were: in the model, or as measured where a system uses measured demand.",
  },
  demand_change: {
    label: "Demand changed",
    unit: "%",
    about:
      "The largest relative change since the last run of what publishers of a topic or consumers of a class want: as measured, where a system uses measured demand.",
  },
  slo_breach: {
    label: "SLOs missed",
    unit: "SLOs",
    about:
      "Objectives whose target held too seldom in the last 5 minutes, by what agents and consumers measure.",
  },
  budget_burn: {
    label: "An error budget burns",
    unit: "%",
    about:
      "The fastest burn rate of an objective; 100 % is the rate at which an alert fires. Page Service levels.",
  },
  load_drift: {
    label: "Load drifted",
    unit: "%",
    about:
      "The largest relative distance of a measured load from what the model predicts for what is in force.",
  },
  broker_overload: {
    label: "A broker near its capacity",
    unit: "%",
    about:
      "The load of the fullest broker by the traffic that agents measure; 100 % is its capacity.",
  },
  machine_load: {
    label: "A broker's machine near its limit",
    unit: "%",
    about: "The CPU or storage in use of the fullest broker, as its agent measures it over 15 s.",
  },
  routing_drift: {
    label: "Routing costs drifted",
    unit: "%",
    about:
      "How far the links that a published message crosses have moved since the last evaluation, as measured.",
  },
  filtering_drift: {
    label: "Filtering costs drifted",
    unit: "%",
    about:
      "By how much filtering costs receivers more per wanted message than by the last mapping, at the rates that agents measure.",
  },
};

export const valueText = (kind: TriggerKind, value: number | null | undefined) =>
  value === null || value === undefined
    ? UNKNOWN
    : TRIGGER_KINDS[kind].unit === "%"
      ? percentText(value, 1)
      : fixed(value);

/** How a trigger stands now, and how that is drawn. */
export function standing(row: Trigger): { state: string; word: string } {
  if (row.enabled === false) return { state: "paused", word: "Paused" };
  if (row.value === null) return { state: "pending", word: "Cannot say" };
  if (row.above_since !== null) return { state: "stale", word: "Above" };
  return { state: "live", word: "Below" };
}

const OUTCOMES: Record<string, string> = {
  computed: "Computed",
  drafted: "Draft made",
  submitted: "In review",
  approved: "Approved by policy",
  nothing: "Nothing to change",
  kept: "Another plan stands",
  stale: "Model moved meanwhile",
};

export const outcomeWord = (firing: Firing) =>
  firing.outcome === "" ? null : (OUTCOMES[firing.outcome] ?? firing.outcome);
