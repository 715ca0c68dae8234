/** Rows of the before-and-after table: one group per quantity, the largest change of each first. */
import { changeWord } from "./words";

import type { PlanChange } from "@/api/plans";
import { natural } from "@/components/map/places";

export type ChangeRow = {
  key: string;
  label: string;
  unit: string;
  before: number | null;
  after: number | null;
  /** Position of the step; null where nothing changes. */
  step: number | null;
  reason: string;
  /** What is no number, such as where a flow enters, or nothing to limit: before and after in words. */
  was?: string;
  becomes?: string;
  /** What is measured now of what is limited; null where it is not. */
  measured?: number | null;
};

/** A number of the proposal that is in force already. */
export type Kept = { kind: string; label: string; unit: string; value: number };

export type ChangeGroup = { key: string; word: string; unit: string; rows: ChangeRow[] };

/** What is not limited before or after changes without end, so it comes first. */
const sizeOf = (row: ChangeRow): number => {
  if (row.step === null) return -1;
  return row.before === null || row.after === null ? Infinity : Math.abs(row.after - row.before);
};

/** What is no number before and none after. */
export const inWords = (row: ChangeRow): boolean =>
  row.before === null && row.after === null && Boolean(row.was || row.becomes);

const ORDER = ["link", "msg/s", "consumers", "msg"];
const rank = (unit: string) => {
  const at = ORDER.indexOf(unit);
  return at === -1 ? ORDER.length : at;
};

export function changeRows(changes: readonly PlanChange[], kept: readonly Kept[]): ChangeGroup[] {
  const groups = new Map<string, ChangeGroup>();
  const put = (kind: string, unit: string, row: ChangeRow) => {
    // Every way to move links changes the same thing: where they are.
    const key = unit === "link" ? "link" : `${kind} ${unit}`;
    const group = groups.get(key) ?? { key, word: changeWord(kind, unit), unit, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  };
  changes.forEach((change, index) =>
    put(change.kind, change.unit, {
      key: `${index}`,
      // "gold@b1 at b1" says twice where it is.
      label: change.label.replace(/@(\S+) at \1$/, "@$1"),
      unit: change.unit,
      before: change.before,
      after: change.after,
      step: change.step,
      reason: change.reason,
      ...(change.was ? { was: change.was } : {}),
      ...(change.becomes ? { becomes: change.becomes } : {}),
      ...(change.measured === null ? {} : { measured: change.measured }),
    }),
  );
  kept.forEach(({ kind, unit, label, value }, index) =>
    put(kind, unit, {
      key: `kept ${index}`,
      label,
      unit,
      before: value,
      after: value,
      step: null,
      reason: "",
    }),
  );
  for (const group of groups.values()) {
    // Words have no size: what comes first is first. Links stand as they are moved.
    const inOrder = group.unit === "link" || group.rows.every(inWords);
    group.rows.sort(
      (a, b) =>
        (inOrder ? (a.step ?? 0) - (b.step ?? 0) : 0) ||
        (sizeOf(b) === sizeOf(a) ? 0 : sizeOf(b) - sizeOf(a)) ||
        natural(a.label, b.label),
    );
  }
  return [...groups.values()].sort((a, b) => rank(a.unit) - rank(b.unit));
}
