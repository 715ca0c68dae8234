/** Several questions about one time, made one chart. */
import { useQueries } from "@tanstack/react-query";

import type { Line } from "./boards";
import { sumsQuery, type Range, type Sums } from "./sums";

/** The answers as one: their series under their names in the chart, those alone that measured
 * anything. Of answers about different times, which news bring one by one, the latest time counts. */
export function merged(answers: readonly Sums[], lines: readonly Line[]): Sums | null {
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
  const series = answers.flatMap(({ series: each, steps }, at) =>
    each.map(({ name, values, least, most }) => ({
      name: lines[at]?.label(name) ?? name,
      values: moved((lines[at]?.greatest ? most : null) ?? values, steps, null),
      least: least && moved(least, steps, null),
      most: most && moved(most, steps, null),
    })),
  );
  const minutes = answers
    .map((answer) => moved(answer.minutes, answer.steps, 0))
    .reduce((a, b) => a.map((value, step) => Math.max(value, b[step] ?? 0)));
  return { ...latest, by: "system", series, minutes, left_out: 0 };
}

export function useMerged(system: string, range: Range, lines: readonly Line[]) {
  const queries = useQueries({
    queries: lines.map(({ question }) => sumsQuery(system, { range, ...question })),
  });
  const answers = queries.map(({ data }) => data);
  const known = answers.filter((answer) => answer !== undefined);
  return {
    data: known.length === lines.length ? merged(known, lines) : undefined,
    leftOut: known.reduce((sum, answer) => sum + answer.left_out, 0),
    failed: queries.find(({ isError }) => isError),
    isStale: queries.some(({ isPlaceholderData }) => isPlaceholderData),
  };
}
