/** From rates and utilities to pixels of a chart and back. */
import { axisTicks } from "@/lib/numbers";

export type Box = {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
};

export const BOX: Box = { width: 820, height: 300, left: 50, right: 96, top: 14, bottom: 30 };
export const LOW_BOX: Box = { ...BOX, height: 150, top: 10, bottom: 26 };

export type Scale = {
  box: Box;
  low: number;
  high: number;
  span: number;
  x: (rate: number) => number;
  y: (value: number) => number;
  rateAt: (x: number) => number;
  valueAt: (y: number) => number;
  ticks: number[];
  rates: number[];
};

export function scaleOf(box: Box, span: number, low: number, high: number): Scale {
  const inner = box.width - box.left - box.right;
  const tall = box.height - box.top - box.bottom;
  const reach = high - low || 1;
  return {
    box,
    low,
    high: low + reach,
    span,
    x: (rate) => box.left + (rate / span) * inner,
    y: (value) => box.top + (1 - (value - low) / reach) * tall,
    rateAt: (x) => ((x - box.left) / inner) * span,
    valueAt: (y) => low + (1 - (y - box.top) / tall) * reach,
    ticks: axisTicks(low, low + reach, box.height > 200 ? 5 : 3),
    rates: axisTicks(0, span, 6),
  };
}

/** A path through points, left to right. */
export function pathOf(scale: Scale, points: readonly (readonly [number, number])[]): string {
  return points
    .map(
      ([rate, value], i) =>
        `${i === 0 ? "M" : "L"}${scale.x(rate).toFixed(1)} ${scale.y(value).toFixed(1)}`,
    )
    .join("");
}

const NICE = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10];

/** The next round number at or above a value. */
export function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = NICE.find((nice) => nice * power >= value * (1 - 1e-12)) ?? 10;
  return Number((step * power).toPrecision(12));
}
