/** A day in segments, as the form edits it, and the groups of classes that it counts by. */
import type { FieldError, Group, Segment } from "./spec";

import { readNumber } from "@/lib/parameters";

/** The day of the paper (its figure 5), in percent of the populations at its start. */
const TRADING_DAY: readonly (readonly [string, number, number, number])[] = [
  ["Start of day", 100, 100, 100],
  ["Coffee break", 10, 25, 100],
  ["After coffee break", 100, 100, 100],
  ["Lunch", 0, 5, 100],
  ["After lunch", 100, 100, 100],
  ["End of day", 0, 0, 100],
];

export type SegmentDraft = { label: string; minutes: string; percent: Record<string, string> };

/** The paper's day for these groups, dearest first: the first is gold, the last bronze. */
export const tradingDay = (groups: readonly string[]): SegmentDraft[] =>
  TRADING_DAY.map(([label, gold, silver, bronze]) => ({
    label,
    minutes: "60",
    percent: Object.fromEntries(
      groups.map((name, index) => [
        name,
        String(index === 0 ? gold : index === groups.length - 1 ? bronze : silver),
      ]),
    ),
  }));

export function readSegments(
  drafts: readonly SegmentDraft[],
  groups: readonly string[],
): { segments: Segment[]; errors: FieldError[] } {
  const errors: FieldError[] = [];
  const segments = drafts.map((draft, index) => {
    const at = `segments[${index}]`;
    const minutes = readNumber(draft.minutes) ?? NaN;
    if (draft.label.trim() === "") errors.push({ field: `${at}.label`, message: "Give a name." });
    if (!(minutes > 0)) errors.push({ field: `${at}.minutes`, message: "Above 0 minutes." });
    const percent: Record<string, number> = {};
    for (const name of groups) {
      const value = readNumber(draft.percent[name] ?? "100") ?? NaN;
      if (!(value >= 0)) {
        errors.push({ field: `${at}.percent.${name}`, message: "A percentage, 0 or more." });
      }
      percent[name] = value;
    }
    return { label: draft.label.trim(), duration_s: minutes * 60, percent };
  });
  return { segments, errors };
}

type ClassRow = {
  name: string;
  topic_name: string | null;
  broker_name: string | null;
  utility_name: string | null;
};

export type Grouping = "utility_name" | "topic_name" | "broker_name";

/** Classes counted together, the group with most classes last where nothing else decides. */
export function groupClasses(rows: readonly ClassRow[], by: Grouping): Group[] {
  const groups = new Map<string, string[]>();
  for (const row of rows) {
    const name = row[by] ?? "without";
    groups.set(name, [...(groups.get(name) ?? []), row.name]);
  }
  return [...groups].map(([name, classes]) => ({ name, classes }));
}
