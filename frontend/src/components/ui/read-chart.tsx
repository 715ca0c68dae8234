/** A chart with areas that is read by keyboard, too: arrow keys move the hair from stop to stop. */
import { MarkAreaComponent } from "echarts/components";
import { use as register, type EChartsCoreOption, type EChartsType } from "echarts/core";
import { useRef, useState } from "react";

import EChart from "./echart";

register([MarkAreaComponent]);

const STEPS: Record<string, (at: number, last: number) => number> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  Home: () => 0,
  End: (_, last) => last,
};

export default function ReadChart({
  option,
  height,
  label,
  stops,
  words,
  onReady,
}: {
  option: EChartsCoreOption;
  height: number;
  label: string;
  /** Positions on the x axis where there is something to read. */
  stops: readonly number[];
  /** What is read at a stop. */
  words: (stop: number) => string;
  onReady: (chart: EChartsType | null) => void;
}) {
  const chart = useRef<EChartsType | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const last = stops.length - 1;
  const show = (index: number) => {
    const stop = stops[index];
    const made = chart.current;
    if (stop === undefined || !made) return;
    setAt(index);
    const x = made.convertToPixel({ xAxisIndex: 0 }, stop);
    made.dispatchAction({ type: "showTip", x, y: 60 });
  };
  return (
    <div
      className="readchart"
      role="slider"
      tabIndex={0}
      aria-label={`${label}; arrow keys move`}
      aria-valuemin={1}
      aria-valuemax={Math.max(1, stops.length)}
      aria-valuenow={Math.min(at ?? 0, Math.max(last, 0)) + 1}
      aria-valuetext={at === null ? "no point chosen" : words(Math.min(at, last))}
      onKeyDown={(event) => {
        const step = STEPS[event.key];
        if (!step || last < 0) return;
        event.preventDefault();
        // The first arrow shows the first point, the next ones move.
        show(Math.max(0, Math.min(last, step(at ?? -1, last))));
      }}
      onBlur={() => chart.current?.dispatchAction({ type: "hideTip" })}
    >
      <EChart
        option={option}
        height={height}
        label={label}
        onReady={(made) => {
          chart.current = made;
          onReady(made);
        }}
      />
    </div>
  );
}
