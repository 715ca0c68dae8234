/** The step that runs now, as the map draws it: every action that has begun and how far it is. */
import { phaseText } from "./phases";
import { moveOf } from "./step-view";

import type { Execution, ExecutionAction } from "@/api/plans";
import type { Running } from "@/components/map/overlay-player";
import type { UnderWay } from "@/components/map/under-way";

/** Where a link is drawn: it leaves its old end when all are ready, and arrives when all have switched. */
const SHARES: Partial<Record<ExecutionAction["state"], number>> = {
  preparing: 0.15,
  committed: 0.6,
  aborting: 0.05,
  done: 1,
};

/** Null while no step runs; `stop` is the one that stands, and is left for the next or the last. */
export function runningOf(execution: Execution | undefined, stop: number): Running | null {
  const step = execution?.steps.find(({ state }) => ["in_progress", "aborting"].includes(state));
  if (!step) return null;
  const actions = step.actions.flatMap((action): UnderWay[] => {
    const [move, share] = [moveOf(action), SHARES[action.state]];
    if (move === null || share === undefined) return [];
    // Words of what is done tell a time, which would be another one with every look.
    const words = share === 1 ? "" : phaseText(action, new Date(0));
    return [{ move, share, words, waits: share === 1 ? [] : action.waiting_for }];
  });
  return actions.length === 0
    ? null
    : { toward: step.direction === "undo" ? Math.max(0, stop - 1) : stop + 1, actions };
}
