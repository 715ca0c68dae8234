/** Costs of some maps as bars on one scale: what receivers filter at transport and at messaging. */
import { useId } from "react";

import type { MapCosts } from "@/api/mappings";
import type { ChartData } from "@/components/ui/chart-frame";
import { amountScale } from "@/lib/numbers";
import { useWidth } from "@/lib/width";

const ROW = 26;
const BAR = 16;
const LEFT = 78;
const RIGHT = 58;
/** Between the parts of a bar. */
const GAP = 1;

type Layers = Pick<MapCosts, "cost" | "transport_cost" | "messaging_cost">;
export type LayerBar = Layers & { name: string; isChosen: boolean };

export const LAYER_HEAD = ["Map", "Transport work/s", "Messaging work/s", "Cost work/s"];

export const layerRows = (bars: readonly LayerBar[]): ChartData["rows"] =>
  bars.map((bar) => [bar.name, bar.transport_cost, bar.messaging_cost, bar.cost]);

export const layerScale = (bars: readonly LayerBar[]) =>
  amountScale(
    bars.map(({ cost }) => cost),
    "work/s",
  );

export function LayerBars({
  bars,
  picture,
}: {
  bars: readonly LayerBar[];
  picture: React.Ref<SVGSVGElement>;
}) {
  const [box, width] = useWidth<HTMLDivElement>(344);
  const hatching = useId();
  const scale = layerScale(bars);
  const dearest = Math.max(...bars.map(({ cost }) => cost));
  const length = (cost: number) =>
    dearest > 0 ? (cost / dearest) * Math.max(0, width - LEFT - RIGHT) : 0;
  const height = bars.length * ROW;
  return (
    <>
      <LayerLegend hatching={hatching} />
      <div ref={box}>
        <svg
          ref={picture}
          className="chart"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={bars.map((bar) => spoken(bar, scale)).join("; ")}
        >
          <Hatching id={hatching} />
          {bars.map((bar, at) => {
            const transport = length(bar.transport_cost);
            const x = LEFT + transport + (transport > 0 ? GAP : 0);
            const messaging = Math.max(0, LEFT + length(bar.cost) - x);
            const y = at * ROW + (ROW - BAR) / 2;
            const look = bar.isChosen ? "tt" : "";
            return (
              <g key={bar.name} className="layerbar">
                <title>{spoken(bar, scale)}</title>
                <text className={look} x={0} y={y + 12}>
                  {bar.name}
                </text>
                <rect x={LEFT} y={y} width={transport} height={BAR} rx="2" fill="var(--c1)" />
                <rect x={x} y={y} width={messaging} height={BAR} rx="2" fill="var(--c2)" />
                <rect
                  x={x}
                  y={y}
                  width={messaging}
                  height={BAR}
                  rx="2"
                  fill={`url(#${hatching})`}
                />
                <text className="tt" x={width} y={y + 12} textAnchor="end">
                  {scale.text(bar.cost)}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </>
  );
}

const spoken = ({ name, ...cost }: LayerBar, scale: ReturnType<typeof amountScale>) =>
  `${name}: ${scale.text(cost.cost)} ${scale.unit}, of it transport ${scale.text(cost.transport_cost)} and messaging ${scale.text(cost.messaging_cost)}`;

/** What tells messaging from transport without its colour. */
export const Hatching = ({ id }: { id: string }) => (
  <defs>
    <pattern
      id={id}
      width="5"
      height="5"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <rect width="1.3" height="5" fill="var(--surface)" opacity=".6" />
    </pattern>
  </defs>
);

export function LayerLegend({ hatching }: { hatching: string }) {
  return (
    <p className="legend layerlegend">
      <span>
        <svg width="12" height="12" aria-hidden="true">
          <rect width="12" height="12" rx="2" fill="var(--c1)" />
        </svg>
        transport
      </span>
      <span>
        <svg width="12" height="12" aria-hidden="true">
          <rect width="12" height="12" rx="2" fill="var(--c2)" />
          <rect width="12" height="12" rx="2" fill={`url(#${hatching})`} />
        </svg>
        messaging
      </span>
    </p>
  );
}
