/** The frontier as ECharts draws it: utility above, what one more unit is worth below. */
import type { EChartsCoreOption } from "echarts/core";

import { colourOf, dashOf, valueAxis } from "./chart-look";
import { gapOf, operatingPoint, worthAlong, type Line, type Worth } from "./points";
import type { Axis } from "./spec";

import type { StudyPoint } from "@/api/studies";
import { escaped, fontOf, tooltipLook } from "@/lib/chart-look";
import { fixed, priceText } from "@/lib/numbers";
import { token } from "@/lib/theme";

export const HEIGHT = 400;

export type Frontier = {
  axis: Axis;
  lines: readonly Line[];
  /** Of another study with the same axis: dashed, in the colour of what was before. */
  others: readonly Line[];
  base: StudyPoint | undefined;
  /** Of one more unit, such as "utility per cpu unit/s". */
  worthUnit: string;
};

/** What the axis counts: factors are shown in percent. */
export const scaleOf = (axis: Axis) => (axis.field === "scale" ? 100 : 1);
export const xOf = (axis: Axis) => (point: StudyPoint) =>
  Number((Number(point.coordinates[0]) * scaleOf(axis)).toPrecision(12));
export const atText = (axis: Axis, value: number) =>
  `${fixed(value, value % 1 ? 1 : 0)}${scaleOf(axis) === 100 ? " %" : ""}`;

const known = (value: number | null | undefined): number[] =>
  typeof value === "number" ? [value] : [];

/** What is read at one position: HTML for the hair, text for a screen reader. */
export function readingAt({ axis, lines, others, worthUnit }: Frontier, at: number): string[] {
  const x = xOf(axis);
  const rows = [...lines, ...others].flatMap((line) => {
    const index = line.points.findIndex((point) => Math.abs(x(point) - at) < 1e-9);
    const point = line.points[index];
    if (!point) return [];
    if (point.utility === null) return [`${line.label}: ${point.status}`];
    const worth = worthAlong(line.points).values[index] ?? null;
    const bound = point.upper_bound === null ? "" : `, gap ${gapOf(point)} %`;
    return [
      `${line.label}: utility ${fixed(point.utility, 1)}${bound}`,
      ...(worth === null ? [] : [`one more is worth ${priceText(worth)} ${worthUnit}`]),
    ];
  });
  const quantity = lines[0]?.points.find((point) => Math.abs(x(point) - at) < 1e-9)?.quantities[0];
  const amount = typeof quantity === "number" ? ` (${fixed(quantity)})` : "";
  return [`${axis.label} ${atText(axis, at)}${amount}`, ...rows];
}

export function stopsOf({ axis, lines }: Frontier): number[] {
  return [...new Set(lines.flatMap((line) => line.points.map(xOf(axis))))].sort((a, b) => a - b);
}

/** The slope of the frontier where the system is now, as far as the neighbouring tenth. */
function tangent(frontier: Frontier, low: number, high: number): [number, number][] {
  const now = operatingPoint(frontier.axis, frontier.base);
  if (typeof now?.price !== "number" || now.quantity === null || now.at === 0) return [];
  const factor = scaleOf(frontier.axis);
  const centre = now.at * factor;
  const perX = now.price * (now.quantity / centre);
  const reach = (high - low) / 6;
  return [Math.max(low, centre - reach), Math.min(high, centre + reach)].map((x) => [
    x,
    now.utility + perX * (x - centre),
  ]);
}

export function optionOf(frontier: Frontier, theme: string): EChartsCoreOption {
  const { axis, lines, others, base } = frontier;
  const factor = scaleOf(axis);
  const x = xOf(axis);
  const worths = lines.map((line) => worthAlong(line.points));
  const hasWorth = worths.some((worth) => worth.from !== "none");
  const values = [...lines, ...others].flatMap((line) =>
    line.points.flatMap((point) => [...known(point.utility), ...known(point.upper_bound)]),
  );
  const xs = axis.values.map((value) => Number(value) * factor);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const now = operatingPoint(axis, base);
  const shownNow = now && now.at * factor >= low && now.at * factor <= high ? now : null;
  const lowest = hasWorth ? 128 : 48;
  const font = fontOf();
  const bottomAxis = {
    type: "value" as const,
    min: low,
    max: high,
    axisLine: { lineStyle: { color: token("line-2") } },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      color: token("text-3"),
      ...font,
      formatter: (v: number) => fixed(v, v % 1 ? 1 : 0),
    },
  };
  const named = {
    name: factor === 100 ? `${axis.label}, %` : axis.label,
    nameLocation: "middle" as const,
    nameGap: 24,
    nameTextStyle: { ...font, color: token("text-3") },
  };
  return {
    animation: false,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: [
      { left: 60, right: 24, top: 30, bottom: lowest + (hasWorth ? 34 : 0) },
      ...(hasWorth ? [{ left: 60, right: 24, height: 84, bottom: 44 }] : []),
    ],
    xAxis: [
      hasWorth ? { ...bottomAxis, axisLabel: { show: false } } : { ...bottomAxis, ...named },
      ...(hasWorth ? [{ ...bottomAxis, ...named, gridIndex: 1 }] : []),
    ],
    yAxis: [
      valueAxis(values.length > 0 ? values : [0, 1], { unit: "utility" }),
      ...(hasWorth
        ? [
            valueAxis(
              worths.flatMap((worth) => worth.values.flatMap(known)),
              {
                fromZero: true,
                unit: `one more, ${frontier.worthUnit}`,
                grid: 1,
                ticks: 2,
              },
            ),
          ]
        : []),
    ],
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("line-2"), type: "solid" } },
      formatter: (given: unknown) => {
        const first = (Array.isArray(given) ? (given as { value?: unknown }[]) : [])[0]?.value;
        const at = Array.isArray(first) ? Number(first[0]) : NaN;
        const [title = "", ...rows] = readingAt(frontier, at);
        return [`<b>${escaped(title)}</b>`, ...rows.map(escaped)].join("<br>");
      },
    },
    series: [
      ...lines.flatMap((line, index) => lineSeries(line, index, x, worths[index], lines)),
      ...others.map((line) => ({
        name: line.label,
        type: "line",
        data: line.points.map((point) => [x(point), point.utility]),
        showSymbol: false,
        lineStyle: { width: 2, color: token("before"), type: "dashed" },
        itemStyle: { color: token("before") },
      })),
      refusedSeries(lines, x, xs),
      ...(shownNow ? nowSeries(frontier, shownNow.at * factor, shownNow.utility, low, high) : []),
    ],
  };
}

