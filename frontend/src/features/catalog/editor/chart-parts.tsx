/** Grid, axes and marks that the editor's charts share. */
import type { Scale } from "./scale";

import { axisText } from "@/lib/numbers";

const stepOf = (ticks: readonly number[]) => (ticks[1] ?? 1) - (ticks[0] ?? 0);

export function Axes({ scale, unit = "msg/s" }: { scale: Scale; unit?: string }) {
  const { box, x, y, ticks, rates } = scale;
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick}>
          <path className="gridl" d={`M${box.left} ${y(tick)}H${box.width - box.right}`} />
          <text className="tf" x={box.left - 8} y={y(tick) + 4} textAnchor="end">
            {axisText(tick, stepOf(ticks))}
          </text>
        </g>
      ))}
      {rates.map((rate) => (
        <text key={rate} className="tf" x={x(rate)} y={box.height - 8} textAnchor="middle">
          {axisText(rate, stepOf(rates))}
        </text>
      ))}
      <text className="tf" x={box.width - 4} y={box.height - 8} textAnchor="end">
        {unit}
      </text>
    </>
  );
}

/** The rate that the allocation gives, as a dotted line. */
export function RateLine({ scale, rate, label }: { scale: Scale; rate: number; label?: string }) {
  if (rate > scale.span) return null;
  const { box, x } = scale;
  const foot = box.height - box.bottom;
  const left = x(rate) > box.width * 0.7;
  return (
    <>
      <path d={`M${x(rate)} ${box.top}V${foot}`} stroke="var(--text-3)" strokeDasharray="2 3" />
      {label ? (
        <text
          className="tt"
          x={x(rate) + (left ? -6 : 6)}
          y={foot - 24}
          textAnchor={left ? "end" : "start"}
        >
          {label}
        </text>
      ) : null}
    </>
  );
}

/** A label at the right end of a line, moved apart from another where the two would meet. */
export function EndLabel({
  scale,
  value,
  away,
  children,
  colour,
}: {
  scale: Scale;
  value: number;
  /** The height of the other label; this one gives way to it. */
  away?: number;
  children: React.ReactNode;
  colour?: string;
}) {
  const { box } = scale;
  const clamp = (at: number) => Math.max(box.top + 8, Math.min(box.height - box.bottom, at));
  let at = clamp(scale.y(value) + 4);
  if (away !== undefined) {
    const other = clamp(scale.y(away) + 4);
    if (Math.abs(at - other) < 13) at = value >= away ? other - 13 : other + 13;
  }
  return (
    <text
      x={box.width - box.right + 6}
      y={at}
      className={colour ? undefined : "tf"}
      style={colour ? { fill: colour, fontWeight: 600 } : undefined}
    >
      {children}
    </text>
  );
}

export function LegendLine({
  colour,
  dash,
  width = 2.5,
  children,
}: {
  colour: string;
  dash?: string;
  width?: number;
  children: React.ReactNode;
}) {
  return (
    <span>
      <svg width="18" height="8" aria-hidden="true">
        <path d="M0 4H18" stroke={colour} strokeWidth={width} strokeDasharray={dash} />
      </svg>
      {children}
    </span>
  );
}
