/** How shares of the rate moved between brokers: stacked over time, dashed where the plan put them. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { lazy, Suspense, useMemo, useRef } from "react";

import { drawnOf, historyOf, momentText, type Moment } from "./adaptation";
import { colourName, foldedOf, type Band } from "./adaptation-bands";

import type { Adaptation } from "@/api/adaptation";
import { ChartPanel } from "@/components/ui/chart-frame";
import { Loading } from "@/components/ui/panel";
import { escaped, fontOf, tooltipLook } from "@/lib/chart-look";
import { countText, percentText, rateText } from "@/lib/numbers";
import { token, useTheme } from "@/lib/theme";

const EChart = lazy(() => import("@/components/ui/echart"));

const HEIGHT = 210;
/** A band that is lower has no room for its name; the table beside it has all names. */
const LEAST_LABELLED = 0.07;
/** The end of the axis moves on in such steps. */
const STEP_MS = 10_000;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

const timeText = (ms: number) => momentText(new Date(ms).toISOString());
const shareOf = (band: Band, { rates }: Moment, total: number) =>
  band.brokers.reduce((sum, broker) => sum + (rates[broker] ?? 0), 0) / total;

type Drawn = {
  bands: readonly Band[];
  history: readonly Moment[];
  inForce: Moment;
  /** The whole rate, tokens/s. */
  total: number;
};

function optionOf(drawn: Drawn, theme: string): EChartsCoreOption {
  const { bands, history, inForce, total } = drawn;
  const font = fontOf();
  const last = history.at(-1);
  const colour = (at: number) => token(colourName(bands, at));
  let below = 0;
  const ends = bands.map((band) => {
    const share = last ? shareOf(band, last, total) : 0;
    below += share;
    return { share, middle: below - share / 2 };
  });
  let planned = 0;
  const borders = bands.slice(0, -1).map((band) => (planned += shareOf(band, inForce, total)));
  return {
    animation: false,
    useUTC: true,
    backgroundColor: "transparent",
    darkMode: theme === "dark",
    textStyle: font,
    grid: { left: 44, right: 118, top: 12, bottom: 26 },
    xAxis: {
      type: "time",
      min: history[0]?.at,
      max: last?.at,
      axisLine: { lineStyle: { color: token("line-2") } },
      axisTick: { show: false },
      splitLine: { show: false },
      splitNumber: 4,
      axisLabel: { color: token("text-3"), ...font, hideOverlap: true, formatter: timeText },
    },
    yAxis: {
      type: "value",
      min: 0,
      max: 1,
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: {
        color: token("text-3"),
        ...font,
        customValues: TICKS,
        formatter: (value: number) => percentText(value),
      },
      splitLine: { lineStyle: { color: token("line") } },
    },
    tooltip: {
      trigger: "axis",
      ...tooltipLook(),
      axisPointer: { type: "line", lineStyle: { color: token("text-3"), type: "solid" } },
      formatter: (given: unknown) => {
        const rows = Array.isArray(given) ? (given as { axisValue?: unknown }[]) : [];
        const at = Number(rows[0]?.axisValue ?? last?.at);
        const moment = history.findLast((one) => one.at <= at) ?? history[0];
        if (!moment) return "";
        return [
          timeText(moment.at),
          ...bands.toReversed().map((band) => {
            const share = shareOf(band, moment, total);
            return `${escaped(band.name)} <b>${percentText(share)}</b> ${rateText(share * total)} tokens/s`;
          }),
        ].join("<br>");
      },
    },
    series: [
      ...bands.map((band, at) => ({
        name: band.name,
        type: "line",
        stack: "rate",
        step: "end",
        data: history.map((moment) => [moment.at, shareOf(band, moment, total)]),
        showSymbol: false,
        lineStyle: { width: 1.5, color: token("surface") },
        itemStyle: { color: colour(at) },
        areaStyle: { color: colour(at), opacity: 0.6 },
      })),
      {
        name: "in force",
        type: "line",
        data: [],
        silent: true,
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color: token("crest"), width: 1, type: "dashed" },
          label: { show: false },
          data: borders.map((yAxis) => ({ yAxis })),
        },
      },
      ...bands.map((band, at) => ({
        name: `label ${band.name}`,
        type: "line",
        data: last ? [[last.at, ends[at]?.middle]] : [],
        symbol: "circle",
        symbolSize: 0.1,
        silent: true,
        tooltip: { show: false },
        label: {
          show: (ends[at]?.share ?? 0) >= LEAST_LABELLED,
          position: "right",
          distance: 8,
          width: 104,
          overflow: "truncate",
          formatter: `${band.name} ${percentText(ends[at]?.share)}`,
          color: colour(at),
          fontWeight: 600,
          ...font,
        },
      })),
    ],
  };
}

/** Drawn anew only when `drawn` changes: what is measured changes every second, and a picture loses
 * what somebody reads in it. */
function Picture({
  drawn,
  label,
  onReady,
}: {
  drawn: string;
  label: string;
  onReady: (chart: EChartsType | null) => void;
}) {
  const theme = useTheme();
  const option = useMemo(() => optionOf(JSON.parse(drawn) as Drawn, theme), [drawn, theme]);
  return (
    <Suspense
      fallback={
        <div style={{ height: HEIGHT }}>
          <Loading rows={5} />
        </div>
      }
    >
      <EChart option={option} height={HEIGHT} label={label} onReady={onReady} />
    </Suspense>
  );
}

/** Nothing while no decision has moved a rate. */
export function AdaptationChart({
  adaptation,
  topic,
  now,
}: {
  adaptation: Adaptation;
  topic: string;
  /** When it was read. */
  now: number;
}) {
  const chart = useRef<EChartsType | null>(null);
  const { parts, contract } = adaptation;
  const until = Math.floor(now / STEP_MS) * STEP_MS;
  const history = historyOf(adaptation, until);
  const bands = foldedOf(adaptation);
  const total = contract?.token_rate_per_s ?? 0;
  const inForce = {
    at: until,
    rates: Object.fromEntries(parts.map((part) => [part.broker, part.in_force_rate_per_s])),
  };
  const text = JSON.stringify({ bands, history, inForce, total });
  const last = history.at(-1);
  if (!last || total <= 0) return null;
  const words = (moment: Moment) =>
    bands.map((band) => `${band.name} ${percentText(shareOf(band, moment, total))}`).join(", ");
  const count = countText(drawnOf(adaptation).length, "decision");
  return (
    <ChartPanel
      title="Shares of the rate"
      sub={`over ${count}, UTC; dashed: as in force`}
      data={{
        name: `${topic} shares of the rate`,
        head: ["Time", ...parts.map(({ broker }) => `${broker}, tokens/s`)],
        rows: history.map(({ at, rates }) => [
          new Date(at).toISOString(),
          ...parts.map(({ broker }) => rates[broker]),
        ]),
      }}
      format={(cell, column) =>
        typeof cell === "number" ? rateText(cell) : column === 0 ? momentText(String(cell)) : ""
      }
      svg={() => chart.current?.renderToSVGString() ?? null}
    >
      <Picture
        drawn={text}
        label={`Shares of the rate over ${count}. Now: ${words(last)}. In force: ${words(inForce)}.`}
        onReady={(made) => {
          chart.current = made;
        }}
      />
    </ChartPanel>
  );
}
