/** A plan against what any plan needs: the value in its track, the proven bound as a crest. */
import { countText, fixed, gapPercent } from "@/lib/numbers";

const WIDTH = 168;

/** "proven fewest", or how far above the bound it may be. */
export function boundWords(value: number | null, bound: number | null): string {
  if (value === null) return "no plan";
  if (bound === null) return "no bound";
  if (value <= bound) return "proven fewest";
  return bound > 0
    ? `at most ${gapPercent((value - bound) / bound)} % above`
    : `at least ${fixed(bound)}`;
}

export function BoundBar({
  value,
  bound,
  label,
}: {
  value: number;
  bound: number | null;
  label: string;
}) {
  const most = Math.max(1, value, bound ?? 0) * 1.12;
  const x = (amount: number) => (amount / most) * WIDTH;
  return (
    <svg
      className="bar"
      width={WIDTH + 4}
      height="16"
      viewBox={`-2 -3 ${WIDTH + 4} 16`}
      role="img"
      aria-label={`${countText(value, label)}, ${bound === null ? "no bound known" : `at least ${fixed(bound)} ${bound === 1 ? "is" : "are"} needed`}`}
    >
      <rect className="trk" width={WIDTH} height="10" rx="2" />
      <rect width={x(value)} height="10" rx="2" fill="var(--c1)" />
      {bound !== null && value > bound ? (
        <rect x={x(bound)} width={x(value) - x(bound)} height="10" fill="url(#ghosth)" />
      ) : null}
      {bound === null ? null : <path className="crs" d={`M${x(bound)} -3V13`} />}
    </svg>
  );
}

export function BoundRows({
  rows,
}: {
  rows: readonly { label: string; value: number | null; bound: number | null }[];
}) {
  return (
    <dl className="bounds">
      {rows.map(({ label, value, bound }) => (
        <div key={label}>
          <dt>
            {countText(value ?? 0, label)}
            <span className={value !== null && bound !== null && value <= bound ? "up" : "muted"}>
              {boundWords(value, bound)}
            </span>
          </dt>
          <dd>
            {value === null ? null : <BoundBar value={value} bound={bound} label={label} />}
            <span className="faint">
              {bound === null ? "no bound is known" : `at least ${fixed(bound)}`}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
