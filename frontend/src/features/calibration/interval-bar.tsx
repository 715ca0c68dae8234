/** A fitted value with its interval against the value in the model; all on one scale per table. */
import { costText } from "./coefficients";

export function IntervalBar({
  value,
  low,
  high,
  old,
  scale,
  width = 150,
}: {
  value: number;
  low: number;
  /** null: nothing bounds it from above. */
  high: number | null;
  old: number | null;
  scale: number;
  width?: number;
}) {
  const x = (amount: number) =>
    scale > 0 ? (Math.min(amount, scale) / scale) * (width - 8) + 4 : 4;
  const open = high === null || high > scale;
  const right = open ? width : x(high);
  const words = [
    `fitted ${costText(value)}`,
    high === null
      ? "no upper end"
      : `between ${costText(low)} and ${costText(high)} with 95 % confidence`,
    old === null ? "not in the model" : `in the model ${costText(old)}`,
  ];
  return (
    <svg
      className="bar"
      width={width}
      height="14"
      viewBox={`0 0 ${width} 14`}
      role="img"
      aria-label={words.join(", ")}
    >
      <rect className="trk" y="6" width={width} height="2" rx="1" />
      <rect
        x={x(low)}
        y="4"
        width={Math.max(1, right - x(low))}
        height="6"
        fill="var(--after)"
        opacity={open ? 0.25 : 0.45}
      />
      {old === null ? null : <path d={`M${x(old)} 1V13`} stroke="var(--before)" strokeWidth="2" />}
      <circle cx={x(value)} cy="7" r="3.5" fill="var(--after)" />
    </svg>
  );
}

export function IntervalLegend() {
  return (
    <p className="legend">
      <span>
        <svg width="14" height="14" aria-hidden="true">
          <path d="M7 1V13" stroke="var(--before)" strokeWidth="2" />
        </svg>
        in the model
      </span>
      <span>
        <svg width="14" height="14" aria-hidden="true">
          <circle cx="7" cy="7" r="3.5" fill="var(--after)" />
        </svg>
        fitted
      </span>
      <span>
        <svg width="22" height="14" aria-hidden="true">
          <rect y="4" width="22" height="6" fill="var(--after)" opacity="0.45" />
        </svg>
        95 % interval
      </span>
    </p>
  );
}
