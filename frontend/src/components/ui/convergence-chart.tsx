/** Utility by iteration: the bound from above, the best feasible from below, and the gap between. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { lazy, Suspense, useMemo, useRef } from "react";

import { ChartPanel } from "./chart-frame";
import { Loading } from "./panel";

import { fontOf, tooltipLook } from "@/lib/chart-look";
import { axisText, axisTicks, countText, fixed, gapText } from "@/lib/numbers";
import { token, useTheme } from "@/lib/theme";

const EChart = lazy(() => import("./echart"));

const HEIGHT = 210;

export type ConvergencePoint = {
  iteration: number;
  utility: number;
  best: number;
  /** The best upper bound so far; absent where the method proves none. */
  bound?: number;
};

export type Convergence = {
  name: string;
  /** By rising iteration; a running job reports only some of them. */
  points: readonly ConvergencePoint[];
  upperBound?: number | null;
  running?: boolean;
};

/** A stored trace as points, with the best so far: what one would get by stopping there. */
export function pointsOf(
  trace: readonly number[],
  bounds: readonly number[] = [],
): ConvergencePoint[] {
  let best = -Infinity;
  return trace.map((utility, index) => {
    best = Math.max(best, utility);
    const bound = bounds[index];
    return {
      iteration: index + 1,
      utility,
      best,
      ...(bound === undefined ? {} : { bound }),
    };
  });
}

/** The window of the axis: the trace after its first leap, so that the settling is visible. */
export function axisWindow(trace: readonly number[], bound?: number | null): [number, number] {
  const values = [...trace, ...(bound === null || bound === undefined ? [] : [bound])];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = high - low || Math.abs(high) || 1;
  // A first step far below the rest would press everything else into one line.
  const sorted = [...trace].sort((a, b) => a - b);
  const typical = sorted[Math.floor(sorted.length * 0.1)] ?? low;
  const base = trace.length >= 10 && (typical - low) / span > 0.5 ? typical - span * 0.05 : low;
  const pad = (high - base || span) * 0.08;
  const floor = base - pad;
  return [low >= 0 && floor < 0 ? 0 : floor, high + pad];
}

/** The window with the bounds in it, but not a first bound that would press the rest flat. */
function windowOf({ points, upperBound }: Convergence): [number, number] {
  const [low, high] = axisWindow(
    points.map((point) => point.utility),
    upperBound,
  );
  const bounds = points.flatMap((point) => (point.bound === undefined ? [] : [point.bound]));
  const highest = Math.max(high, ...bounds);
  return [low, Math.min(highest, high + (high - low) * 0.6)];
}

