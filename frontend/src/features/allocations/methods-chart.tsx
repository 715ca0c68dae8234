/** Methods on one snapshot over their time of computing: best feasible so far, and the bounds. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { lazy, Suspense, useMemo, useRef } from "react";

import { axisAround, courseOf, type Course } from "./course";

import type { AllocationDetail } from "@/api/allocations";
import { ChartPanel } from "@/components/ui/chart-frame";
import { Loading } from "@/components/ui/panel";
import { fontOf, tooltipLook } from "@/lib/chart-look";
import { axisText, axisTicks, durationText, fixed, gapText } from "@/lib/numbers";
import { token, useTheme } from "@/lib/theme";

const EChart = lazy(() => import("@/components/ui/echart"));

const HEIGHT = 230;
const SERIES = ["c1", "c2", "c3", "c4", "c5", "c6"];

const seconds = (value: number) => {
  const shown = durationText(value);
  return `${shown.text} ${shown.unit}`;
};

function optionOf(courses: readonly Course[], theme: string): EChartsCoreOption {
  const [low, high] = axisAround(courses);
  const times = courses.flatMap((course) => course.points.map((point) => point.at_s));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const ticks = axisTicks(low, high, 4);
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  const font = fontOf();
  const faint = token("text-3");
  const step_ = { type: "line", step: "end", showSymbol: false };
  return {
    animation: false,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: { left: 6, right: 70, top: 14, bottom: 26 },
    xAxis: {
      type: "log",
      min: from,
      max: to * 1.15,
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { color: faint, ...font, formatter: seconds, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      position: "right",
      min: low,
      max: high,
      axisLine: { show: false },
      axisLabel: {
        color: faint,
        ...font,
        customValues: ticks,
        formatter: (value: number) => axisText(value, step),
      },
      axisTick: { customValues: ticks, show: false },
      splitLine: { lineStyle: { color: token("line") } },
    },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("line-2"), type: "solid" } },
      formatter: (given: unknown) => {
        const [first] = Array.isArray(given) ? (given as { value?: unknown }[]) : [];
        const at = Array.isArray(first?.value) ? Number(first.value[0]) : from;
        return [
          `after <b>${seconds(at)}</b>`,
          ...courses.map((course) => {
            const then = course.points.findLast((point) => point.at_s <= at * (1 + 1e-9));
            const bound = then?.bound === undefined ? "" : `, bound ${fixed(then.bound, 1)}`;
            return `${course.method} <b>${fixed(then?.best, 1)}</b>${bound}`;
          }),
        ].join("<br>");
      },
    },
    series: courses.flatMap((course, index) => {
      const colour = token(SERIES[index % SERIES.length] ?? "c1");
      const end = course.points.at(-1);
      const drawn = [...course.points, ...(end ? [{ ...end, at_s: to }] : [])];
      const bounded = drawn.filter((point) => point.bound !== undefined);
      return [
        {
          ...step_,
          name: course.method,
          data: drawn.map((point) => [point.at_s, point.best]),
          lineStyle: { width: 2, color: colour },
        },
        ...(bounded.length > 0
          ? [
              {
                ...step_,
                name: `${course.method}, bound`,
                silent: true,
                data: bounded.map((point) => [point.at_s, point.bound]),
                lineStyle: { width: 1.5, color: token("crest") },
              },
            ]
          : []),
        {
          // Where the method stopped: from there on the line only carries its answer along.
          name: `${course.method}, end`,
          type: "line",
          silent: true,
          data: end ? [[end.at_s, end.best]] : [],
          symbol: "circle",
          symbolSize: 7,
          itemStyle: { color: colour, borderColor: token("surface"), borderWidth: 1.5 },
        },
      ];
    }),
  };
}

function Legend({ courses, low }: { courses: readonly Course[]; low: number }) {
  const hasBounds = courses.some((course) =>
    course.points.some((point) => point.bound !== undefined),
  );
  const lines = courses.map((course, index) => ({
    name: (course.points.at(-1)?.best ?? low) < low ? `${course.method}, below` : course.method,
    colour: `var(--${SERIES[index % SERIES.length] ?? "c1"})`,
  }));
  return (
    <span className="legend">
      {[...lines, ...(hasBounds ? [{ name: "upper bound", colour: "var(--crest)" }] : [])].map(
        ({ name, colour }) => (
          <span key={name}>
            <svg width="18" height="8" aria-hidden="true">
              <path d="M0 4H18" stroke={colour} strokeWidth="2" />
            </svg>
            {name}
          </span>
        ),
      )}
    </span>
  );
}

export function MethodsChart({ allocations }: { allocations: readonly AllocationDetail[] }) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const courses = useMemo(
    () => allocations.map(courseOf).filter((course) => course.points.length > 0),
    [allocations],
  );
  const option = useMemo(
    () => (courses.length > 0 ? optionOf(courses, theme) : {}),
    [courses, theme],
  );
  if (courses.length === 0) return null;
  const [low] = axisAround(courses);
  const best = Math.max(...courses.map((course) => course.points.at(-1)?.best ?? 0));
  return (
    <ChartPanel
      title="Methods over their time of computing"
      sub={`log time; utility from ${axisText(low, 10 ** (Math.floor(Math.log10(Math.max(low, 1))) - 2))}; a dot where it stopped`}
      right={<Legend courses={courses} low={low} />}
      data={{
        name: `${allocations.map((one) => `A-${one.number}`).join(" ")} over time`,
        head: ["Method", "Seconds", "Best feasible", "Upper bound", "Below the best %"],
        rows: courses.flatMap((course) =>
          course.points.map((point) => [
            course.method,
            point.at_s,
            point.best,
            point.bound ?? null,
            gapText(point.best, best),
          ]),
        ),
      }}
      format={(cell, column) =>
        typeof cell === "number"
          ? fixed(cell, column === 1 ? 3 : 1)
          : (cell?.toString() ?? "\u2013")
      }
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
          label={`Best feasible utility over seconds of computing: ${courses
            .map(
              (one) =>
                `${one.method} ${fixed(one.points.at(-1)?.best, 1)} after ${seconds(one.points.at(-1)?.at_s ?? 0)}`,
            )
            .join(", ")}`}
          onReady={(made) => {
            chart.current = made;
          }}
        />
      </Suspense>
    </ChartPanel>
  );
}
