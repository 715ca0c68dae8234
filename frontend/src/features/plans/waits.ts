/** Who an action under way waits for, since when, and what each broker has said. */
import type { ExecutionAction } from "@/api/plans";
import { durationText, fixed } from "@/lib/numbers";

const SAID: Record<ExecutionAction["answers"][number]["phase"], string> = {
  ready: "voted",
  refused: "refused",
  switched: "switched",
  released: "went back",
};

/** Shorter waits are how it goes; a longer one is said, with how long it has lasted. */
const WORTH_SAYING_S = 3;

const listed = (names: readonly string[]) =>
  names.length < 2
    ? names.join("")
    : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1] ?? ""}`;

/** One sentence about an action that waits; empty where there is nothing to say. */
export function waitText(action: ExecutionAction, now: Date): string {
  if (action.waiting_for.length === 0 || action.moved_at === null) return "";
  const waited = (now.getTime() - new Date(action.moved_at).getTime()) / 1000;
  if (waited < WORTH_SAYING_S && action.state !== "dead") return "";
  const waits = `Waits for ${listed(action.waiting_for)} for ${lastedText(waited)}${saidText(action)}.`;
  return [waits, endText(action, now)].filter(Boolean).join(" ");
}

/** What Weir itself does about the wait, and when: a person need not decide before. */
function endText(action: ExecutionAction, now: Date): string {
  if (action.deadline_at === null) return "";
  const left = (new Date(action.deadline_at).getTime() - now.getTime()) / 1000;
  if (left <= 0) return "";
  if (action.state === "preparing")
    return `Weir itself calls it off in ${lastedText(left)} at the latest.`;
  if (action.state !== "committed") return "";
  if (action.kind.startsWith("move_"))
    return `Weir itself stops waiting in ${lastedText(left)}; the map stays as it is.`;
  const are = action.waiting_for.length === 1 ? "is" : "are";
  return `Weir itself stops waiting in ${lastedText(left)} if ${listed(action.waiting_for)} ${are} silent then.`;
}

/** Whole seconds, so that a wait that is watched does not flicker. */
function lastedText(seconds: number): string {
  if (seconds < 60) return `${fixed(Math.max(0, Math.floor(seconds)))} s`;
  const { text, unit } = durationText(seconds);
  return `${text} ${unit}`;
}

/** What those have said who have answered, such as "; S1 and S2 voted". */
function saidText(action: ExecutionAction): string {
  const last = new Map(action.answers.map((answer) => [answer.broker, answer]));
  const phases = new Map<string, string[]>();
  for (const { broker, phase, by_hand: byHand } of last.values()) {
    const said = byHand ? `${SAID[phase]} by hand` : SAID[phase];
    phases.set(said, [...(phases.get(said) ?? []), broker]);
  }
  return [...phases].map(([said, brokers]) => `; ${listed(brokers)} ${said}`).join("");
}
