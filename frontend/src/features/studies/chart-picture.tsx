/** A study's chart, loaded when it is first drawn, at the height that it will have. */
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { lazy, Suspense } from "react";

import { Loading } from "@/components/ui/panel";

const StudyChart = lazy(() => import("./study-chart"));

export function ChartPicture(props: {
  option: EChartsCoreOption;
  height: number;
  label: string;
  stops: readonly number[];
  words: (stop: number) => string;
  onReady: (chart: EChartsType | null) => void;
}) {
  return (
    <Suspense
      fallback={
        <div style={{ height: props.height }}>
          <Loading rows={5} />
        </div>
      }
    >
      <StudyChart {...props} />
    </Suspense>
  );
}

/** One entry of a legend: a stroke as the chart draws it, or a block for bars. */
export function Key({
  colour,
  dash,
  block = false,
  children,
}: {
  colour: string;
  dash?: string;
  block?: boolean;
  children: React.ReactNode;
}) {
  return (
    <span>
      {block ? (
        <svg width="10" height="10" aria-hidden="true">
          <rect width="10" height="10" rx="2" fill={colour} />
        </svg>
      ) : (
        <svg width="18" height="8" aria-hidden="true">
          <path d="M0 4H18" stroke={colour} strokeWidth="2" strokeDasharray={dash} />
        </svg>
      )}
      {children}
    </span>
  );
}
