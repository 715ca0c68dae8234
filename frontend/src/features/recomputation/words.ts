/** The words of recomputation: what triggers watch, what happens then, what became of it. */
import { subjectOf } from "./rule-draft";

import type { AutomaticDecision, Automation } from "@/api/automation";
import type { Firing, Then, Trigger, TriggerKind } from "@/api/recomputation";
import type { Option } from "@/components/ui/fields";
import type { IconName } from "@/components/ui/icons";
import type { Tone } from "@/components/ui/state-badge";
import { computationTitle } from "@/lib/computations";
import { fixed, percentText, UNKNOWN } from "@/lib/numbers";

export const THENS: readonly Option[] = [
  { value: "none", label: "Compute only" },
  { value: "draft", label: "Make a draft plan" },
  { value: "submit", label: "Make a plan and submit it" },
  { value: "execute", label: "Make a plan, and carry it out within the policy's bounds" },
];

/** In a table. */
export const thenWord = (then: Then | undefined) =>
  then === "execute"
    ? "Carry out within bounds"
    : (THENS.find((option) => option.value === then)?.label ?? UNKNOWN);

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

type Drawn = { tone: Tone; icon: IconName; word: string };

const ENDS: Record<Exclude<AutomaticDecision["end"], "">, Drawn> = {
  went_well: { tone: "good", icon: "check", word: "As promised" },
  unknown: { tone: "idle", icon: "check", word: "Carried out" },
  taken_back: { tone: "warn", icon: "back", word: "Taken back" },
  given_up: { tone: "idle", icon: "ban", word: "Given up" },
};

/** What was decided about a plan that Weir may carry out, and what became of it. */
export function decisionStanding(row: AutomaticDecision): Drawn {
  if (row.choice === "leave") return { tone: "idle", icon: "user", word: "Left to people" };
  if (row.choice === "would_execute") return { tone: "idle", icon: "play", word: "Would begin" };
  if (row.end !== "") return ENDS[row.end];
  if (row.waits_because !== "") return { tone: "waits", icon: "hourglass", word: "Waits" };
  if (row.roll_back !== null) return { tone: "warn", icon: "back", word: "Taking it back" };
  if (row.began_at === null) return { tone: "waits", icon: "hourglass", word: "Begins" };
  const measured = row.plan_state === "executed";
  return { tone: "active", icon: "progress", word: measured ? "Being measured" : "Executing" };
}

/** What there is to know of it beside that. */
export const decisionNews = (row: AutomaticDecision): string =>
  row.ended_because || row.waits_because || row.roll_back_because;

export const MODES: Record<Automation["auto_execute"], string> = {
  off: "Off",
  dry: "Dry run",
  on: "On",
};
