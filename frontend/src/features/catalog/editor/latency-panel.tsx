/** A latency target as the queueing model sees it: rate, then round trip, then worth. */
import { Axes, EndLabel, RateLine } from "./chart-parts";
import type { Drawn } from "./drawn";
import type { XY } from "./points";
import { LOW_BOX, pathOf, scaleOf } from "./scale";
import type { FlowSituation } from "./situation";

import { ChartPanel } from "@/components/ui/chart-frame";
import { UnitNumber } from "@/components/ui/unit-number";
import { durationText, rateText, significant } from "@/lib/numbers";

const MS = 1000;
/** A target up to so many times the shortest round trip is drawn. */
const MOST_LEAST = 100;

const waitText = (seconds: number | null | undefined) => {
  const shown = durationText(seconds);
  return `${shown.text} ${shown.unit}`.trim();
};

export function LatencyPanel({
  name,
  drawn,
  threshold_s,
  span,
  width,
  flow,
}: {
  name: string;
  drawn: Drawn;
  threshold_s: number | null;
  span: number;
  width: number;
  flow: FlowSituation | null;
}) {
  const waits: XY[] = drawn.points.flatMap((point) =>
    point.latency_s === null ? [] : [[point.rate_per_s, point.latency_s * MS] as const],
  );
  const target = threshold_s === null ? null : threshold_s * MS;
  const least = Math.min(...waits.map(([, wait]) => wait));
  // The target belongs into the picture unless it would press the round trips flat.
  const top = target !== null && target <= MOST_LEAST * least ? 1.2 * target : 40 * least;
  const scale = scaleOf({ ...LOW_BOX, width, height: 190 }, span, 0, Math.max(top, 1e-6));
  const { box, y, x } = scale;
  const shown = waits.filter(([rate]) => rate <= span);
  const range = drawn.derived;
  return (
    <ChartPanel
      title="Round trip"
      sub="in ms, by the queueing model: rate, latency, worth"
      data={{
        name: `${name} round trip`,
        head: ["Rate msg/s", "Round trip ms", "Utility"],
        rows: drawn.points.map((point) => [
          point.rate_per_s,
          point.latency_s === null ? null : point.latency_s * MS,
          point.utility,
        ]),
      }}
      format={(cell, column) =>
        typeof cell === "number" ? (column === 0 ? rateText(cell) : significant(cell, 4)) : "\u2013"
      }
    >
      <svg
        className="chart"
        viewBox={`0 0 ${box.width} ${box.height}`}
        role="img"
        aria-label={`Round trip against rate, at least ${waitText(least / MS)}`}
      >
        <Axes scale={scale} />
        {range && range.rate_min_per_s <= span ? (
          <>
            <rect
              x={x(0)}
              y={box.top}
              width={x(range.rate_min_per_s) - x(0)}
              height={box.height - box.bottom - box.top}
              fill="url(#ghosth)"
              opacity=".5"
            />
            <text className="tf" x={x(range.rate_min_per_s) + 5} y={box.height - box.bottom - 8}>
              worth begins at {rateText(range.rate_min_per_s)}
            </text>
          </>
        ) : null}
        <defs>
          <clipPath id="latency-window">
            <rect
              x={box.left}
              y={box.top - 6}
              width={box.width - box.left - box.right}
              height={box.height - box.top - box.bottom + 8}
            />
          </clipPath>
        </defs>
        <path
          clipPath="url(#latency-window)"
          d={pathOf(scale, shown)}
          fill="none"
          stroke="var(--c1)"
          strokeWidth="2.5"
          strokeLinejoin="round"
        />
        {target !== null && target <= scale.high ? (
          <>
            <path
              className="crs"
              d={`M${box.left - 2} ${y(target)}H${box.width - box.right + 2}`}
            />
            <EndLabel scale={scale} value={target}>
              target {waitText(threshold_s)}
            </EndLabel>
          </>
        ) : null}
        {drawn.knots
          .filter(
            (knot) => knot.rate_per_s <= span && (knot.latency_s ?? Infinity) * MS <= scale.high,
          )
          .map((knot) => (
            <circle
              key={knot.rate_per_s}
              cx={x(knot.rate_per_s)}
              cy={y((knot.latency_s ?? 0) * MS)}
              r="3"
              fill="var(--c1)"
            />
          ))}
        {flow ? <RateLine scale={scale} rate={flow.rate} /> : null}
      </svg>
      {drawn.knots.length > 0 ? (
        <dl className="kv kvcols">
          {drawn.knots.slice(0, 12).map((knot) => (
            <div key={knot.rate_per_s}>
              <dt>
                {rateText(knot.rate_per_s)} msg/s,{" "}
                <UnitNumber value={knot.latency_s} as="duration" />
              </dt>
              <dd>
                {significant(knot.utility, 5)}
                <span className="u">utility</span>
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
    </ChartPanel>
  );
}
