/** Several questions about one time, made one chart. */
import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useCallback } from "react";

import type { Line } from "./boards";
import { sumsQuery, type Range, type Sums } from "./sums";

export type Limit = { name: string; values: readonly (number | null)[] };

/** The lines of a chart, and what some of them should not pass, as it was in the course of time. */
export type Merged = Sums & { limits: readonly Limit[] };

/** The answers as one: their series under their names in the chart, those alone that measured
 * anything. Of answers about different times, which news bring one by one, the latest time counts. */
export function merged(answers: readonly Sums[], lines: readonly Line[]): Merged | null {
  const latest = answers.toSorted((a, b) => Date.parse(b.until) - Date.parse(a.until))[0];
  if (latest === undefined) return null;
  const placeOf = new Map(latest.steps.map((start, step) => [start, step]));
  const moved = <Value>(
    values: readonly Value[],
    steps: readonly string[],
    none: Value,
  ): Value[] => {
    const out = latest.steps.map(() => none);
    values.forEach((value, step) => {
      const place = placeOf.get(steps[step] ?? "");
      if (place !== undefined) out[place] = value;
    });
    return out;
  };
  const all = answers.flatMap(({ series: each, steps }, at) =>
    each.map(({ name, values, least, most }) => ({
      isLimit: lines[at]?.isLimit === true,
      name: lines[at]?.label(name) ?? name,
      values: moved((lines[at]?.greatest ? most : null) ?? values, steps, null),
      least: least && moved(least, steps, null),
      most: most && moved(most, steps, null),
    })),
  );
  const series = all
    .filter(({ isLimit }) => !isLimit)
    .map(({ name, values, least, most }) => ({ name, values, least, most }));
  const limits = all.filter(({ isLimit }) => isLimit).map(({ name, values }) => ({ name, values }));
  const minutes = answers
    .map((answer) => moved(answer.minutes, answer.steps, 0))
    .reduce((a, b) => a.map((value, step) => Math.max(value, b[step] ?? 0)));
  return { ...latest, by: "system", series, limits, minutes, left_out: 0 };
}

export function useMerged(system: string, range: Range, lines: readonly Line[]) {
  // What is the same as before stays the same object, so that nothing is drawn anew for nothing.
  const combine = useCallback(
    (queries: UseQueryResult<Sums>[]) => {
      const known = queries.flatMap(({ data }) => (data === undefined ? [] : [data]));
      const failed = queries.find(({ isError }) => isError);
      return {
        data: known.length === lines.length ? merged(known, lines) : undefined,
        leftOut: known.reduce((sum, answer) => sum + answer.left_out, 0),
        failed: failed && { error: failed.error, retry: () => void failed.refetch() },
        isStale: queries.some(({ isPlaceholderData }) => isPlaceholderData),
      };
    },
    [lines],
  );
  return useQueries({
    queries: lines.map(({ question }) => sumsQuery(system, { range, ...question })),
    combine,
  });
}
