/** Series of sums as ECharts draws them, and what is read at a step. */
import type { EChartsCoreOption } from "echarts/core";

import type { Crest } from "./boards";
import type { Limit } from "./merged";
import type { Sums } from "./sums";
import { nameOf, withUnit, type Scale } from "./words";

import { escaped, fontOf, tooltipLook } from "@/lib/chart-look";
import { axisText, axisTicks } from "@/lib/numbers";
import { token } from "@/lib/theme";
import { clockText } from "@/lib/time";

export const HEIGHT = 320;
const COLOURS = ["c1", "c2", "c3", "c4", "c5", "c6"];
const DASHES = ["solid", "dashed"] as const;
const DAY_S = 86_400;

/** The token of a series' colour; after six the dash tells them apart. */
export const colourName = (index: number) => COLOURS[index % COLOURS.length] ?? "c1";
export const dashOf = (index: number) =>
  DASHES[Math.floor(index / COLOURS.length) % DASHES.length] ?? "solid";

const startsOf = (sums: Sums) => sums.steps.map((start) => new Date(start).getTime());

/** What is read at one step, the largest value first. */
export function readingAt(
  sums: Sums,
  scale: Scale,
  step: number,
  limits: readonly Limit[] = [],
): string[] {
  const start = sums.steps[step];
  if (start === undefined) return [];
  const rows = sums.series
    .flatMap(({ name, values, least, most }) => {
      const value = values[step];
      if (typeof value !== "number") return [];
      const [low, high] = [least?.[step], most?.[step]];
      const between =
        typeof low === "number" && typeof high === "number"
          ? ` (${scale.text(low)} to ${scale.text(high)})`
          : "";
      const text = withUnit(scale.text(value), scale.unit);
      return [{ value, text: `${nameOf(name, sums.by)}: ${text}${between}` }];
    })
    .sort((a, b) => b.value - a.value);
  return [
    `${clockText(start)} UTC`,
    ...(rows.length === 0 ? ["nothing measured"] : rows.map(({ text }) => text)),
    ...limits.flatMap(({ name, values }) => {
      const value = values[step];
      return typeof value === "number"
        ? [`${name}: ${withUnit(scale.text(value), scale.unit)}`]
        : [];
    }),
  ];
}

/** Steps without a record of this kind, as times from and to. */
export function unmeasuredOf(sums: Sums): [number, number][] {
  const starts = startsOf(sums);
  const end = new Date(sums.until).getTime();
  const gaps: [number, number][] = [];
  sums.minutes.forEach((minutes, step) => {
    const from = starts[step];
    if (minutes > 0 || from === undefined) return;
    const last = gaps.at(-1);
    const until = starts[step + 1] ?? end;
    if (last?.[1] === from) last[1] = until;
    else gaps.push([from, until]);
  });
  return gaps;
}

/** A crest that is many times as high as the lines would press them flat: the legend alone says it. */
const MOST_CREST = 3;

