/** The series of a quantity over time, with the names of the lines below. */
import type { EChartsType } from "echarts/core";
import { lazy, Suspense, useMemo, useRef } from "react";

import { NO_CRESTS, type Crest } from "./boards";
import { colourName, dashOf, HEIGHT, optionOf, readingAt, unmeasuredOf } from "./chart-option";
import type { Limit } from "./merged";
import type { Sums } from "./sums";
import { GROUPS, nameOf, scaleOf, withUnit, type Scale } from "./words";

import { ChartPanel } from "@/components/ui/chart-frame";
import { Loading } from "@/components/ui/panel";
import { countText, fixed, UNKNOWN } from "@/lib/numbers";
import { useTheme } from "@/lib/theme";
import { clockText } from "@/lib/time";

const ReadChart = lazy(() => import("@/components/ui/read-chart"));

/** One entry of the legend: a stroke as the chart draws it. */
export function Stroke({ index }: { index: number }) {
  return (
    <svg width="18" height="8" aria-hidden="true">
      <path
        d="M0 4H18"
        stroke={`var(--${colourName(index)})`}
        strokeWidth="2"
        strokeDasharray={dashOf(index) === "dashed" ? "5 3" : undefined}
      />
    </svg>
  );
}

const NO_LIMITS: readonly Limit[] = [];

const stepText = (seconds: number) =>
  seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;

export function subOf(sums: Sums, unit: string): string {
  const shown = sums.left_out === 0 ? "" : `, the ${sums.series.length} largest of `;
  const total = sums.series.length + sums.left_out;
  const which = shown === "" ? "" : `${shown}${fixed(total)} ${GROUPS[sums.by].many}`;
  return `${unit === "" ? "" : `${unit}, `}steps of ${stepText(sums.step_s)}, UTC${which}`;
}

/** What is in force now; where nobody knows that, the last that was measured of each limit. */
function crestTexts(
  crests: readonly Crest[],
  limits: readonly Limit[],
  scale: Scale,
): readonly string[] {
  if (crests.length > 0) return crests.map(({ text }) => text);
  return limits.map(({ name, values }) => {
    const latest = values.findLast((value) => value !== null);
    return latest === undefined ? name : `${name} ${withUnit(scale.text(latest), scale.unit)}`;
  });
}

export function SeriesChart({
  sums,
  title,
  stale,
  right,
  crests = NO_CRESTS,
  limits = NO_LIMITS,
  leftOut = 0,
}: {
  sums: Sums;
  title: string;
  stale: boolean;
  right?: React.ReactNode;
  /** What the lines should not pass; where `limits` are known it is what is in force now. */
  crests?: readonly Crest[];
  /** The same in the course of time. */
  limits?: readonly Limit[];
  /** The number of further series, of several questions together. */
  leftOut?: number;
}) {
  const theme = useTheme();
  const chart = useRef<EChartsType | null>(null);
  const scale = useMemo(() => scaleOf(sums), [sums]);
  const option = useMemo(
    () => optionOf(sums, scale, theme, limits.length > 0 ? NO_CRESTS : crests, limits),
    [sums, scale, theme, crests, limits],
  );
  const stops = useMemo(() => sums.steps.map((start) => new Date(start).getTime()), [sums]);
  const names = sums.series.map(({ name }) => nameOf(name, sums.by));
  const hasGaps = unmeasuredOf(sums).length > 0;
  return (
    <ChartPanel
      title={title}
      sub={subOf(sums, scale.unit)}
      stale={stale}
      right={right}
      data={{
        name: `${title} ${sums.since}`,
        head: [
          "Time",
          ...[...names, ...limits.map(({ name }) => name)].map((name) =>
            sums.unit ? `${name}, ${sums.unit}` : name,
          ),
        ],
        rows: sums.steps.map((start, step) => [
          start,
          ...[...sums.series, ...limits].map(({ values }) => values[step]),
        ]),
      }}
      format={(cell, column) =>
        column === 0
          ? clockText(String(cell))
          : typeof cell === "number"
            ? scale.text(cell)
            : UNKNOWN
      }
      svg={() => chart.current?.renderToSVGString() ?? null}
      below={
        <div className="legend">
          {names.map((name, index) => (
            <span key={name}>
              <Stroke index={index} />
              <span className="clip" title={name}>
                {name}
              </span>
            </span>
          ))}
          {crestTexts(crests, limits, scale).map((text) => (
            <span key={text}>
              <i className="crestline" aria-hidden="true" />
              {text}
            </span>
          ))}
          {leftOut > 0 ? (
            <span className="faint">{fixed(leftOut)} smaller ones left out</span>
          ) : null}
          {hasGaps ? (
            <span>
              <i className="unmeasured" aria-hidden="true" />
              nothing measured
            </span>
          ) : null}
        </div>
      }
    >
      <Suspense
        fallback={
          <div style={{ height: HEIGHT }}>
            <Loading rows={6} />
          </div>
        }
      >
        <ReadChart
          option={option}
          height={HEIGHT}
          label={`${title}, ${countText(names.length, "line")}`}
          stops={stops}
          words={(step) => readingAt(sums, scale, step, limits).join(". ")}
          onReady={(made) => {
            chart.current = made;
          }}
        />
      </Suspense>
    </ChartPanel>
  );
}
