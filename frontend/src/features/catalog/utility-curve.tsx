/** The curve of one consumer's utility and its slope, live while the parameters are edited. */
import { useState } from "react";

import { ratesUpTo, useCurve, type Curve } from "./utility-kinds";

import { ChartPanel } from "@/components/ui/chart-frame";
import { Segments } from "@/components/ui/page";
import { Badge } from "@/components/ui/state-badge";
import { axisText, axisTicks, fixed, rateText, significant } from "@/lib/numbers";
import { problemOf } from "@/lib/problem";

const W = 560;
const L = 46;
const R = 70;
const SPANS = ["10", "100", "1000", "10000"] as const;
type Span = (typeof SPANS)[number];

function Plot({
  xs,
  ys,
  height,
  stepped,
  label,
  end,
}: {
  xs: readonly number[];
  ys: readonly number[];
  height: number;
  stepped: boolean;
  label: string;
  end: string;
}) {
  const top = 10;
  const bottom = height - 24;
  const right = xs.at(-1) ?? 1;
  const low = Math.min(0, ...ys);
  const high = Math.max(...ys, low + 1e-9);
  const x = (value: number) => L + (value / right) * (W - L - R);
  const y = (value: number) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const ticks = axisTicks(low, high, height > 160 ? 4 : 2);
  const across = axisTicks(0, right, 5);
  const step = (list: number[]) => (list[1] ?? 1) - (list[0] ?? 0);
  const path = xs
    .map((value, i) => {
      const at = `${x(value).toFixed(1)} ${y(ys[i] ?? 0).toFixed(1)}`;
      if (i === 0) return `M${at}`;
      return stepped ? `H${x(value).toFixed(1)}V${y(ys[i] ?? 0).toFixed(1)}` : `L${at}`;
    })
    .join("");
  return (
    <svg className="chart" viewBox={`0 0 ${W} ${height}`} role="img" aria-label={label}>
      {ticks.map((tick) => (
        <g key={tick}>
          <path className="gridl" d={`M${L} ${y(tick)}H${W - R}`} />
          <text className="tf" x={L - 8} y={y(tick) + 4} textAnchor="end">
            {axisText(tick, step(ticks))}
          </text>
        </g>
      ))}
      {across.map((tick) => (
        <text key={tick} className="tf" x={x(tick)} y={height - 6} textAnchor="middle">
          {axisText(tick, step(across))}
        </text>
      ))}
      <text className="tf" x={W - 2} y={height - 6} textAnchor="end">
        msg/s
      </text>
      <path d={`${path}V${y(Math.max(low, 0))}H${x(0)}Z`} fill="var(--c1)" opacity=".09" />
      <path d={path} fill="none" stroke="var(--c1)" strokeWidth="2.5" strokeLinejoin="round" />
      <text
        x={W - R + 6}
        y={Math.min(bottom, Math.max(top + 8, y(ys.at(-1) ?? 0) + 4))}
        style={{ fill: "var(--c1)", fontWeight: 600 }}
      >
        {end}
      </text>
    </svg>
  );
}

/** Slopes of a concave curve never rise. */
export function isConcave(curve: Curve): boolean {
  const slopes = curve.derivatives;
  return slopes.every((slope, i) => {
    const before = slopes[i - 1];
    return before === undefined || slope <= before * (1 + 1e-6) + 1e-9;
  });
}

export function UtilityCurve({
  name,
  kind,
  parameters,
  knots = [],
}: {
  name: string;
  kind: string;
  parameters: Record<string, unknown> | null;
  knots?: readonly number[];
}) {
  const furthest = Math.max(0, ...knots) * 1.1;
  const fitting = SPANS.find((span) => Number(span) >= furthest) ?? "10000";
  const [chosen, setChosen] = useState<Span | null>(null);
  const span = chosen ?? (knots.length > 0 ? fitting : "100");
  const rates = ratesUpTo(Number(span), knots);
  const curve = useCurve(kind, parameters, rates);
  const data = curve.data;
  const problem = curve.error ? problemOf(curve.error) : null;
  return (
    <ChartPanel
      title="Utility of one consumer"
      sub="by the kernel"
      right={
        <Segments
          label="Highest rate drawn, msg/s"
          value={span}
          options={SPANS.map((value) => ({ value, label: fixed(Number(value)) }))}
          onChange={setChosen}
        />
      }
      data={{
        name: `${name || "utility"} curve`,
        head: ["Rate msg/s", "Utility", "Gain of one more msg/s"],
        rows: (data?.rates ?? []).map((rate, i) => [rate, data?.values[i], data?.derivatives[i]]),
      }}
      format={(cell, column) =>
        typeof cell === "number" ? (column === 0 ? rateText(cell) : significant(cell, 4)) : ""
      }
    >
      {problem && parameters !== null ? (
        <p className="note bad" role="status">
          {problem.detail}
        </p>
      ) : null}
      {data && !problem ? (
        <>
          <Plot
            xs={data.rates}
            ys={data.values}
            height={220}
            stepped={false}
            label={`Utility against rate, ${significant(data.values.at(-1), 4)} at ${span} msg/s`}
            end={significant(data.values.at(-1), 4)}
          />
          <p className="lead" style={{ display: "flex", alignItems: "center", gap: 8 }}>
            Gain of one more msg/s; it must fall from left to right.
            {isConcave(data) ? (
              <Badge tone="good" icon="check">
                Concave
              </Badge>
            ) : (
              <Badge tone="bad" icon="alert">
                Not concave
              </Badge>
            )}
          </p>
          <Plot
            xs={data.rates}
            ys={data.derivatives}
            height={120}
            stepped={kind === "piecewise"}
            label="Marginal utility against rate"
            end={significant(data.derivatives.at(-1), 3)}
          />
        </>
      ) : null}
      {!data && !problem ? (
        <p className="muted">
          {parameters === null ? "Give the parameters to see the curve." : "Computing the curve."}
        </p>
      ) : null}
    </ChartPanel>
  );
}