export function optionOf(
  sums: Sums,
  scale: Scale,
  theme: string,
  crests: readonly Crest[] = [],
  limits: readonly Limit[] = [],
): EChartsCoreOption {
  const font = fontOf();
  const starts = startsOf(sums);
  const [since, until] = [new Date(sums.since).getTime(), new Date(sums.until).getTime()];
  const scaled = sums.series.map(({ values }) =>
    values.map((value) => (value === null ? null : value * scale.factor)),
  );
  const all = scaled.flat().filter((value) => value !== null);
  const low = Math.min(0, ...all);
  const highest = Math.max(0, ...all);
  const drawn = crests
    .map(({ value }) => value * scale.factor)
    .filter((value) => highest === 0 || value <= MOST_CREST * highest);
  const stairs = limits
    .map(({ values }) => values.map((value) => (value === null ? null : value * scale.factor)))
    .filter((values) => highest === 0 || topOf(values) <= MOST_CREST * highest);
  // Nothing but zeros lies on the axis of a picture that has a height.
  const high = Math.max(0, highest, ...drawn, ...stairs.map(topOf)) || (low === 0 ? 1 : 0);
  const ticks = axisTicks(low, high + (high - low) * 0.06, 4);
  const tickStep = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  const isLong = (until - since) / 1000 > DAY_S;
  const label = (ms: number) => {
    const [clock = "", day] = clockText(new Date(ms)).split(", ");
    return isLong ? (day ?? "today") : clock;
  };
  return {
    animation: false,
    useUTC: true,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: { left: 60, right: 16, top: 28, bottom: 26 },
    xAxis: {
      type: "time",
      min: since,
      max: until,
      axisLine: { lineStyle: { color: token("line-2") } },
      axisTick: { show: false },
      splitLine: { show: false },
      splitNumber: 6,
      axisLabel: { color: token("text-3"), ...font, hideOverlap: true, formatter: label },
    },
    yAxis: {
      type: "value",
      name: scale.unit,
      nameLocation: "end",
      nameGap: 8,
      nameTextStyle: { ...font, color: token("text-3"), align: "left", padding: [0, 0, 0, -50] },
      min: low,
      max: high + (high - low) * 0.06,
      axisLine: { show: false },
      axisTick: { customValues: ticks, show: false },
      axisLabel: {
        color: token("text-3"),
        ...font,
        customValues: ticks,
        formatter: (value: number) => axisText(value, tickStep),
      },
      interval: tickStep,
      splitLine: { lineStyle: { color: token("line") } },
    },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("text-3"), type: "solid" } },
      formatter: (given: unknown) => {
        const rows = Array.isArray(given) ? (given as { dataIndex?: unknown }[]) : [];
        const [title = "", ...lines] = readingAt(sums, scale, Number(rows[0]?.dataIndex), limits);
        return [`<b>${escaped(title)}</b>`, ...lines.map(escaped)].join("<br>");
      },
    },
    series: [
      unmeasuredSeries(sums),
      crestSeries(drawn),
      ...stairs.map((values) => stairSeries(values, starts)),
      ...scaled.map((values, index) => {
        const colour = token(colourName(index));
        const isAlone = (at: number) =>
          (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null;
        return {
          name: sums.series[index]?.name,
          type: "line",
          data: values.map((value, at) => [starts[at], value]),
          connectNulls: false,
          symbol: "circle",
          showSymbol: true,
          // A line has two ends: what stands between two gaps is a point.
          symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) =>
            isAlone(dataIndex) ? 5 : 0,
          itemStyle: { color: colour },
          lineStyle: { width: 1.75, color: colour, type: dashOf(index) },
        };
      }),
    ],
  };
}

const topOf = (values: readonly (number | null)[]) =>
  Math.max(0, ...values.filter((value) => value !== null));

/** What the lines should not pass, in the course of time: a value holds until the next step. */
function stairSeries(values: readonly (number | null)[], starts: readonly number[]) {
  return {
    name: "limits over time",
    type: "line",
    step: "end",
    data: values.map((value, at) => [starts[at], value]),
    connectNulls: false,
    silent: true,
    symbol: "none",
    lineStyle: { color: token("crest"), width: 1.5, type: "solid" },
  };
}

/** What the lines should not pass. */
function crestSeries(drawn: readonly number[]) {
  return {
    name: "limits",
    type: "line",
    data: [],
    silent: true,
    markLine: {
      silent: true,
      symbol: "none",
      lineStyle: { color: token("crest"), width: 1.5, type: "solid" },
      label: { show: false },
      data: drawn.map((value) => ({ yAxis: value })),
    },
  };
}

/** Where nobody measured it is shaded, never an empty gap. */
function unmeasuredSeries(sums: Sums) {
  return {
    name: "not measured",
    type: "line",
    data: [],
    silent: true,
    markArea: {
      silent: true,
      itemStyle: {
        color: token("well"),
      },
      label: { show: false },
      data: unmeasuredOf(sums).map(([from, to]) => [{ xAxis: from }, { xAxis: to }]),
    },
  };
}
