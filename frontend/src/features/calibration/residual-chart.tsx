/** Load measured against load predicted: on the diagonal the model is right. */
import { misfit } from "./coefficients";

import type { FitCase } from "@/api/calibration";
import { ChartPanel } from "@/components/ui/chart-frame";
import { axisText, axisTicks, countText, percentText, significant } from "@/lib/numbers";

const SIZE = 340;
const LEFT = 44;
const BOTTOM = 34;
/** Highest load drawn, as a multiple of the highest that was measured or fitted. */
const ROOM = 2.5;

export function ResidualChart({ one }: { one: FitCase }) {
  const points = one.scatter;
  if (points.length === 0) return null;
  const near = Math.max(...points.flatMap((p) => [p.measured, p.fitted]), 1e-12);
  // A model that is far too high must not press everything else into a corner.
  const most = Math.min(Math.max(near, ...points.map((p) => p.before)), ROOM * near) * 1.05;
  const above = points.filter((p) => p.before > most).length;
  const ticks = axisTicks(0, most, 4);
  const step = (ticks[1] ?? most) - (ticks[0] ?? 0);
  const x = (load: number) => LEFT + (load / most) * (SIZE - LEFT - 8);
  const y = (load: number) => SIZE - BOTTOM - (load / most) * (SIZE - BOTTOM - 8);
  const { before, after } = misfit(one);
  const words = `Typical distance of prediction from measurement: ${percentText(before, 1)} of capacity by the model, ${percentText(after, 1)} by the fit.`;
  return (
    <ChartPanel
      title={`Measured against predicted at ${one.broker}`}
      sub={`${one.resource} per second, one point per window`}
      data={{
        name: `residuals-${one.broker}-${one.resource}`,
        head: ["Measured", "Model", "Fit"],
        rows: points.map((p) => [p.measured, p.before, p.fitted]),
      }}
      format={(cell) => (typeof cell === "number" ? significant(cell, 4) : String(cell))}
    >
      <svg
        className="chart"
        viewBox={`0 0 ${SIZE} ${SIZE}`}
        style={{ maxWidth: SIZE, margin: "0 auto" }}
        role="img"
        aria-label={words}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <path className="gridl" d={`M${LEFT} ${y(tick)}H${SIZE - 8}`} />
            <text x={LEFT - 5} y={y(tick) + 4} textAnchor="end" className="tf">
              {axisText(tick, step)}
            </text>
            <text x={x(tick)} y={SIZE - BOTTOM + 14} textAnchor="middle" className="tf">
              {axisText(tick, step)}
            </text>
          </g>
        ))}
        <path className="axis" d={`M${x(0)} ${y(0)}L${x(most)} ${y(most)}`} strokeDasharray="4 3" />
        {points.map((p, index) => (
          <g key={index}>
            <path
              d={
                p.before > most
                  ? `M${x(p.measured) - 3} ${y(most) + 5}l3 -5l3 5`
                  : `M${x(p.measured) - 2} ${y(p.before) - 2}l4 4m0 -4l-4 4`
              }
              fill="none"
              stroke="var(--before)"
              opacity="0.6"
            />
            <circle cx={x(p.measured)} cy={y(p.fitted)} r="2" fill="var(--after)" opacity="0.7" />
          </g>
        ))}
        <text x={(SIZE + LEFT) / 2} y={SIZE - 4} textAnchor="middle">
          measured
        </text>
        <text transform={`translate(10 ${(SIZE - BOTTOM) / 2}) rotate(-90)`} textAnchor="middle">
          predicted
        </text>
      </svg>
      <p className="legend">
        <span>
          <svg width="10" height="10" aria-hidden="true">
            <path d="M2 2l6 6m0 -6l-6 6" stroke="var(--before)" />
          </svg>
          by the model then
        </span>
        <span>
          <svg width="10" height="10" aria-hidden="true">
            <circle cx="5" cy="5" r="3" fill="var(--after)" />
          </svg>
          by the fit
        </span>
        {above > 0 ? (
          <span>
            <svg width="10" height="10" aria-hidden="true">
              <path d="M2 8l3 -5l3 5" stroke="var(--before)" fill="none" />
            </svg>
            {countText(above, "window")} of the model above the chart
          </span>
        ) : null}
      </p>
      <p className="lead">{words}</p>
    </ChartPanel>
  );
}
