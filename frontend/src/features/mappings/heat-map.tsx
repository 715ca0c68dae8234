/** The drawing of users against groups, with sums at its edges; arrow keys move over the cells. */
import { memo, useId } from "react";

import { shadeOf, type HeatSteps } from "./heat-steps";
import { cellText, filteredAt, joinedAt, type Place } from "./heat-words";

import type { Heat } from "@/api/mappings";
import { fixed } from "@/lib/numbers";
import { useWidth } from "@/lib/width";

const [RIGHT, TOP, END] = [84, 42, 4];
/** Of the names of rows: room for numbers, and where each row is a user for most names. */
const [LEAST_LEFT, MOST_LEFT] = [62, 126];
const ROWS_HEIGHT = 595;
const [LOW_ROW, HIGH_ROW] = [8, 22];
/** Of a name beside its row. */
const NAME_ROW = 12;
const NAME_LENGTH = 18;
const LETTER = 6.4;
const LABEL_ROOM = 44;
const LABEL_EVERY = [1, 2, 5, 10, 20, 50, 100];
const [BAR_TOP, BAR_SIDE] = [22, 64];
const LONG_STEP = 10;

const rowHeight = (rows: number) =>
  Math.max(LOW_ROW, Math.min(HIGH_ROW, ROWS_HEIGHT / Math.max(1, rows)));

/** Each row is a user, and high enough for its name. */
const areNamed = (rows: Heat["rows"]) =>
  rowHeight(rows.length) >= NAME_ROW && rows.every(({ users }) => users === 1);

function leftOf(rows: Heat["rows"]): number {
  if (!areNamed(rows)) return LEAST_LEFT;
  const longest = Math.max(0, ...rows.map(({ first }) => Math.min(NAME_LENGTH, first.length)));
  return Math.max(LEAST_LEFT, Math.min(MOST_LEFT, 12 + longest * LETTER));
}

/** The height of a drawing of so many rows. */
export const heightOf = (rows: number): number => TOP + rows * rowHeight(rows) + END;

const WAYS: Readonly<Record<string, Place>> = {
  ArrowLeft: { row: 0, column: -1 },
  ArrowRight: { row: 0, column: 1 },
  ArrowUp: { row: -1, column: 0 },
  ArrowDown: { row: 1, column: 0 },
  Home: { row: 0, column: -Infinity },
  End: { row: 0, column: Infinity },
};

const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));

const largestOf = (...lists: readonly (readonly { unwanted_per_s: number }[])[]) =>
  Math.max(0, ...lists.flat().map((one) => one.unwanted_per_s));

