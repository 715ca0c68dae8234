/** What crosses all links over the last minutes, for a plan that moves links. */
import type { Point, Telemetry } from "@/api/telemetry";

type Sample = Pick<Telemetry, "at" | "links"> | Point;
type At = { at: number; value: number };

/** Agents measure about once a second, each at its own moment. */
const CELL_MS = 2000;

/** Stored points and what was heard since, each moment once. */
function joined(stored: readonly Sample[], heard: readonly Sample[]): Sample[] {
  const last = stored.at(-1)?.at ?? "";
  return [...stored, ...heard.filter(({ at }) => at > last)];
}

/** A broker that says nothing for longer is not counted on. */
const QUIET_CELLS = 4;

/**
 * Messages a second sent over all links, both directions. A moment counts when every broker that
 * measures has done so shortly before: a sum without one of them would look like a saving.
 */
export function onLinks(
  brokers: readonly { stored: readonly Sample[]; heard: readonly Sample[] }[],
): At[] {
  const told = brokers
    .map(({ stored, heard }) => cellsOf(joined(stored, heard)))
    .filter((own) => own.size > 0);
  const cells = [...new Set(told.flatMap((own) => [...own.keys()]))].sort((a, b) => a - b);
  const latest = told.map(() => ({ cell: -Infinity, sent: 0 }));
  return cells.flatMap((cell) => {
    told.forEach((own, index) => {
      const sent = own.get(cell);
      if (sent !== undefined) latest[index] = { cell, sent };
    });
    if (latest.some((known) => cell - known.cell > QUIET_CELLS)) return [];
    return [{ at: cell * CELL_MS, value: latest.reduce((sum, known) => sum + known.sent, 0) }];
  });
}

/** Means of what one broker sent, by cell of time. */
function cellsOf(samples: readonly Sample[]): Map<number, number> {
  const sums = new Map<number, { sent: number; count: number }>();
  for (const { at, links } of samples) {
    const cell = Math.floor(new Date(at).getTime() / CELL_MS);
    const known = sums.get(cell) ?? { sent: 0, count: 0 };
    const sent = Object.values(links).reduce((sum, link) => sum + (link.sent_per_s ?? 0), 0);
    sums.set(cell, { sent: known.sent + sent, count: known.count + 1 });
  }
  return new Map([...sums].map(([cell, { sent, count }]) => [cell, sent / count]));
}

export const since = (points: readonly At[], seconds: number): At[] => {
  const end = points.at(-1)?.at ?? 0;
  return points.filter(({ at }) => at >= end - seconds * 1000);
};
