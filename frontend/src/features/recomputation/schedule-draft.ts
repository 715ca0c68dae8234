/** A schedule as it is typed. */
import { ruleBody, ruleDraft, type RuleDraft } from "./rule-draft";

import type { Schedule, ScheduleBody, Timing } from "@/api/recomputation";
import { parseNumber } from "@/components/ui/fields";
import type { FieldProblem } from "@/lib/problem";

export type ScheduleDraft = RuleDraft & {
  clock: "interval" | "cron";
  count: string;
  unit: string;
  cron: string;
  timezone: string;
};

export const UNITS = [
  { value: "1", label: "seconds" },
  { value: "60", label: "minutes" },
  { value: "3600", label: "hours" },
  { value: "86400", label: "days" },
];

export const PRESETS: readonly { label: string; set: Partial<ScheduleDraft> }[] = [
  { label: "Every 5 minutes", set: { clock: "interval", count: "5", unit: "60" } },
  { label: "Every hour", set: { clock: "interval", count: "1", unit: "3600" } },
  { label: "Every night", set: { clock: "cron", cron: "0 2 * * *" } },
  { label: "Working days, 06:00", set: { clock: "cron", cron: "0 6 * * 1-5" } },
];

const largestUnit = (seconds: number) =>
  [...UNITS].reverse().find((unit) => seconds % Number(unit.value) === 0)?.value ?? "1";

export function scheduleDraft(row: Schedule | null): ScheduleDraft {
  const every = row?.every_s ?? null;
  const unit = every === null ? "3600" : largestUnit(every);
  return {
    ...ruleDraft(row),
    clock: row?.cron ? "cron" : "interval",
    count: every === null ? "1" : String(every / Number(unit)),
    unit,
    cron: row?.cron ?? "",
    timezone: row?.timezone ?? "UTC",
  };
}

/** When it would fire; null while that is not typed yet. */
export function timingOf(draft: ScheduleDraft): Timing | null {
  const timezone = draft.timezone.trim() || "UTC";
  if (draft.clock === "cron") {
    const cron = draft.cron.trim();
    return cron === "" ? null : { every_s: null, cron, timezone };
  }
  const count = parseNumber(draft.count);
  if (count === null || count === undefined) return null;
  const seconds = Math.round(count * Number(draft.unit));
  return seconds > 0 ? { every_s: seconds, cron: "", timezone } : null;
}

export function scheduleBody(
  draft: ScheduleDraft,
): { body: ScheduleBody } | { errors: FieldProblem[] } {
  const errors: FieldProblem[] = [];
  const timing = timingOf(draft);
  if (timing === null) {
    errors.push(
      draft.clock === "cron"
        ? { field: "cron", message: "A cron expression is needed here." }
        : { field: "every_s", message: "A number is needed here." },
    );
  }
  const body = { ...ruleBody(draft, errors), ...timing };
  return errors.length > 0 ? { errors } : { body };
}
