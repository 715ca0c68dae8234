/** Utility against rate: the draft with its handles, the stored curve, the price line, the bounds. */
import { Axes, EndLabel, RateLine } from "./chart-parts";
import { Handles, type Handle } from "./handles";
import { lineAt, type XY } from "./points";
import { pathOf, type Scale } from "./scale";
import type { FlowSituation } from "./situation";

import { fixed, rateText, significant } from "@/lib/numbers";

const inside = (curve: readonly XY[], span: number) => curve.filter(([rate]) => rate <= span);

/** The curve within the window, to its right edge. */
function within(curve: readonly XY[], span: number): XY[] {
  const shown = inside(curve, span);
  const last = shown.at(-1);
  return last && last[0] < span ? [...shown, [span, lineAt(curve, span)]] : shown;
}

function Tip({ scale, at, lines }: { scale: Scale; at: XY; lines: [string, string] }) {
  const { box } = scale;
  const width = 158;
  const x = Math.min(box.width - box.right - width, scale.x(at[0]) + 16);
  const y = Math.min(box.height - box.bottom - 44, scale.y(at[1]) + 12);
  return (
    <g pointerEvents="none">
      <rect
        x={x}
        y={y}
        width={width}
        height="40"
        rx="6"
        fill="var(--surface)"
        stroke="var(--line-2)"
      />
      <text className="tt" x={x + 9} y={y + 16}>
        {lines[0]}
      </text>
      <text x={x + 9} y={y + 32}>
        {lines[1]}
      </text>
    </g>
  );
}

function PriceLine({
  scale,
  draft,
  flow,
}: {
  scale: Scale;
  draft: readonly XY[];
  flow: FlowSituation;
}) {
  if (!(flow.price > 0) || flow.rate > scale.span) return null;
  const here = lineAt(draft, flow.rate);
  if (!Number.isFinite(here)) return null;
  // As long as it stays within the chart, and no longer than a sixth of it to each side.
  const reach = Math.min(
    scale.span / 6,
    Math.abs(scale.high - here) / flow.price,
    Math.abs(here - scale.low) / flow.price || scale.span / 6,
    flow.rate,
  );
  const ends: XY[] = [
    [flow.rate - reach, here - flow.price * reach],
    [flow.rate + reach, here + flow.price * reach],
  ];
  return <path d={pathOf(scale, ends)} fill="none" stroke="var(--price)" strokeWidth="1.5" />;
}

export function UtilityPlot({
  scale,
  draft,
  stored,
  storedName,
  flow,
  allocation,
  handles,
  chosen,
  tip,
  ...moves
}: {
  scale: Scale;
  draft: readonly XY[];
  /** The curve that is in the model; null while the draft is the same. */
  stored: readonly XY[] | null;
  storedName: string;
  flow: FlowSituation | null;
  allocation: string | null;
  handles: readonly Handle[];
  chosen: number;
  tip: [string, string] | null;
  units: { rate: number; utility: number };
  onChoose: (index: number) => void;
  onMove: (index: number, to: XY) => void;
  onRelease: () => void;
  onRemove?: (index: number) => void;
}) {
  const { box, x, y, span } = scale;
  const foot = box.height - box.bottom;
  const line = within(draft, span);
  const end = line.at(-1)?.[1] ?? 0;
  const former = stored ? within(stored, span) : [];
  const formerEnd = former.at(-1)?.[1];
  const at = handles[chosen]?.at;
  return (
    <svg
      className="chart"
      viewBox={`0 0 ${box.width} ${box.height}`}
      role="group"
      aria-label={`Utility against rate, ${significant(end, 4)} at ${rateText(span)} msg/s`}
    >
      <Axes scale={scale} />
      {flow && flow.rateMin > 0 && flow.rateMin <= span ? (
        <>
          <rect
            x={x(0)}
            y={box.top}
            width={x(flow.rateMin) - x(0)}
            height={foot - box.top}
            fill="url(#ghosth)"
            opacity=".5"
          />
          <path className="crs" d={`M${x(flow.rateMin)} ${box.top}V${foot}`} />
          <text className="tf halo" x={x(flow.rateMin) + 5} y={foot - 8}>
            lowest {fixed(flow.rateMin, flow.rateMin % 1 ? 2 : 0)}
          </text>
        </>
      ) : null}
      {flow && flow.rateMax < span ? (
        <>
          <path className="crs" d={`M${x(flow.rateMax)} ${box.top}V${foot}`} />
          <text className="tf halo" x={x(flow.rateMax) - 5} y={foot - 8} textAnchor="end">
            highest {fixed(flow.rateMax, flow.rateMax % 1 ? 2 : 0)}
          </text>
        </>
      ) : null}
      <defs>
        <clipPath id="utility-window">
          <rect x={box.left} y="0" width={box.width - box.left - box.right} height={foot + 2} />
        </clipPath>
      </defs>
      {former.length > 1 ? (
        <path
          clipPath="url(#utility-window)"
          d={pathOf(scale, former)}
          fill="none"
          stroke="var(--text-3)"
          strokeWidth="1.5"
          strokeDasharray="4 3"
        />
      ) : null}
      {line.length > 1 ? (
        <>
          <path
            clipPath="url(#utility-window)"
            d={`${pathOf(scale, line)}V${y(Math.max(scale.low, 0))}H${x(line[0]?.[0] ?? 0)}Z`}
            fill="var(--c1)"
            opacity=".09"
          />
          {flow ? <PriceLine scale={scale} draft={draft} flow={flow} /> : null}
          <path
            clipPath="url(#utility-window)"
            d={pathOf(scale, line)}
            fill="none"
            stroke="var(--c1)"
            strokeWidth="2.5"
            strokeLinejoin="round"
          />
          <EndLabel scale={scale} value={end} colour="var(--c1)">
            {stored ? "draft " : ""}
            {significant(end, 4)}
          </EndLabel>
        </>
      ) : null}
      {formerEnd !== undefined ? (
        <EndLabel scale={scale} value={formerEnd} away={end}>
          {storedName}: {significant(formerEnd, 4)}
        </EndLabel>
      ) : null}
      {flow && allocation ? (
        <RateLine
          scale={scale}
          rate={flow.rate}
          label={`${rateText(flow.rate)} in ${allocation}`}
        />
      ) : null}
      <Handles scale={scale} handles={handles} chosen={chosen} {...moves} />
      {tip && at && at[0] <= span ? <Tip scale={scale} at={at} lines={tip} /> : null}
    </svg>
  );
}
