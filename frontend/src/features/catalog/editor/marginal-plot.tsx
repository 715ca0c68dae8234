/** Gain of one more msg/s against the rate; it must fall from left to right, and meets the price. */
import { Axes, EndLabel, RateLine } from "./chart-parts";
import { slopeAfter, type XY } from "./points";
import { LOW_BOX, pathOf, scaleOf } from "./scale";
import type { FlowSituation } from "./situation";

import { priceText, significant } from "@/lib/numbers";

/** A top that shows where curve and price cross: what begins far above is cut off there. */
function topOf(all: readonly number[], price: number): number {
  const sorted = [...all].filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  const highest = sorted.at(-1) ?? 1;
  const middle = sorted[Math.floor(sorted.length / 2)] ?? highest;
  const wanted = Math.max(
    price * 1.3,
    middle * 8,
    (sorted[Math.floor(sorted.length * 0.85)] ?? 0) * 1.1,
  );
  return Math.max(Math.min(highest * 1.15, wanted), 1e-9);
}

export function MarginalPlot({
  width,
  span,
  steps,
  bad,
  draft,
  stored,
  flow,
}: {
  width: number;
  span: number;
  /** The points of a drawn function: its slopes are steps. */
  steps: readonly XY[] | null;
  bad: readonly number[];
  /** Marginal utility by rate, for smooth functions. */
  draft: readonly XY[];
  stored: readonly XY[] | null;
  flow: FlowSituation | null;
}) {
  const price = flow?.price ?? 0;
  const slopes = steps ? steps.map((_, i) => slopeAfter(steps, i)) : draft.map(([, gain]) => gain);
  // Two points at one rate, for a moment while one types, have no slope between them.
  const known = slopes.filter((slope) => Number.isFinite(slope));
  const top = steps ? Math.max(1e-9, price, ...known) * 1.25 : topOf(known, price);
  const scale = scaleOf({ ...LOW_BOX, width }, span, 0, top);
  const { box, x, y } = scale;
  const clip = "marginal-window";
  const smooth = (curve: readonly XY[]) =>
    pathOf(
      scale,
      curve.filter(([rate]) => rate <= span),
    );
  const last = steps ? 0 : (draft.filter(([rate]) => rate <= span).at(-1)?.[1] ?? 0);
  return (
    <svg
      className="chart"
      viewBox={`0 0 ${box.width} ${box.height}`}
      role="img"
      aria-label={`Marginal utility against rate${price > 0 ? `, price ${priceText(price)}` : ""}`}
    >
      <defs>
        <clipPath id={clip}>
          <rect
            x={box.left}
            y={box.top - 6}
            width={box.width - box.left - box.right}
            height={box.height - box.top - box.bottom + 8}
          />
        </clipPath>
      </defs>
      <Axes scale={scale} />
      <g clipPath={`url(#${clip})`}>
        {stored ? (
          <path
            d={smooth(stored)}
            fill="none"
            stroke="var(--text-3)"
            strokeWidth="1.5"
            strokeDasharray="4 3"
          />
        ) : null}
        {steps ? (
          steps.slice(0, -1).map(([rate], i) => {
            const next = steps[i + 1]?.[0] ?? rate;
            if (!Number.isFinite(slopes[i])) return null;
            const colour = bad.includes(i) ? "var(--bad)" : "var(--c1)";
            const height = y(slopes[i] ?? 0);
            return (
              <g key={i}>
                <rect
                  x={x(rate)}
                  y={Math.min(height, y(0))}
                  width={Math.max(0, x(next) - x(rate))}
                  height={Math.abs(y(0) - height)}
                  fill={colour}
                  opacity=".13"
                />
                <path d={`M${x(rate)} ${height}H${x(next)}`} stroke={colour} strokeWidth="2.5" />
              </g>
            );
          })
        ) : (
          <path
            d={smooth(draft)}
            fill="none"
            stroke="var(--c1)"
            strokeWidth="2.5"
            strokeLinejoin="round"
          />
        )}
      </g>
      {price > 0 ? (
        <>
          <path
            d={`M${box.left} ${y(price)}H${box.width - box.right}`}
            stroke="var(--price)"
            strokeWidth="1.5"
          />
          <EndLabel scale={scale} value={price}>
            price {priceText(price)}
          </EndLabel>
        </>
      ) : null}
      {steps
        ? steps.slice(0, -1).map(([rate], i) => {
            const next = steps[i + 1]?.[0] ?? rate;
            const middle = (x(rate) + Math.min(x(next), box.width - box.right)) / 2;
            return Number.isFinite(slopes[i]) && x(next) - x(rate) > 34 && rate < span ? (
              <text
                key={i}
                className="tt halo"
                x={middle}
                y={y(slopes[i] ?? 0) - 6}
                textAnchor="middle"
              >
                {significant(slopes[i], 3)}
              </text>
            ) : null;
          })
        : null}
      {flow ? <RateLine scale={scale} rate={flow.rate} /> : null}
      {!steps ? (
        <EndLabel
          scale={scale}
          value={last}
          away={price > 0 ? price : undefined}
          colour="var(--c1)"
        >
          {significant(last, 3)}
        </EndLabel>
      ) : null}
    </svg>
  );
}
