/** Plans of which none has fewer actions and fewer steps: what fewer steps cost in actions. */
import type { CandidateDetail } from "@/api/evaluations";
import { ChartPanel } from "@/components/ui/chart-frame";
import { axisTicks, countText, fixed } from "@/lib/numbers";
import { methodWord } from "@/lib/words";

const [W, H] = [340, 170];
const BOX = { left: 40, right: 14, top: 24, bottom: 30 };

/** Room around the points, so that a single one does not stand on the axis. */
export function rangeOf(values: readonly number[], bound: number | null): [number, number] {
  const all = bound === null ? [...values] : [...values, bound];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = Math.max(1, Math.ceil((high - low) * 0.15));
  return [Math.max(0, low - room), high + room];
}

export function FrontierPanel({ candidate }: { candidate: CandidateDetail }) {
  const { frontier, actions, steps_count: steps } = candidate;
  if (frontier.length === 0) return null;
  const [x0, x1] = rangeOf(
    frontier.map((p) => p.actions),
    candidate.lower_bound_actions,
  );
  const [y0, y1] = rangeOf(
    frontier.map((p) => p.steps_count),
    candidate.lower_bound_steps,
  );
  const x = (value: number) => BOX.left + ((value - x0) / (x1 - x0)) * (W - BOX.left - BOX.right);
  const y = (value: number) =>
    H - BOX.bottom - ((value - y0) / (y1 - y0)) * (H - BOX.top - BOX.bottom);
  const whole = (ticks: number[]) => ticks.filter((tick) => Number.isInteger(tick));
  const points = [...frontier].sort((a, b) => a.actions - b.actions);
  return (
    <ChartPanel
      title="Actions against steps"
      sub="best found"
      data={{
        name: "actions against steps",
        head: ["actions", "steps", "transformation cost", "net benefit", "planner"],
        rows: points.map((p) => [
          p.actions,
          p.steps_count,
          p.transformation_cost,
          p.net_benefit,
          p.planner,
        ]),
      }}
    >
      <svg
        className="chart"
        viewBox={`0 0 ${W} ${H}`}
        role="img"
        aria-label={points
          .map((p) => `${countText(p.actions, "action")} in ${countText(p.steps_count, "step")}`)
          .join(", ")}
      >
        {whole(axisTicks(y0, y1, 4)).map((tick) => (
          <g key={tick}>
            <path className="gridl" d={`M${BOX.left} ${y(tick)}H${W - BOX.right}`} />
            <text className="tf" x={BOX.left - 6} y={y(tick) + 4} textAnchor="end">
              {fixed(tick)}
            </text>
          </g>
        ))}
        {whole(axisTicks(x0, x1, 5)).map((tick) => (
          <text key={tick} className="tf" x={x(tick)} y={H - BOX.bottom + 14} textAnchor="middle">
            {fixed(tick)}
          </text>
        ))}
        <text className="tf" x={W - BOX.right} y={H - 2} textAnchor="end">
          actions
        </text>
        <text className="tf" x={2} y={10}>
          steps
        </text>
        {candidate.lower_bound_actions === null ? null : (
          <path
            className="crs"
            d={`M${x(candidate.lower_bound_actions)} ${BOX.top}V${H - BOX.bottom}`}
          />
        )}
        {candidate.lower_bound_steps === null ? null : (
          <path
            className="crs"
            d={`M${BOX.left} ${y(candidate.lower_bound_steps)}H${W - BOX.right}`}
          />
        )}
        {points.map((point) => {
          const taken = point.actions === actions && point.steps_count === steps;
          return (
            <circle
              key={`${point.actions} ${point.steps_count}`}
              cx={x(point.actions)}
              cy={y(point.steps_count)}
              r={taken ? 5.5 : 4}
              fill={taken ? "var(--c1)" : "var(--surface)"}
              stroke="var(--c1)"
              strokeWidth="1.75"
            >
              <title>{`${countText(point.actions, "action")} in ${countText(point.steps_count, "step")}, ${methodWord(point.planner)}`}</title>
            </circle>
          );
        })}
      </svg>
      <p className="faint" style={{ fontSize: 12 }}>
        Filled: the plan that was ranked. Lines: no plan can have fewer.
      </p>
    </ChartPanel>
  );
}
