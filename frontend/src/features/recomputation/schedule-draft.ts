/** A schedule as it is typed: numbers stay text until they are saved. */
import type { Schedule, ScheduleBody, Subject, Then, Timing } from "@/api/recomputation";
import { parseNumber } from "@/components/ui/fields";
import type { FieldProblem } from "@/lib/problem";

export type ScheduleDraft = {
  name: string;
  clock: "interval" | "cron";
  count: string;
  unit: string;
  cron: string;
  timezone: string;
  subject: Subject;
  method: string;
  benefit: string;
  limit: string;
  then: string;
  enabled: boolean;
  takeOver: boolean;
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
    name: row?.name ?? "",
    clock: row?.cron ? "cron" : "interval",
    count: every === null ? "1" : String(every / Number(unit)),
    unit,
    cron: row?.cron ?? "",
    timezone: row?.timezone ?? "UTC",
    subject: row?.subject ?? "allocation",
    method: row?.method ?? "",
    benefit: String(row?.least_benefit ?? 0),
    limit:
      row?.time_limit_s === null || row?.time_limit_s === undefined ? "" : String(row.time_limit_s),
    then: row?.then ?? "draft",
    enabled: row?.enabled ?? true,
    takeOver: false,
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

export function limitOf(text: string): { limit: number | null } | { errors: FieldProblem[] } {
  const limit = parseNumber(text);
  return limit === undefined
    ? { errors: [{ field: "time_limit_s", message: "A number is needed here." }] }
    : { limit };
}

/** What is asked of overlays alone; allocations have no net benefit, so 0 takes back what was set. */
export function benefitOf(draft: {
  subject: Subject;
  benefit: string;
}): { benefit: { least_benefit: number } } | { errors: FieldProblem[] } {
  if (draft.subject !== "overlay") return { benefit: { least_benefit: 0 } };
  const value = parseNumber(draft.benefit);
  return value === undefined || value === null
    ? { errors: [{ field: "least_benefit", message: "A number is needed here." }] }
    : { benefit: { least_benefit: value } };
}

export function scheduleBody(
  draft: ScheduleDraft,
): { body: ScheduleBody } | { errors: FieldProblem[] } {
  const timing = timingOf(draft);
  if (timing === null) {
    const field = draft.clock === "cron" ? "cron" : "every_s";
    const message =
      draft.clock === "cron" ? "A cron expression is needed here." : "A number is needed here.";
    return { errors: [{ field, message }] };
  }
  const limit = limitOf(draft.limit);
  if ("errors" in limit) return limit;
  const benefit = benefitOf(draft);
  if ("errors" in benefit) return benefit;
  return {
    body: {
      name: draft.name.trim(),
      enabled: draft.enabled,
      subject: draft.subject,
      method: draft.method,
      ...benefit.benefit,
      time_limit_s: limit.limit,
      then: draft.then as Then,
      ...timing,
      ...(draft.takeOver ? { take_over: true } : {}),
    },
  };
}
