/** The look that the charts of a study share: axes, and the colours of methods. */
import { fontOf } from "@/lib/chart-look";
import { axisText, axisTicks } from "@/lib/numbers";
import { token } from "@/lib/theme";

const SERIES = ["c1", "c2", "c3", "c4", "c5", "c6"];
const DASHES = ["solid", "dashed", "dotted"] as const;

/** A method keeps its colour through the page; after six the dash tells them apart. */
export const colourOf = (index: number): string => token(SERIES[index % SERIES.length] ?? "c1");
export const dashOf = (index: number) =>
  DASHES[Math.floor(index / SERIES.length) % DASHES.length] ?? "solid";

export function valueAxis(
  values: readonly number[],
  options: {
    fromZero?: boolean;
    side?: "left" | "right";
    lines?: boolean;
    /** Written once, at the end of the axis. */
    unit?: string;
    grid?: number;
    ticks?: number;
  } = {},
) {
  const low = options.fromZero ? 0 : Math.min(...values);
  const high = Math.max(...values, low);
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  const floor = options.fromZero || (low >= 0 && low - pad < 0) ? 0 : low - pad;
  const ticks = axisTicks(floor, high + pad, options.ticks ?? 4);
  const step = ticks.length > 1 ? (ticks[1] ?? 1) - (ticks[0] ?? 0) : 1;
  return {
    type: "value" as const,
    position: options.side ?? ("left" as const),
    gridIndex: options.grid ?? 0,
    name: options.unit,
    nameLocation: "end" as const,
    nameGap: 8,
    nameTextStyle: {
      ...fontOf(),
      color: token("text-3"),
      align: options.side === "right" ? ("right" as const) : ("left" as const),
      padding: options.side === "right" ? [0, -56, 0, 0] : [0, 0, 0, -50],
    },
    min: floor,
    max: high + pad,
    interval: step,
    axisLine: { show: false },
    axisTick: { customValues: ticks, show: false },
    axisLabel: {
      color: token("text-3"),
      ...fontOf(),
      customValues: ticks,
      formatter: (value: number) => axisText(value, step),
    },
    splitLine: { show: options.lines ?? true, lineStyle: { color: token("line") } },
  };
}
