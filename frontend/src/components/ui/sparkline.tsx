/** A line of the last minutes beside a number: shape only, the number says the value. */
export function Sparkline({
  values,
  label,
  width = 96,
  height = 22,
}: {
  values: readonly number[];
  label: string;
  width?: number;
  height?: number;
}) {
  const most = Math.max(...values, 1e-9);
  const step = values.length > 1 ? (width - 4) / (values.length - 1) : 0;
  const y = (value: number) => height - 2 - (Math.max(0, value) / most) * (height - 5);
  const points = values.map(
    (value, index) => `${(1 + index * step).toFixed(1)},${y(value).toFixed(1)}`,
  );
  const last = values.at(-1);
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
      style={{ display: "block" }}
    >
      <path d={`M1 ${height - 1.5}H${width - 1}`} stroke="var(--line)" strokeWidth="1" />
      {values.length > 1 ? (
        <polyline points={points.join(" ")} fill="none" stroke="var(--c1)" strokeWidth="1.5" />
      ) : null}
      {last === undefined ? null : (
        <circle cx={1 + step * (values.length - 1)} cy={y(last)} r="2" fill="var(--c1)" />
      )}
    </svg>
  );
}
