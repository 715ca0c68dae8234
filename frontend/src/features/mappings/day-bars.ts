/** Where quarters of an hour stand in the picture of a day. */
import type { Frame } from "./curve";

import type { FilteringCell } from "@/api/mappings";
import { axisTicks } from "@/lib/numbers";

const QUARTER_MS = 15 * 60_000;
const HOUR_MS = 60 * 60_000;
/** The day ends with the latest quarter, or now where that is long ago. */
const QUARTERS = 96;
const EVERY_HOURS = 3;
/** Between two bars, and between the parts of one. */
const GAP = 1;
/** A name of an hour has so much room on each side. */
const NAME_ROOM = 22;

type Part = { y: number; height: number };

/** Bars of the cells, the two layers one above the other, with the ticks of both axes. */
export function dayBars(
  cells: readonly FilteringCell[],
  { left, right, top, bottom }: Frame,
  now = new Date(),
) {
  const end = (Math.floor(now.getTime() / QUARTER_MS) + 1) * QUARTER_MS;
  const begin = end - QUARTERS * QUARTER_MS;
  const quarter = (right - left) / QUARTERS;
  const x = (ms: number) => left + ((ms - begin) / QUARTER_MS) * quarter;
  const dearest = Math.max(...cells.map(({ cost }) => cost), 0);
  const ticks = axisTicks(0, dearest > 0 ? dearest : 1, 3);
  const high = Math.max(dearest, ticks.at(-1) ?? 0) || 1;
  const heightOf = (cost: number) => (cost / high) * (bottom - top);
  const hours: { at: string; x: number }[] = [];
  const first = new Date(begin);
  first.setUTCMinutes(0, 0, 0);
  for (let ms = first.getTime(); ms < end; ms += HOUR_MS) {
    const at = new Date(ms);
    const isRoomy = x(ms) >= left + NAME_ROOM && x(ms) <= right - NAME_ROOM;
    if (at.getUTCHours() % EVERY_HOURS === 0 && isRoomy)
      hours.push({ at: at.toISOString(), x: x(ms) });
  }
  return {
    ticks: ticks.map((cost) => ({ cost, y: bottom - heightOf(cost) })),
    hours,
    bars: cells
      .map((cell) => ({ cell, ms: Date.parse(cell.at) }))
      .filter(({ ms }) => ms >= begin && ms < end)
      .map(({ cell, ms }) => {
        const low = heightOf(cell.transport_cost);
        const gap = low > GAP ? GAP : 0;
        const high = Math.max(0, heightOf(cell.messaging_cost) - gap);
        const transport: Part = { y: bottom - low, height: low };
        const messaging: Part = { y: bottom - low - gap - high, height: high };
        return { cell, x: x(ms), width: Math.max(1, quarter - GAP), transport, messaging };
      }),
  };
}