export function HeatMap({
  heat,
  scale,
  steps,
  place,
  onPlace,
  picture,
}: {
  heat: Heat;
  /** The longest bars are at least as long as this map's. */
  scale: Heat;
  steps: HeatSteps | null;
  place: Place | null;
  onPlace: (place: Place | null) => void;
  picture: React.RefObject<SVGSVGElement | null>;
}) {
  const [box, width] = useWidth<HTMLDivElement>(800);
  const cell = useId();
  const { rows, groups } = heat;
  const left = leftOf(rows);
  const cellWidth = Math.max(2, (width - left - RIGHT) / groups.length);
  const cellHeight = rowHeight(rows.length);
  const right = left + groups.length * cellWidth;
  const placeOf = (event: React.PointerEvent): Place | null => {
    const { row, column } = (event.target as SVGElement).dataset;
    return row === undefined || column === undefined
      ? null
      : { row: Number(row), column: Number(column) };
  };
  const point = (event: React.PointerEvent) => {
    const next = placeOf(event);
    if (next !== null) onPlace(next);
  };
  const move = (event: React.KeyboardEvent) => {
    if (event.key === "Escape") onPlace(null);
    const way = WAYS[event.key];
    // With these the keys are the browser's: back, forward, other windows.
    if (way === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const by = event.shiftKey ? LONG_STEP : 1;
    // The first arrow enters the map, the next ones move.
    onPlace(
      place === null
        ? { row: 0, column: 0 }
        : {
            row: within(place.row + way.row * by, rows.length),
            column: within(place.column + way.column * by, groups.length),
          },
    );
  };
  return (
    <div ref={box}>
      <svg
        ref={picture}
        className="chart groupheat"
        viewBox={`0 0 ${width} ${heightOf(rows.length)}`}
        role="grid"
        tabIndex={0}
        aria-label="What users filter, by group; arrow keys move"
        aria-rowcount={rows.length}
        aria-colcount={groups.length}
        aria-activedescendant={place === null ? undefined : cell}
        onKeyDown={move}
        onPointerOver={point}
        onPointerDown={point}
        onPointerLeave={() => onPlace(null)}
        onBlur={() => onPlace(null)}
      >
        <Cells heat={heat} steps={steps} left={left} width={cellWidth} height={cellHeight} />
        <Edges
          heat={heat}
          scale={scale}
          left={left}
          width={cellWidth}
          height={cellHeight}
          right={right}
        />
        {place === null ? null : (
          <g role="row" aria-rowindex={place.row + 1}>
            <rect
              id={cell}
              role="gridcell"
              aria-colindex={place.column + 1}
              aria-selected="true"
              aria-label={cellText(heat, place)}
              className="heatmark"
              x={left + place.column * cellWidth}
              y={TOP + place.row * cellHeight - 0.5}
              width={cellWidth}
              height={cellHeight + 1}
              rx="2"
            />
          </g>
        )}
      </svg>
    </div>
  );
}

type Drawn = { heat: Heat; left: number; width: number; height: number };

/** Apart from what moves with the pointer: there may be two thousand. */
const Cells = memo(function Cells({
  heat,
  steps,
  left,
  width,
  height,
}: Drawn & { steps: HeatSteps | null }) {
  const gap = Math.min(2, width / 4);
  return heat.rows.map((_, row) => (
    <g key={row} aria-hidden="true">
      {heat.groups.map((__, column) => {
        const place = { row, column };
        const look =
          joinedAt(heat, place) > 0 ? `w${shadeOf(filteredAt(heat, place), steps)}` : "apart";
        return (
          <rect
            key={column}
            className={look}
            data-row={row}
            data-column={column}
            x={left + column * width + gap / 2}
            y={TOP + row * height + 0.6}
            width={width - gap}
            height={height - 1.4}
            rx="1"
          />
        );
      })}
    </g>
  ));
});

/** Names of columns and rows, and what is filtered of each. */
const Edges = memo(function Edges({
  heat: { rows, groups },
  scale,
  left,
  width,
  height,
  right,
}: Drawn & { scale: Heat; right: number }) {
  const column = largestOf(groups, scale.groups);
  const row = largestOf(rows, scale.rows);
  const part = (amount: number, of: number) => (of > 0 ? amount / of : 0);
  const numbers = groups.map(
    ({ numbers: [first = 0, ...others] }) => `${fixed(first)}${others.length > 0 ? "+" : ""}`,
  );
  const longest = Math.max(...numbers.map((text) => text.length));
  const everyColumn = Math.max(1, Math.ceil((longest * 6.6 + 4) / width));
  const isNamed = areNamed(rows);
  const everyRow = LABEL_EVERY.find((one) => one * height >= LABEL_ROOM) ?? rows.length;
  const firsts = rows.map((_, at) => rows.slice(0, at).reduce((sum, { users }) => sum + users, 1));
  const labels = rows.map(({ first }, at) => {
    if (!isNamed) return at % everyRow === 0 ? fixed(firsts[at]) : "";
    return first.length > NAME_LENGTH ? `${first.slice(0, NAME_LENGTH - 1)}\u2026` : first;
  });
  return (
    <g aria-hidden="true">
      <text className="tf" x={left - 8} y="36" textAnchor="end">
        group
      </text>
      <text className="tf" x={right + 8} y="36">
        filtered
      </text>
      {groups.map((group, at) => {
        const high = part(group.unwanted_per_s, column) * BAR_TOP;
        const x = left + at * width;
        return (
          <g key={at}>
            <rect
              className="sum"
              x={x + 1}
              y={24 - high}
              width={Math.max(1, width - 2)}
              height={high}
            />
            {at % everyColumn === 0 ? (
              <text className="tf" x={x + width / 2} y="36" textAnchor="middle">
                {numbers[at]}
              </text>
            ) : null}
          </g>
        );
      })}
      {rows.map((one, at) => (
        <g key={at}>
          {labels[at] ? (
            <text className="tf" x={left - 8} y={TOP + (at + 0.5) * height + 4} textAnchor="end">
              {labels[at]}
            </text>
          ) : null}
          <rect
            className="sum"
            x={right + 8}
            y={TOP + at * height + 2}
            width={part(one.unwanted_per_s, row) * BAR_SIDE}
            height={height - 4}
          />
        </g>
      ))}
    </g>
  );
});
