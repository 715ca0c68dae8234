/** The four phases of an action, prepare, commit, switch, done, as its state says them. */
import type { Execution, ExecutionAction, ExecutionStep, PlanDetail } from "@/api/plans";
import { durationText } from "@/lib/numbers";

export const PHASES = ["prepare", "commit", "switch", "done"] as const;

/** done, active, waiting, broken off, dead. */
export type Segment = "d" | "a" | "w" | "x" | "k";

export const SEGMENT_WORDS: Record<Segment, string> = {
  d: "done",
  a: "running",
  w: "waiting",
  x: "broken off",
  k: "dead",
};

export function segmentsOf(state: ExecutionAction["state"]): Segment[] {
  switch (state) {
    case "pending":
      return ["w", "w", "w", "w"];
    case "preparing":
      return ["a", "w", "w", "w"];
    case "committed":
      return ["d", "d", "a", "w"];
    case "done":
      return ["d", "d", "d", "d"];
    case "aborting":
    case "aborted":
      return ["x", "w", "w", "w"];
    case "dead":
      return ["d", "d", "k", "w"];
  }
}

const secondsBetween = (from: string, to: string | Date) =>
  Math.max(0, (new Date(to).getTime() - new Date(from).getTime()) / 1000);

export function tookText(from: string | null, to: string | null, now: Date): string {
  if (from === null) return "";
  const { text, unit } = durationText(secondsBetween(from, to ?? now));
  return `${text} ${unit}`;
}

const isTree = (action: ExecutionAction) => !action.kind.startsWith("set_");
const isMove = (action: ExecutionAction) => action.kind.startsWith("move_");

const names = (brokers: readonly string[]) =>
  brokers.length <= 3
    ? brokers.join(", ")
    : `${brokers.slice(0, 3).join(", ")} and ${brokers.length - 3} more`;

/** What is happening to an action now, in a few words. */
export function phaseText(action: ExecutionAction, now: Date): string {
  const waits = action.waiting_for.length > 0 ? `waits for ${names(action.waiting_for)}` : "";
  switch (action.state) {
    case "pending":
      return waits || "waits for its turn";
    case "preparing":
      return waits || (isTree(action) ? "draining" : "setting");
    case "committed":
      return waits || (isTree(action) ? "switching routes" : "taking effect");
    case "done":
      return tookText(action.started_at, action.ended_at, now);
    case "aborting":
      return waits || "putting back what was";
    case "aborted":
      return "left as it was";
    case "dead":
      if (isMove(action))
        return waits ? `not followed: ${names(action.waiting_for)}` : "not followed";
      return waits ? `never answered: ${names(action.waiting_for)}` : "never answered";
  }
}

export const stepName = (step: ExecutionStep, position: number) =>
  step.direction === "undo" ? `Roll back ${position + 1}` : `Step ${position + 1}`;

/** The step that runs, or the next that would; null when none is left. */
export function currentStep(execution: Execution): { step: ExecutionStep; name: string } | null {
  for (const direction of ["undo", "forward"] as const) {
    const steps = execution.steps.filter((step) => step.direction === direction);
    const position = steps.findIndex((step) => ["in_progress", "aborting"].includes(step.state));
    const step = steps[position];
    if (step) return { step, name: stepName(step, position) };
  }
  const steps = execution.steps.filter((step) => step.direction === "forward");
  const position = steps.findIndex((step) => step.state === "pending");
  const step = steps[position];
  return step ? { step, name: stepName(step, position) } : null;
}

const RUNS: readonly ExecutionStep["state"][] = ["in_progress", "aborting"];

const forwardOf = (execution: Execution) =>
  execution.steps.filter(({ direction }) => direction === "forward");

/** Seconds until the next step may begin; 0 while one runs or none is left. */
export function pauseLeft(execution: Execution, now: Date): number {
  const steps = forwardOf(execution);
  const last = steps
    .flatMap(({ ended_at: at }) => at ?? [])
    .sort()
    .at(-1);
  const waits = steps.some(({ state }) => state === "pending");
  const runs = steps.some(({ state }) => RUNS.includes(state));
  if (execution.state !== "running" || !waits || runs || last === undefined) return 0;
  return Math.max(0, execution.pace_s - secondsBetween(last, now));
}

/**
 * Seconds left: the work that is left at the pace of what is done, and the pauses before the steps
 * that are to come. Null until something is done.
 */
export function secondsLeft(execution: Execution, now: Date): number | null {
  const { actions_done: done, actions_total: total, pace_s: pace } = execution;
  if (execution.state !== "running" || done === 0 || done >= total) return null;
  const steps = forwardOf(execution);
  const worked = steps.reduce(
    (sum, { started_at: began, ended_at: ended }) =>
      began === null ? sum : sum + secondsBetween(began, ended ?? now),
    0,
  );
  const waiting = steps.filter(({ state }) => state === "pending").length;
  const runs = steps.some(({ state }) => RUNS.includes(state));
  const pauses = runs
    ? waiting * pace
    : Math.max(0, waiting - 1) * pace + pauseLeft(execution, now);
  return (worked / done) * (total - done) + pauses;
}

export type Headway = {
  done: number;
  total: number;
  /** Whether what is counted is taken back. */
  back: boolean;
  /** 0 to 1, of the way to where the execution ends; it never falls. */
  share: number;
};

/**
 * How far an execution is, by what is in effect: actions that brokers have confirmed, and once it is
 * rolled back those of them that are taken back. A rollback goes on where the way forward ended.
 */
export function headwayOf(
  counts: Pick<Execution, "actions_done" | "actions_total" | "actions_to_undo" | "actions_undone">,
): Headway {
  const { actions_done: done, actions_total: total } = counts;
  const { actions_undone: undone, actions_to_undo: undo } = counts;
  const there = total > 0 ? done / total : 0;
  if (undo === 0) return { done, total, back: false, share: there };
  return { done: undone, total: undo, back: true, share: there + (1 - there) * (undone / undo) };
}

/** Completed actions, last first: what a rollback takes back. */
export function undoable(
  execution: Execution,
): { key: string; step: number; action: ExecutionAction; index: number }[] {
  const undone = execution.steps.filter(
    (step) => step.direction === "undo" && step.state === "completed",
  ).length;
  const forward = execution.steps.filter((step) => step.direction === "forward");
  const all = forward.flatMap((step, position) =>
    step.actions
      .map((action, index) => ({ key: action.id, step: position, action, index }))
      .filter(({ action }) => ["done", "committed"].includes(action.state)),
  );
  const reversed = all.reverse();
  if (undone === 0) return reversed;
  const steps = [...new Set(reversed.map((entry) => entry.step))].slice(undone);
  return reversed.filter((entry) => steps.includes(entry.step));
}

export const longestPause = (execution: Execution): number | null => {
  const pauses = execution.steps.flatMap((step) =>
    step.actions.flatMap((action) => (action.pause_s === null ? [] : [action.pause_s])),
  );
  return pauses.length > 0 ? Math.max(...pauses) : null;
};

/** Seconds that a link which moves was promised to pause at most; null: this plan promises none. */
export const promisedPause = (plan: Pick<PlanDetail, "promise">): number | null =>
  plan.promise.find(({ name }) => name === "longest pause")?.after ?? null;
