/** How an answer grew over the seconds of its computing. */
import type { AllocationDetail } from "@/api/allocations";

export type CoursePoint = { at_s: number; best: number; bound?: number };
export type Course = { method: string; points: CoursePoint[] };

/** Below this a log axis of time would only show the clock's own grain. */
const LEAST_S = 1e-3;

/** Trace and bounds at the moments that the job told; none where it told none. */
export function courseOf(allocation: AllocationDetail): Course {
  const { trace, bounds, moments, method } = allocation;
  let best = -Infinity;
  let next = 0;
  const points = moments.map(([iteration = 0, at_s = 0]) => {
    for (; next < Math.min(iteration, trace.length); next += 1) {
      best = Math.max(best, trace[next] ?? -Infinity);
    }
    const bound = bounds[Math.min(iteration, bounds.length) - 1];
    return { at_s: Math.max(at_s, LEAST_S), best, ...(bound === undefined ? {} : { bound }) };
  });
  const last = points.at(-1);
  // What the run ended with, by the last digits that polishing added.
  if (last) last.best = Math.max(last.best, allocation.utility);
  return { method, points: points.filter((point) => Number.isFinite(point.best)) };
}

/** An answer this far below the best would press all the others into one line. */
const FAR = 0.9;

/** From the worst end to the lowest bound with room around: what lies below is cut off. */
export function axisAround(courses: readonly Course[]): [number, number] {
  const ends = courses.flatMap((course) => course.points.at(-1)?.best ?? []);
  const bounds = courses.flatMap((course) => course.points.at(-1)?.bound ?? []);
  const starts = courses.flatMap((course) => course.points[0]?.best ?? []);
  const top = Math.max(...ends, ...bounds);
  const near = ends.filter((end) => end >= FAR * top);
  const worst = Math.min(...(near.length > 1 ? near : ends));
  const early = Math.max(Math.min(...starts), FAR * top);
  const span = Math.max(top - worst, (top - early) * 0.25, Math.abs(top) * 1e-4);
  return [Math.max(0, worst - span * 0.6), top + span * 0.5];
}
