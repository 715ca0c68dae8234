/** A day as ECharts draws it: over hours what each method reached, and what it fell short of. */
import type { EChartsCoreOption } from "echarts/core";

import { colourOf, dashOf, valueAxis } from "./chart-look";
import { bySegment, hoursOf, shortfall, targets, type Day } from "./day-points";
import { stackOf } from "./points";

import { escaped, fontOf, tooltipLook } from "@/lib/chart-look";
import { decimalsFor, fixed, rateText, UNKNOWN } from "@/lib/numbers";
import { token } from "@/lib/theme";

export const HEIGHT = 340;

const known = (value: number | null | undefined): number[] =>
  typeof value === "number" ? [value] : [];

export const shortText = (value: number | null): string =>
  value === null
    ? UNKNOWN
    : value === 0
      ? "0"
      : fixed(value, decimalsFor(value, Math.abs(value) >= 0.1 ? 2 : 1));

/** The segment that holds this hour. */
const segmentAt = (day: Day, hour: number): number => {
  const spans = hoursOf(day.spec);
  const index = spans.findIndex((span) => hour < span.to);
  return index < 0 ? spans.length - 1 : index;
};

export const middles = (day: Day): number[] =>
  hoursOf(day.spec).map(({ from, to }) => (from + to) / 2);

/** What is read of one segment. */
export function utilityAt(day: Day, index: number): string[] {
  const aims = targets(day);
  return [
    day.spec.segments[index]?.label ?? "",
    ...day.methods.map((method) => {
      const point = bySegment(day, method)[index] ?? null;
      if (point === null) return `${method}: not solved yet`;
      if (point.utility === null) return `${method}: ${point.status}`;
      const short = shortfall(point, aims[index] ?? null);
      return `${method}: utility ${fixed(point.utility, 1)}${short === null ? "" : `, ${shortText(short)} % short`}`;
    }),
  ];
}

/** A value per segment as a line with a corner at every change. */
function steps(spans: readonly { from: number; to: number }[], values: readonly (number | null)[]) {
  return spans.flatMap(({ from, to }, index) => {
    const value = values[index] ?? null;
    return [
      [from, value],
      [to, value],
    ];
  });
}

const hourText = (hour: number) => `${fixed(hour, hour % 1 ? 1 : 0)} h`;

export function utilityOption(day: Day, theme: string): EChartsCoreOption {
  const spans = hoursOf(day.spec);
  const end = spans.at(-1)?.to ?? 1;
  const lines = day.methods.map((method) => bySegment(day, method));
  const aims = targets(day);
  const bounded = day.points.some((point) => point.upper_bound !== null);
  const short = lines.map((line) =>
    line.map((point, index) => shortfall(point, aims[index] ?? null)),
  );
  const values = [
    ...lines.flat().flatMap((point) => known(point?.utility)),
    ...aims.flatMap(known),
  ];
  const font = fontOf();
  const names = day.spec.segments.map((segment) => segment.label);
  const time = (grid: number) => ({
    type: "value" as const,
    gridIndex: grid,
    min: 0,
    max: end,
    axisPointer: { snap: false },
    axisLine: { lineStyle: { color: token("line-2") } },
    splitLine: { show: false },
    axisTick: { show: grid === 1, customValues: [0, ...spans.map((span) => span.to)] },
    axisLabel:
      grid === 0
        ? {
            show: true,
            color: token("text-2"),
            ...font,
            customValues: middles(day),
            width: 78,
            overflow: "break" as const,
            lineHeight: 13,
            hideOverlap: true,
            formatter: (value: number) => names[segmentAt(day, value)] ?? "",
          }
        : { color: token("text-3"), ...font, formatter: hourText },
  });
  return {
    animation: false,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: [
      { left: 60, right: 20, top: 30, bottom: 160 },
      { left: 60, right: 20, height: 66, bottom: 28 },
    ],
    xAxis: [time(0), time(1)],
    yAxis: [
      valueAxis(values.length > 0 ? values : [0, 1], { fromZero: true, unit: "utility" }),
      valueAxis([...short.flat().flatMap(known), 0], {
        fromZero: true,
        grid: 1,
        ticks: 2,
        unit: bounded ? "% short of the bound" : "% short of the best",
      }),
    ],
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("line-2"), type: "solid" } },
      formatter: (given: unknown) => {
        const first = (Array.isArray(given) ? (given as { axisValue?: unknown }[]) : [])[0];
        const [title = "", ...rows] = utilityAt(day, segmentAt(day, Number(first?.axisValue)));
        return [`<b>${escaped(title)}</b>`, ...rows.map(escaped)].join("<br>");
      },
    },
    series: [
      ...(bounded
        ? [
            {
              name: "bound",
              type: "line",
              data: steps(spans, aims),
              showSymbol: false,
              silent: true,
              lineStyle: { width: 1.5, color: token("crest") },
            },
          ]
        : []),
      ...lines.flatMap((line, index) => {
        const look = { width: 2, color: colourOf(index), type: dashOf(index) };
        const common = { name: day.methods[index], type: "line", showSymbol: false };
        return [
          {
            ...common,
            data: steps(
              spans,
              line.map((point) => point?.utility ?? null),
            ),
            lineStyle: look,
            itemStyle: { color: colourOf(index) },
          },
          {
            ...common,
            xAxisIndex: 1,
            yAxisIndex: 1,
            data: steps(spans, short[index] ?? []),
            lineStyle: look,
            itemStyle: { color: colourOf(index) },
          },
        ];
      }),
    ],
  };
}