function lineSeries(
  line: Line,
  index: number,
  x: (point: StudyPoint) => number,
  worth: Worth | undefined,
  lines: readonly Line[],
) {
  const colour = colourOf(index);
  const { points } = line;
  const last = points.filter((point) => point.utility !== null).at(-1);
  const bounded = points.some((point) => point.upper_bound !== null);
  const common = { type: "line", showSymbol: false, silent: true };
  return [
    ...(bounded
      ? [
          {
            ...common,
            name: `bound of ${line.label}`,
            data: points.map((point) => [x(point), point.upper_bound]),
            lineStyle: { width: 1.5, color: token("crest"), type: dashOf(index) },
          },
        ]
      : []),
    {
      name: line.label,
      type: "line",
      data: points.map((point) => [x(point), point.utility]),
      showSymbol: points.length <= 60,
      symbol: "circle",
      symbolSize: 4,
      itemStyle: { color: colour },
      lineStyle: { width: 2, color: colour, type: dashOf(index) },
      label: {
        show: lines.length > 1,
        position: index % 2 === 0 ? "top" : "bottom",
        align: "right",
        color: colour,
        fontWeight: 600,
        ...fontOf(),
        formatter: ({ dataIndex }: { dataIndex: number }) =>
          points[dataIndex] === last && last ? line.label : "",
      },
    },
    ...(worth && worth.from !== "none"
      ? [
          {
            ...common,
            name: `worth of one more, ${line.label}`,
            xAxisIndex: 1,
            yAxisIndex: 1,
            step: worth.from === "slope" ? "end" : false,
            data: points.map((point, at) => [x(point), worth.values[at] ?? null]),
            lineStyle: {
              width: 1.5,
              color: lines.length > 1 ? colour : token("price"),
              type: dashOf(index),
            },
          },
        ]
      : []),
  ];
}

/** Values without an answer are hatched, never an empty gap. */
function refusedSeries(
  lines: readonly Line[],
  x: (point: StudyPoint) => number,
  xs: readonly number[],
) {
  const half = xs.length > 1 ? Math.abs((xs[1] ?? 1) - (xs[0] ?? 0)) / 2 : 0.5;
  const refused = [
    ...new Set(
      lines.flatMap((line) => line.points.filter((point) => point.utility === null).map(x)),
    ),
  ];
  return {
    name: "no answer",
    type: "line",
    data: [],
    silent: true,
    markArea: {
      silent: true,
      itemStyle: {
        color: token("well"),
        decal: {
          symbol: "rect",
          rotation: -Math.PI / 4,
          dashArrayX: [1, 0],
          dashArrayY: [2, 4],
          color: token("line-2"),
        },
      },
      label: { show: false },
      data: refused.map((at) => [{ xAxis: at - half }, { xAxis: at + half }]),
    },
  };
}

function nowSeries(frontier: Frontier, at: number, utility: number, low: number, high: number) {
  const font = fontOf();
  return [
    {
      name: "slope as it is",
      type: "line",
      data: tangent(frontier, low, high),
      showSymbol: false,
      silent: true,
      lineStyle: { width: 1.25, color: token("price"), type: "dashed" },
    },
    {
      name: "as it is",
      type: "line",
      data: [[at, utility]],
      symbol: "circle",
      symbolSize: 10,
      showSymbol: true,
      silent: true,
      z: 5,
      itemStyle: { color: token("surface"), borderColor: token("crest"), borderWidth: 2 },
      markLine: {
        silent: true,
        symbol: "none",
        lineStyle: { color: token("crest"), width: 1, type: "solid" },
        label: { formatter: "as it is", position: "end", color: token("text-2"), ...font },
        data: [{ xAxis: at }],
      },
    },
  ];
}
