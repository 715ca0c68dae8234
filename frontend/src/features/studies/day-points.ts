/** The answers of a day by method and segment, and what the whole day comes to. */
import { along } from "./points";
import type { ScheduleSpec } from "./spec";

import type { StudyPoint } from "@/api/studies";

export type Day = {
  spec: ScheduleSpec;
  methods: readonly string[];
  points: readonly StudyPoint[];
  name: string;
  running: boolean;
};

/** One point per segment, in the order of the day; null where it is not solved yet. */
export function bySegment(day: Day, method: string): (StudyPoint | null)[] {
  const found = along(day.points, method);
  return day.spec.segments.map(
    (_, index) => found.find((point) => point.coordinates[0] === index) ?? null,
  );
}

/** Start and end of each segment in hours since the day began. */
export function hoursOf(spec: ScheduleSpec): { from: number; to: number }[] {
  let from = 0;
  return spec.segments.map((segment) => {
    const span = { from, to: from + segment.duration_s / 3600 };
    from = span.to;
    return span;
  });
}

/** Per segment the lowest bound that any method proved; without one the best answer there is. */
export function targets(day: Day): (number | null)[] {
  const lines = day.methods.map((method) => bySegment(day, method));
  return day.spec.segments.map((_, index) => {
    const here = lines.flatMap((line) => line[index] ?? []);
    const bounds = here.flatMap((point) => (point.upper_bound === null ? [] : [point.upper_bound]));
    const found = here.flatMap((point) => (point.utility === null ? [] : [point.utility]));
    if (bounds.length > 0) return Math.min(...bounds);
    return found.length > 0 ? Math.max(...found) : null;
  });
}

/** Percent that an answer falls short of the target; null where either is unknown. */
export function shortfall(point: StudyPoint | null, target: number | null): number | null {
  if (point?.utility === null || point?.utility === undefined || target === null || target === 0)
    return null;
  return Math.max(0, ((target - point.utility) / Math.abs(target)) * 100);
}

export type DayTotal = {
  method: string;
  /** Mean over time of the utility; null while a segment has no answer. */
  utility: number | null;
  /** Worst percent short of the target. */
  worst: number | null;
  moved: number;
  runtime: number;
  solved: number;
};

export function dayTotals(day: Day): DayTotal[] {
  const aims = targets(day);
  const length = day.spec.segments.reduce((sum, segment) => sum + segment.duration_s, 0);
  return day.methods.map((method) => {
    const line = bySegment(day, method);
    const solved = line.filter((point) => point !== null && point.utility !== null).length;
    const sum = line.reduce(
      (total, point, index) =>
        total + (point?.utility ?? 0) * (day.spec.segments[index]?.duration_s ?? 0),
      0,
    );
    const short = line.flatMap((point, index) => shortfall(point, aims[index] ?? null) ?? []);
    return {
      method,
      utility: solved === line.length && length > 0 ? sum / length : null,
      worst: short.length > 0 ? Math.max(...short) : null,
      moved: line.reduce((total, point) => total + (point?.moved ?? 0), 0),
      runtime: line.reduce((total, point) => total + (point?.runtime_s ?? 0), 0),
      solved,
    };
  });
}
