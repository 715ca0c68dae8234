/** A broker as a vessel of 0 to 120 % with a staff gauge; the crest is its capacity. */
import { isOver, loadColour } from "@/lib/load";
import { percentText } from "@/lib/numbers";

const TOP = 8;
const BOTTOM = 140;
const HEIGHT = BOTTOM - TOP;
const y = (fraction: number) => BOTTOM - (Math.min(Math.max(fraction, 0), 1.2) / 1.2) * HEIGHT;

export type Tank = { name: string; fraction: number; previous?: number | null };

function OneTank({ tank, x, gauge }: { tank: Tank; x: number; gauge: boolean }) {
  const water = y(Math.min(1, tank.fraction));
  const name = tank.name.length > 9 ? `${tank.name.slice(0, 8)}\u2026` : tank.name;
  return (
    <g transform={`translate(${x} 0)`}>
      <title>{`${tank.name} ${percentText(tank.fraction, 1)}`}</title>
      <rect x="0" y={TOP} width="44" height={HEIGHT} rx="3" fill="var(--well)" />
      <rect x="0" y={water} width="44" height={BOTTOM - water} fill={loadColour(tank.fraction)} />
      {isOver(tank.fraction) ? (
        <rect
          x="0"
          y={y(tank.fraction)}
          width="44"
          height={y(1) - y(tank.fraction)}
          fill="url(#spill)"
        />
      ) : null}
      {Array.from({ length: 13 }, (_, step) => {
        const major = step % 5 === 0;
        return (
          <path key={step} d={`M${major ? -7 : -4} ${y(step / 10)}H-1`} stroke="var(--line-2)" />
        );
      })}
      {gauge
        ? [0, 50, 100].map((percent) => (
            <text key={percent} x="-10" y={y(percent / 100) + 4} textAnchor="end" className="tf">
              {percent}
            </text>
          ))
        : null}
      {tank.previous === undefined || tank.previous === null ? null : (
        <path
          d={`M-3 ${y(tank.previous)}H47`}
          stroke="var(--before)"
          strokeWidth="1.5"
          strokeDasharray="3 2"
        />
      )}
      <path d={`M-4 ${y(1)}H48`} stroke="var(--crest)" strokeWidth="2" />
      <text x="22" y="156" textAnchor="middle">
        <tspan className="tt">{name}</tspan>
      </text>
      <text x="22" y="171" textAnchor="middle">
        {percentText(tank.fraction, 1)}
      </text>
    </g>
  );
}

/** Tanks side by side, as many in a row as fit the side column. */
export function BrokerTanks({ tanks }: { tanks: readonly Tank[] }) {
  const perRow = Math.min(4, Math.max(1, tanks.length));
  const rows = Math.ceil(tanks.length / perRow);
  const step = 344 / perRow;
  return (
    <svg
      className="chart"
      viewBox={`0 0 344 ${rows * 182}`}
      role="img"
      aria-label={`Load of ${tanks.map((t) => `${t.name} ${percentText(t.fraction, 1)}`).join(", ")}`}
    >
      {Array.from({ length: rows }, (_, row) => (
        <g key={row} transform={`translate(0 ${row * 182})`}>
          {tanks.slice(row * perRow, (row + 1) * perRow).map((tank, column) => (
            <OneTank
              key={tank.name}
              tank={tank}
              x={step * column + (step - 44) / 2 + 8}
              gauge={perRow <= 3 || column === 0}
            />
          ))}
        </g>
      ))}
    </svg>
  );
}
