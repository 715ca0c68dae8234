/** What maps cost at both layers, on one scale: random, flat, in force, chosen, cheapest. */
import { useRef } from "react";

import { comparedMap, type ChosenMap } from "./use-chosen-map";

import type { ComparedMap, MappingDetail } from "@/api/mappings";
import { ChartPanel, svgText } from "@/components/ui/chart-frame";
import { amountScale, countText, rateText, UNKNOWN } from "@/lib/numbers";
import { useWidth } from "@/lib/width";

const ROW = 26;
const BAR = 16;
const LEFT = 78;
const RIGHT = 58;
/** Between the parts of a bar. */
const GAP = 1;

const NAMES = { random: "Random", flat: "Flat", in_force: "In force", anew: "Cheapest" } as const;

type Layers = Pick<ComparedMap, "cost" | "transport_cost" | "messaging_cost">;
type Bar = Layers & { name: string; isChosen: boolean };

function barsOf(mapping: MappingDetail, { point, isProposed }: ChosenMap): Bar[] {
  const compared = (map: keyof typeof NAMES): Bar[] => {
    const one = comparedMap(mapping, map);
    return one === undefined ? [] : [{ ...one, name: NAMES[map], isChosen: false }];
  };
  return [
    ...compared("random"),
    ...compared("flat"),
    ...compared("in_force"),
    { ...point, name: isProposed ? "Proposed" : "Chosen", isChosen: true },
    ...compared("anew"),
  ];
}

/** What a bar leaves out, and why one is not there. */
function notesOf(mapping: MappingDetail): string | undefined {
  const { unmapped } = mapping.outcome;
  const notes = [
    ...(comparedMap(mapping, "flat") === undefined
      ? ["Flat: not computed, no time or memory was left for it."]
      : []),
    ...(unmapped > 0 && mapping.former_cost !== null
      ? [`In force: without ${countText(unmapped, "flow")} that it does not map.`]
      : []),
  ];
  return notes.length > 0 ? notes.join(" ") : undefined;
}

export function CostLayers({ mapping, chosen }: { mapping: MappingDetail; chosen: ChosenMap }) {
  const [box, width] = useWidth<HTMLDivElement>(344);
  const picture = useRef<SVGSVGElement>(null);
  const bars = barsOf(mapping, chosen);
  const scale = amountScale(
    bars.map(({ cost }) => cost),
    "work/s",
  );
  const dearest = Math.max(...bars.map(({ cost }) => cost));
  const length = (cost: number) =>
    dearest > 0 ? (cost / dearest) * Math.max(0, width - LEFT - RIGHT) : 0;
  const data = {
    name: `${mapping.name} cost by layer`,
    head: ["Map", "Transport work/s", "Messaging work/s", "Cost work/s"],
    rows: bars.map((bar) => [bar.name, bar.transport_cost, bar.messaging_cost, bar.cost]),
  };
  const height = bars.length * ROW;
  return (
    <ChartPanel
      title="Cost by layer"
      sub={scale.unit}
      data={data}
      svg={() => svgText(picture.current)}
      format={(cell) => (typeof cell === "number" ? rateText(cell) : (cell ?? UNKNOWN))}
      footer={notesOf(mapping)}
    >
      <Legend />
      <div ref={box}>
        <svg
          ref={picture}
          className="chart"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={bars.map((bar) => spoken(bar, scale)).join("; ")}
        >
          <defs>
            <pattern
              id="layerh"
              width="5"
              height="5"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <rect width="1.3" height="5" fill="var(--surface)" opacity=".6" />
            </pattern>
          </defs>
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
                <rect x={x} y={y} width={messaging} height={BAR} rx="2" fill="url(#layerh)" />
                <text className="tt" x={width} y={y + 12} textAnchor="end">
                  {scale.text(bar.cost)}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </ChartPanel>
  );
}

const spoken = ({ name, ...cost }: Bar, scale: ReturnType<typeof amountScale>) =>
  `${name}: ${scale.text(cost.cost)} ${scale.unit}, of it transport ${scale.text(cost.transport_cost)} and messaging ${scale.text(cost.messaging_cost)}`;

function Legend() {
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
          <rect width="12" height="12" rx="2" fill="url(#layerh)" />
        </svg>
        messaging
      </span>
    </p>
  );
}
