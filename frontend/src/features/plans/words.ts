/** Words of plans and executions: one place, so that a button and the history say the same. */
import type { Execution, Plan } from "@/api/plans";
import type { IconName } from "@/components/ui/icons";
import { MINUS } from "@/lib/numbers";
import { capital, plainWords } from "@/lib/words";

/** What a row of the before-and-after table changes, by kind of action and unit. */
export function changeWord(kind: string, unit: string): string {
  if (kind === "set_flow_rate") return unit === "msg" ? "Burst" : "Flow rate";
  if (kind === "set_bucket") {
    return { "msg/s": "Token rate", msg: "Bucket" }[unit] ?? "Enforced or counted";
  }
  if (kind === "adapt_parts") return "Adaptation of parts";
  if (kind === "assign_publishers") return "Publishers let in";
  if (kind === "set_population") return "Consumers admitted";
  if (kind === "carry_flow") return "Flows carried";
  if (kind === "serve_class") return "Classes served";
  if (kind === "move_flow") return "Flows moved";
  if (kind === "move_stream") return "Streams moved";
  if (unit === "link") return "Links";
  return capital(plainWords(kind));
}

const BESIDE_RUNNING: readonly Execution["state"][] = [
  "pausing",
  "paused",
  "stopping",
  "rolling_back",
];

/** The state that people read: a plan that is executed and does not go on says what it does. */
export function stateShown(
  plan: Pick<Plan, "state" | "execution">,
  execution: Pick<Execution, "state"> | null = plan.execution,
): string {
  if (plan.state !== "executing" || execution === null) return plan.state;
  return BESIDE_RUNNING.includes(execution.state) ? execution.state : plan.state;
}

export const EVENT_ICONS: Record<string, IconName> = {
  create: "plan",
  submit: "send",
  withdraw: "back",
  approve: "check",
  reject: "x",
  lapse: "clockx",
  execute: "play",
  finish: "check",
  break_off: "alert",
  go_stale: "clockx",
  supersede: "versions",
  discard: "trash",
  accept_overload: "alert",
  dry_run: "play",
  pause: "pause",
  resume: "play",
  stop: "stop",
  roll_back: "back",
};

/** Green where something was agreed or reached, amber where something was lost. */
export const eventTone = (command: string): "good" | "warn" | "bad" | "" =>
  ["approve", "finish"].includes(command)
    ? "good"
    : ["go_stale", "break_off", "lapse", "roll_back", "accept_overload"].includes(command)
      ? "warn"
      : command === "reject"
        ? "bad"
        : "";

/** Titles come from the kernel with plain hyphens for minus. */
export const plain = (title: string) => title.replaceAll(/(^|\s)-(?=\d)/g, `$1${MINUS}`);
