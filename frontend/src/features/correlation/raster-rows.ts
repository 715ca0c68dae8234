/** Moments of an example as a raster draws them: which of them are part of a burst. */
import type { Example } from "@/api/correlation";

export type RasterRow = { publisher: string; together: number[]; apart: number[] };
export type Raster = { rows: RasterRow[]; bursts: number[] };

/** Whether a moment of `sorted` lies within `within_s` of `at`. */
function isNear(sorted: readonly number[], at: number, within_s: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < at - within_s) low = middle + 1;
    else high = middle;
  }
  const next = sorted[low];
  return next !== undefined && next <= at + within_s;
}

/** Seconds since the example began. A burst is a moment of the leader, who is the first row, at which at
 * least half of the rows, and another one, sent; a moment is part of it within `within_s`. */
export function rasterOf({ since_s: since, rows }: Example, within_s: number): Raster {
  const timed = rows.map(({ publisher, at_s: times }) => ({
    publisher,
    times: times.map((at) => at - since).sort((a, b) => a - b),
  }));
  // Times of day in seconds leave less than a microsecond: what is on the border is inside.
  const reach = within_s + 1e-6;
  const bursts = (timed[0]?.times ?? []).filter((at) => {
    const sent = timed.filter(({ times }) => isNear(times, at, reach)).length;
    return sent > 1 && sent * 2 >= timed.length;
  });
  return {
    bursts,
    rows: timed.map(({ publisher, times }) => ({
      publisher,
      together: times.filter((at) => isNear(bursts, at, reach)),
      apart: times.filter((at) => !isNear(bursts, at, reach)),
    })),
  };
}
