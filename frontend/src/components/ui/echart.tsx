/** ECharts, loaded when the first chart is drawn, with our colours read again when the theme changes. */
import { LineChart } from "echarts/charts";
import { GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { init, use as register, type EChartsCoreOption, type EChartsType } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { useEffect, useRef } from "react";

register([LineChart, GridComponent, MarkLineComponent, TooltipComponent, SVGRenderer]);

export default function EChart({
  option,
  height,
  label,
  onReady,
}: {
  option: EChartsCoreOption;
  height: number;
  label: string;
  onReady?: (chart: EChartsType | null) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const ready = useRef(onReady);
  useEffect(() => {
    ready.current = onReady;
  });
  useEffect(() => {
    if (!box.current) return;
    const made = init(box.current, null, { renderer: "svg" });
    chart.current = made;
    ready.current?.(made);
    const resize = new ResizeObserver(() => made.resize());
    resize.observe(box.current);
    return () => {
      resize.disconnect();
      ready.current?.(null);
      made.dispose();
      chart.current = null;
    };
  }, []);
  useEffect(() => {
    chart.current?.setOption(option, { notMerge: true });
  }, [option]);
  return <div ref={box} style={{ height }} role="img" aria-label={label} />;
}