function optionOf(convergence: Convergence, theme: string): EChartsCoreOption {
  const { points, upperBound } = convergence;
  const [low, high] = windowOf(convergence);
  const bounded = points.filter((point) => point.bound !== undefined);
  // Where the bound has come into the window, at about the middle of the chart.
  const labelled = bounded
    .slice(Math.floor(bounded.length * 0.4))
    .find((point) => (point.bound ?? Infinity) <= high);
  const ticks = axisTicks(low, high, 4);
  const step = ticks.length > 1 ? (ticks[1] ?? 1) - (ticks[0] ?? 0) : 1;
  const named = points.slice(Math.floor(points.length * 0.55)).find((point) => point.best >= low);
  const line = token("line");
  const faint = token("text-3");
  const water = token("c1");
  const font = fontOf();
  const first = points[0]?.iteration ?? 1;
  const end = points.at(-1);
  const last = end?.iteration ?? first;
  return {
    animation: false,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: { left: 6, right: 70, top: 22, bottom: 26 },
    xAxis: {
      type: "value",
      min: first,
      max: Math.max(last, first + 1),
      minInterval: 1,
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { color: faint, ...font, formatter: (v: number) => fixed(v) },
    },
    yAxis: {
      type: "value",
      position: "right",
      axisLine: { show: false },
      min: low,
      max: high,
      interval: step,
      axisLabel: {
        color: faint,
        ...font,
        customValues: ticks,
        formatter: (v: number) => axisText(v, step),
      },
      axisTick: { customValues: ticks, show: false },
      splitLine: { lineStyle: { color: line } },
    },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("line-2"), type: "solid" } },
      formatter: (given: unknown) => {
        const rows = Array.isArray(given) ? (given as { value?: unknown }[]) : [];
        const value = rows[0]?.value;
        const x = Array.isArray(value) ? Number(value[0]) : first;
        const point = points.find((entry) => entry.iteration === x);
        const lines = [
          `iteration <b>${fixed(x)}</b>`,
          `best <b>${fixed(point?.best, 1)}</b>`,
          `this iteration ${fixed(point?.utility, 1)}`,
        ];
        const above = point?.bound ?? upperBound;
        if (above !== null && above !== undefined) {
          if (point?.bound !== undefined) lines.push(`upper bound ${fixed(above, 1)}`);
          lines.push(`gap ${gapText(point?.best, above)} %`);
        }
        return lines.join("<br>");
      },
    },
    series: [
      {
        name: "this iteration",
        type: "line",
        data: points.map((point) => [point.iteration, point.utility]),
        showSymbol: false,
        silent: true,
        lineStyle: { width: 1, color: water, opacity: 0.45 },
      },
      {
        name: "best feasible",
        type: "line",
        step: "end",
        data: points.map((point) => [point.iteration, point.best]),
        showSymbol: false,
        lineStyle: { width: 2, color: water },
        markLine:
          upperBound === null || upperBound === undefined || bounded.length > 0
            ? undefined
            : {
                silent: true,
                symbol: "none",
                lineStyle: { color: token("crest"), width: 1.5, type: "solid" },
                label: {
                  position: "insideStartTop",
                  formatter: "upper bound",
                  color: token("text-2"),
                  ...font,
                },
                data: [{ yAxis: upperBound }],
              },
      },
      {
        name: "upper bound",
        type: "line",
        step: "end",
        data: bounded.map((point) => [point.iteration, point.bound]),
        showSymbol: false,
        silent: true,
        lineStyle: { width: 1.5, color: token("crest") },
      },
      {
        name: "bound label",
        type: "line",
        data: labelled ? [[labelled.iteration, labelled.bound]] : [],
        symbol: "circle",
        symbolSize: 0.1,
        silent: true,
        label: {
          show: true,
          position: "top",
          distance: 5,
          formatter: "upper bound",
          color: token("text-2"),
          ...font,
        },
      },
      {
        name: "best label",
        type: "line",
        data: named && bounded.length > 0 ? [[named.iteration, named.best]] : [],
        symbol: "circle",
        symbolSize: 0.1,
        silent: true,
        label: {
          show: true,
          position: "bottom",
          distance: 5,
          formatter: "best feasible",
          color: water,
          fontWeight: 600,
          ...font,
        },
      },
      {
        name: "end",
        type: "line",
        data: end ? [[last, end.best]] : [],
        symbol: "circle",
        symbolSize: 7,
        itemStyle: { color: water, borderColor: token("surface"), borderWidth: 1.5 },
        label: {
          // With a bound above it the line carries its label where there is room below.
          show: bounded.length === 0,
          position: "top",
          distance: 7,
          align: "right",
          formatter: "best feasible",
          color: water,
          fontWeight: 600,
          ...font,
        },
        silent: true,
      },
    ],
  };
}

export function ConvergenceChart({
  convergence,
  right,
}: {
  convergence: Convergence;
  right?: React.ReactNode;
}) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const { points } = convergence;
  const option = useMemo(() => optionOf(convergence, theme), [convergence, theme]);
  const [low] = windowOf(convergence);
  const bounded = points.some((point) => point.bound !== undefined);
  const zoomed =
    low > 0 ? `; axis from ${axisText(low, 10 ** (Math.floor(Math.log10(low)) - 2))}` : "";
  const end = points.at(-1);
  return (
    <ChartPanel
      title="Convergence"
      sub={`${countText(end?.iteration ?? 0, "iteration")}${convergence.running ? " so far" : ""}${zoomed}`}
      right={right}
      data={{
        name: `${convergence.name} convergence`,
        head: ["Iteration", "Utility", "Best feasible", ...(bounded ? ["Upper bound"] : [])],
        rows: points.map((point) => [
          point.iteration,
          point.utility,
          point.best,
          ...(bounded ? [point.bound] : []),
        ]),
      }}
      format={(cell, column) => (typeof cell === "number" ? fixed(cell, column === 0 ? 0 : 1) : "")}
      svg={() => chart.current?.renderToSVGString() ?? null}
    >
      <Suspense
        fallback={
          <div style={{ height: HEIGHT }}>
            <Loading rows={5} />
          </div>
        }
      >
        <EChart
          option={option}
          height={HEIGHT}
          label={`Utility by iteration, ${countText(points.length, "point")}, best feasible ${fixed(end?.best, 1)}`}
          onReady={(made) => {
            chart.current = made;
          }}
        />
      </Suspense>
    </ChartPanel>
  );
}
