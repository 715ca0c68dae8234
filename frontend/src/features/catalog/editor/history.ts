/** Undo and redo: a line of drafts and where one stands on it. Pure, so that it is easily tested. */
import type { UtilityDraft } from "@/features/catalog/spec";

export type History = {
  past: readonly UtilityDraft[];
  present: UtilityDraft;
  future: readonly UtilityDraft[];
  /** What the last change was made with: a drag or a word typed is one step, not fifty. */
  mark: string | null;
};

const MOST_STEPS = 200;

export const begin = (present: UtilityDraft): History => ({
  past: [],
  present,
  future: [],
  mark: null,
});

export const same = (a: UtilityDraft, b: UtilityDraft): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** A change; one with the mark of the change before it continues that one. */
export function change(history: History, next: UtilityDraft, mark: string | null): History {
  if (same(history.present, next)) return history;
  const continues = mark !== null && mark === history.mark && history.past.length > 0;
  return {
    past: continues ? history.past : [...history.past, history.present].slice(-MOST_STEPS),
    present: next,
    future: [],
    mark,
  };
}

/** The gesture is over: the next change is a step of its own. */
export const settle = (history: History): History =>
  history.mark === null ? history : { ...history, mark: null };

export function undo(history: History): History {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  return {
    past: history.past.slice(0, -1),
    present: before,
    future: [history.present, ...history.future],
    mark: null,
  };
}

export function redo(history: History): History {
  const [after, ...rest] = history.future;
  if (after === undefined) return history;
  return {
    past: [...history.past, history.present],
    present: after,
    future: rest,
    mark: null,
  };
}
