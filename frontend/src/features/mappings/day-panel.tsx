/** What receivers filtered over the last day, by quarters of an hour, as agents measured it. */
import { useId, useRef } from "react";

import { dayBars } from "./day-bars";
import { Hatching, LayerLegend } from "./layer-bars";

import { useFiltering, type Filtering } from "@/api/mappings";
import { ChartPanel, svgText } from "@/components/ui/chart-frame";
import { Panel, QueryBody } from "@/components/ui/panel";
import { amountScale, fixed, rateText, UNKNOWN } from "@/lib/numbers";
import { clockText } from "@/lib/time";
import { useWidth } from "@/lib/width";

const TITLE = "Filtering over the day";
const HEIGHT = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [44, 10, 18, 24];

const HEAD = [
  ...["Quarter from", "Cost work/s", "Transport work/s", "Messaging work/s"],
  ...["Unwanted msg/s", "Dropped msg/s", "Wanted msg/s", "Measured s"],
];

/** `isQuiet`: without anything to show it is not there. */
export function DayPanel({ system, isQuiet = false }: { system: string; isQuiet?: boolean }) {
  const filtering = useFiltering(system);
  const { data } = filtering;
  if (data && data.cells.length > 0) return <Day filtering={data} />;
  if (isQuiet) return null;
  return (
    <Panel title={TITLE}>
      <QueryBody query={filtering} what="What was filtered" rows={3}>
        {({ because }) => <p className="lead">{because}</p>}
      </QueryBody>
    </Panel>
  );
}

function Day({ filtering: { cells } }: { filtering: Filtering }) {
  const [box, width] = useWidth<HTMLDivElement>(720);
  const picture = useRef<SVGSVGElement>(null);
  const hatching = useId();
  const [right, bottom] = [width - RIGHT, HEIGHT - BOTTOM];
  const scale = amountScale(
    cells.map(({ cost }) => cost),
    "work/s",
  );
  const day = dayBars(cells, { left: LEFT, right, top: TOP, bottom });
  const latest = cells.at(-1);
  const dearest = cells.reduce((most, one) => (one.cost > most.cost ? one : most));
  return (
    <ChartPanel
      title={TITLE}
      sub={`${scale.unit}, by the map in force then, at measured rates`}
      data={{
        name: "filtering over the day",
        head: HEAD,
        rows: cells.map((cell) => [
          ...[cell.at, cell.cost, cell.transport_cost, cell.messaging_cost],
          ...[cell.unwanted_per_s, cell.dropped_per_s, cell.wanted_per_s, cell.measured_s],
        ]),
      }}
      svg={() => svgText(picture.current)}
      format={(cell, column) => {
        if (typeof cell !== "number") return cell === null ? UNKNOWN : clockText(cell);
        return column === 7 ? fixed(cell) : rateText(cell);
      }}
      footer="A quarter that no agent measured has no bar."
    >
      <LayerLegend hatching={hatching} />
      <div ref={box}>
        <svg
          ref={picture}
          className="chart"
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={`Cost of filtering: ${scale.text(latest?.cost)} ${scale.unit} in the latest quarter of an hour, at most ${scale.text(dearest.cost)} ${scale.unit} from ${clockText(dearest.at)}`}
        >
          <Hatching id={hatching} />
          <text className="tf" x={right} y={10} textAnchor="end">
            hours UTC
          </text>
          {day.ticks.map((tick) => (
            <g key={tick.cost}>
              <path className="gridl" d={`M${LEFT} ${tick.y}H${right}`} />
              <text className="tf" x={LEFT - 7} y={tick.y + 4} textAnchor="end">
                {scale.text(tick.cost)}
              </text>
            </g>
          ))}
          {day.hours.map(({ x, at }) => (
            <text key={at} className="tf" x={x} y={HEIGHT - 7} textAnchor="middle">
              {clockText(at, new Date(at))}
            </text>
          ))}
          {day.bars.map(({ cell, x, width: thick, transport, messaging }) => (
            <g key={cell.at}>
              <title>{`${clockText(cell.at)}: ${scale.text(cell.cost)} ${scale.unit}, of it transport ${scale.text(cell.transport_cost)} and messaging ${scale.text(cell.messaging_cost)}`}</title>
              <rect
                x={x}
                y={transport.y}
                width={thick}
                height={transport.height}
                fill="var(--c1)"
              />
              {["var(--c2)", `url(#${hatching})`].map((fill) => (
                <rect
                  key={fill}
                  x={x}
                  y={messaging.y}
                  width={thick}
                  height={messaging.height}
                  fill={fill}
                />
              ))}
            </g>
          ))}
        </svg>
      </div>
    </ChartPanel>
  );
}