/** What is read of one segment's consumers. */
export function populationAt(day: Day, method: string, index: number): string[] {
  const point = bySegment(day, method)[index] ?? null;
  const title = day.spec.segments[index]?.label ?? "";
  if (point === null) return [title, "not solved yet"];
  return [
    title,
    ...day.spec.groups.map(
      ({ name }) =>
        `${name}: ${fixed(stackOf(point, name, "admitted"))} of ${fixed(stackOf(point, name, "wanted"))}`,
    ),
    `average rate ${rateText(point.rate_average_per_s)} msg/s`,
  ];
}

export function populationOption(day: Day, method: string, theme: string): EChartsCoreOption {
  const line = bySegment(day, method);
  const names = day.spec.segments.map((segment) => segment.label);
  const groups = day.spec.groups.map((group) => group.name);
  const total = (point: ReturnType<typeof bySegment>[number]) =>
    point === null ? 0 : groups.reduce((sum, name) => sum + stackOf(point, name, "admitted"), 0);
  const rates = line.flatMap((point) => known(point?.rate_average_per_s));
  const font = fontOf();
  return {
    animation: false,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: { left: 60, right: 60, top: 30, bottom: 46 },
    xAxis: {
      type: "category" as const,
      // Two segments may bear one name; the number keeps them apart.
      data: names.map((label, index) => `${index}|${label}`),
      axisLine: { lineStyle: { color: token("line-2") } },
      axisTick: { show: false },
      axisLabel: {
        color: token("text-2"),
        ...font,
        interval: names.length > 16 ? ("auto" as const) : 0,
        width: 78,
        overflow: "break" as const,
        lineHeight: 13,
        formatter: (value: string) => value.slice(value.indexOf("|") + 1),
      },
    },
    yAxis: [
      valueAxis([...line.map(total), 1], { fromZero: true, unit: "consumers" }),
      valueAxis([...rates, 1], { fromZero: true, side: "right", lines: false, unit: "msg/s" }),
    ],
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "shadow" },
      formatter: (given: unknown) => {
        const first = (Array.isArray(given) ? (given as { dataIndex?: number }[]) : [])[0];
        const [title = "", ...rows] = populationAt(day, method, first?.dataIndex ?? 0);
        return [`<b>${escaped(title)}</b>`, ...rows.map(escaped)].join("<br>");
      },
    },
    series: [
      ...groups.map((name, index) => ({
        name,
        type: "bar",
        stack: "admitted",
        barMaxWidth: 56,
        data: line.map((point) => (point === null ? null : stackOf(point, name, "admitted"))),
        itemStyle: { color: colourOf(index), borderColor: token("surface"), borderWidth: 0.5 },
      })),
      {
        name: "average rate",
        type: "line",
        yAxisIndex: 1,
        data: line.map((point) => point?.rate_average_per_s ?? null),
        symbol: "circle",
        symbolSize: 6,
        lineStyle: { width: 2, color: token("crest"), type: dashOf(0) },
        itemStyle: { color: token("crest") },
      },
    ],
  };
}
