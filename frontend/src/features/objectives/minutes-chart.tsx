/** The values of an objective over its window: the worst of each step, its target as a line. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { lazy, Suspense, useMemo, useRef } from "react";

import { QUANTITIES, targetText, valueText } from "@/components/ui/objective-words";

import type { SloCompliance, SloMinutes } from "@/api/objectives";
import { ChartPanel } from "@/components/ui/chart-frame";
import { Loading } from "@/components/ui/panel";
import { fontOf, tooltipLook } from "@/lib/chart-look";
import { countText, durationText, fixed } from "@/lib/numbers";
import { token, useTheme } from "@/lib/theme";
import { clockText, exactTime } from "@/lib/time";

const EChart = lazy(() => import("@/components/ui/echart"));

const HEIGHT = 200;
/** The top of the axis where all values and the target are 0. */
const NOTHING = {
  delay_p50_s: 1e-3,
  delay_p99_s: 1e-3,
  delay_mean_s: 1e-3,
  loss_ratio: 0.01,
  rate_per_s: 1,
};

type Step = SloMinutes["steps"][number];

/** The points of the line: a gap, a null, where steps are missing between two. */
export function pointsOf(minutes: SloMinutes): [number, number | null][] {
  const points: [number, number | null][] = [];
  let before: number | undefined;
  for (const step of minutes.steps) {
    const at = new Date(step.since).getTime();
    if (before !== undefined && at - before > minutes.step_s * 1000) {
      points.push([before + minutes.step_s * 1000, null]);
    }
    points.push([at, step.worst]);
    before = at;
  }
  return points;
}

function optionOf(row: SloCompliance, minutes: SloMinutes, theme: string): EChartsCoreOption {
  const font = fontOf();
  const { quantity, target } = row;
  const missed = minutes.steps.filter((step) => step.missed_minutes > 0);
  const bySince = new Map(minutes.steps.map((step) => [new Date(step.since).getTime(), step]));
  const faint = { color: token("text-3"), ...font, hideOverlap: true };
  return {
    animation: false,
    useUTC: true,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: { left: 8, right: 84, top: 14, bottom: 26 },
    xAxis: {
      type: "time",
      min: new Date(minutes.since).getTime(),
      max: new Date(minutes.until).getTime(),
      axisLine: { lineStyle: { color: token("line-2") } },
      axisTick: { show: false },
      splitLine: { show: false },
      splitNumber: 6,
      axisLabel: { ...faint, formatter: (ms: number) => clockText(new Date(ms)) },
    },
    yAxis: {
      type: "value",
      position: "right",
      min: 0,
      max: ({ max }: { max: number }) => Math.max(max, target) * 1.05 || NOTHING[quantity],
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: {
        ...faint,
        showMaxLabel: false,
        formatter: (value: number) => valueText(quantity, value),
      },
      splitLine: { lineStyle: { color: token("line") } },
    },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("text-3"), type: "solid" } },
      formatter: (given: unknown) => {
        const [first] = Array.isArray(given) ? (given as { axisValue?: unknown }[]) : [];
        const step = bySince.get(Number(first?.axisValue));
        if (!step) return "";
        return [
          exactTime(step.since),
          `worst <b>${valueText(quantity, step.worst)}</b>`,
          missedText(step),
        ].join("<br>");
      },
    },
    series: [
      {
        name: QUANTITIES[quantity],
        type: "line",
        data: pointsOf(minutes),
        showSymbol: minutes.steps.length < 3,
        lineStyle: { width: 2, color: token("c1") },
        itemStyle: { color: token("c1") },
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color: token("crest"), width: 1.5, type: "solid" },
          label: {
            position: "insideStartTop",
            formatter: `target ${targetText(row)}`,
            color: token("text"),
            fontWeight: 600,
            ...font,
          },
          data: [{ yAxis: target }],
        },
      },
      {
        name: "missed",
        type: "line",
        data: missed.map((step) => [new Date(step.since).getTime(), step.worst]),
        silent: true,
        lineStyle: { width: 0 },
        symbol: "circle",
        symbolSize: 6,
        itemStyle: { color: token("bad"), borderColor: token("surface"), borderWidth: 1 },
      },
    ],
  };
}

const missedText = ({ missed_minutes, measured_minutes }: Step): string =>
  missed_minutes === 0
    ? `held in all of ${countText(measured_minutes, "minute")}`
    : `missed in ${fixed(missed_minutes)} of ${countText(measured_minutes, "minute")}`;

export function MinutesChart({ row, minutes }: { row: SloCompliance; minutes: SloMinutes }) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const option = useMemo(() => optionOf(row, minutes, theme), [row, minutes, theme]);
  const { text, unit } = durationText(minutes.step_s);
  const last = minutes.steps.at(-1);
  if (!last) return null;
  return (
    <ChartPanel
      title={QUANTITIES[row.quantity]}
      sub={`worst minute of each ${text} ${unit}, UTC; dots: steps with minutes that were missed`}
      data={{
        name: `${row.name} by step`,
        head: ["Since", `Worst, ${row.quantity}`, "Measured, min", "Missed, min"],
        rows: minutes.steps.map((step) => [
          step.since,
          step.worst,
          step.measured_minutes,
          step.missed_minutes,
        ]),
      }}
      format={(cell, column) => {
        if (column === 0) return exactTime(String(cell));
        return column === 1 ? valueText(row.quantity, Number(cell)) : fixed(Number(cell));
      }}
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
          label={`${QUANTITIES[row.quantity]} over the window, target ${valueText(row.quantity, row.target)}; last ${valueText(row.quantity, last.worst)}, ${missedText(last)}`}
          onReady={(made) => {
            chart.current = made;
          }}
        />
      </Suspense>
    </ChartPanel>
  );
}
