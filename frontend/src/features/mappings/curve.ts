/** Where cost against moves is drawn. */
import { movesOf } from "./use-chosen-map";

import type { MapPoint } from "@/api/mappings";
import { decimalsOf } from "@/components/ui/what-if-slider";
import { amountScale, axisTicks, fixed } from "@/lib/numbers";

export type Frame = { left: number; right: number; top: number; bottom: number };

const ROWS = 3;
/** Below this part of the dearest cost the axis begins at nought. */
const ZOOM_FROM = 0.4;
/** No axis is zoomed further than to this part of the dearest cost. */
const LEAST_SPREAD = 0.002;

/** Ticks from one round number below all costs to one not below them. */
function costTicks(low: number, high: number): number[] {
  const isZoomed = low > ZOOM_FROM * high;
  const spread = isZoomed ? Math.max(high - low, LEAST_SPREAD * high) : high;
  const [, first = 1] = axisTicks(0, spread > 0 ? spread : 1, ROWS);
  // A line at the very bottom would lie on the axis.
  const from = isZoomed ? Math.max(0, Math.floor(low / first - 0.25)) : 0;
  const to = Math.max(from + 1, Math.ceil(high / first - 1e-9));
  return Array.from({ length: to - from + 1 }, (_, at) =>
    Number(((from + at) * first).toPrecision(12)),
  );
}

/** The points of a curve in a frame of pixels, with the ticks of both axes. */
export function curveIn(points: readonly MapPoint[], { left, right, top, bottom }: Frame) {
  const costs = points.map(({ cost }) => cost);
  const lowest = Math.min(...costs);
  const ticks = costTicks(lowest, Math.max(...costs));
  const [from = 0, to = 1] = [ticks[0], ticks.at(-1)];
  const most = Math.max(1, ...points.map(movesOf));
  const x = (moves: number) => left + (moves / most) * (right - left);
  const y = (cost: number) => bottom - ((cost - from) / (to - from)) * (bottom - top);
  const places = points.map((point) => ({ x: x(movesOf(point)), y: y(point.cost) }));
  const scale = amountScale(ticks, "work/s");
  const decimals = decimalsOf({
    ...{ min: from / scale.per, max: to / scale.per },
    step: ((ticks[1] ?? to) - from) / scale.per,
  });
  return {
    unit: scale.unit,
    ticks: ticks.map((cost) => ({ cost, y: y(cost), text: fixed(cost / scale.per, decimals) })),
    moves: axisTicks(0, most, 5)
      .filter((moves) => Number.isInteger(moves))
      .map((moves) => ({ moves, x: x(moves) })),
    isZoomed: from > 0,
    lowest: { cost: lowest, y: y(lowest) },
    places,
    path: places
      .map((at, n) => `${n === 0 ? "M" : "L"}${at.x.toFixed(1)} ${at.y.toFixed(1)}`)
      .join(""),
  };
}
