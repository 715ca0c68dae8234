/** Steps against brokers on a canvas: rows scroll, only what is seen is painted. */
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";

import { busiest, ganttRows, type GanttRow, type Part } from "./gantt-rows";
import { readPalette } from "./palette";
import type { Move } from "./timeline";

import { ChartPanel } from "@/components/ui/chart-frame";
import { countText } from "@/lib/numbers";
import { useTheme } from "@/lib/theme";
import { useWidth } from "@/lib/width";

const ROW = 20;
const HEAD = 24;
const NAMES = 132;
const TALLEST = 420;
const FINEST = 7;

const PARTS: Record<Part, { word: string; colour: string }> = {
  moves: { word: "slides its link", colour: "moving" },
  gives: { word: "gives a link up", colour: "before" },
  takes: { word: "takes a link", colour: "after" },
  joins: { word: "joins", colour: "load-2" },
  leaves: { word: "is taken out", colour: "text-3" },
  relays: { word: "takes a link for another", colour: "load-3" },
};

export type Shape = { column: number; width: number; height: number };

/** Columns fill the panel, and scroll sideways once they would be too fine to tell apart. */
export function shapeOf(rows: number, steps: number, room: number): Shape {
  const column = Math.max(FINEST, Math.min(64, (room - NAMES - 8) / Math.max(1, steps)));
  return { column, width: Math.max(room, NAMES + steps * column + 8), height: HEAD + rows * ROW };
}

const fits = (pen: CanvasRenderingContext2D, text: string, width: number) => {
  if (pen.measureText(text).width <= width) return text;
  let shown = text;
  while (shown.length > 1 && pen.measureText(`${shown}\u2026`).width > width) {
    shown = shown.slice(0, -1);
  }
  return `${shown}\u2026`;
};

function paintGantt(
  pen: CanvasRenderingContext2D,
  rows: readonly GanttRow[],
  steps: number,
  shape: Shape,
  view: { left: number; top: number; width: number; height: number },
  at: number,
) {
  const palette = readPalette(pen);
  const { column } = shape;
  const x = (step: number) => NAMES + step * column - view.left;
  pen.clearRect(0, 0, view.width, view.height);
  const done = x(at);
  if (at > 0 && done > NAMES) {
    pen.fillStyle = palette.of("surface-2");
    pen.fillRect(NAMES, HEAD, done - NAMES, view.height);
  }
  const first = Math.max(0, Math.floor(view.top / ROW));
  const shown = rows.slice(first, first + Math.ceil(view.height / ROW) + 1);
  shown.forEach(({ cells }, index) => {
    const y = HEAD + (first + index) * ROW - view.top;
    pen.fillStyle = palette.of("line");
    pen.fillRect(0, y + ROW - 0.5, view.width, 0.5);
    for (const { step, part } of cells) {
      if (x(step) + column < NAMES || x(step) > view.width) continue;
      pen.fillStyle = palette.of(PARTS[part].colour);
      pen.globalAlpha = step < at ? 0.45 : 1;
      pen.beginPath();
      pen.roundRect(x(step) + 1, y + 4, Math.max(2, column - 2), ROW - 8, Math.min(3, column / 3));
      pen.fill();
    }
    pen.globalAlpha = 1;
  });
  pen.fillStyle = palette.of("accent");
  if (done >= NAMES) pen.fillRect(done - 1, HEAD - 6, 2, view.height);
  pen.fillStyle = palette.of("surface");
  pen.fillRect(0, HEAD, NAMES - 4, view.height);
  pen.font = '600 12px "Inter Variable", Inter, sans-serif';
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  shown.forEach(({ broker }, index) => {
    const y = HEAD + (first + index) * ROW - view.top + ROW / 2;
    pen.fillStyle = palette.of("text");
    pen.fillText(fits(pen, broker, NAMES - 24), NAMES - 12, y);
  });
  pen.fillStyle = palette.of("surface-2");
  pen.fillRect(0, 0, view.width, HEAD);
  pen.fillStyle = palette.of("line");
  pen.fillRect(0, HEAD - 1, view.width, 1);
  pen.font = '11px "Inter Variable", Inter, sans-serif';
  pen.textAlign = "center";
  pen.fillStyle = palette.of("text-3");
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => n * column >= 24) ?? 1000;
  for (let step = every - 1; step < steps; step += every) {
    const middle = x(step) + column / 2;
    if (middle > NAMES) pen.fillText(String(step + 1), middle, HEAD / 2);
  }
  pen.textAlign = "right";
  pen.fillStyle = palette.of("surface-2");
  pen.fillRect(0, 0, NAMES - 4, HEAD - 1);
  pen.fillStyle = palette.of("text-3");
  pen.fillText("Step", NAMES - 12, HEAD / 2);
}

export const Gantt = memo(function Gantt({
  steps,
  at,
  onStop,
  bound,
  name,
}: {
  steps: readonly (readonly Move[])[];
  at: number;
  onStop: (stop: number) => void;
  /** Steps that any plan needs, where proven. */
  bound?: number | null;
  name: string;
}) {
  const rows = useMemo(() => ganttRows(steps), [steps]);
  const most = busiest(rows);
  const sub =
    most === undefined
      ? "no broker takes part"
      : `${countText(rows.length, "broker takes", "brokers take")} part; ${most.broker} in ${countText(most.cells.length, "step")}` +
        (bound
          ? `; at least ${countText(bound, "step")} ${bound === 1 ? "is" : "are"} needed`
          : "");
  const data = useMemo(
    () => ({
      name: `${name} steps against brokers`,
      head: ["broker", "step", "part", "action"],
      rows: rows.flatMap(({ broker, cells }) =>
        cells.map(({ step, part, title }) => [broker, step + 1, PARTS[part].word, title]),
      ),
    }),
    [rows, name],
  );
  const used = new Set(rows.flatMap((row) => row.cells.map((cell) => cell.part)));
  return (
    <ChartPanel title="Steps against brokers" sub={sub} data={data} flush>
      {rows.length === 0 ? (
        <div className="body muted">No step: the overlay is already what it should be.</div>
      ) : (
        <>
          <Drawing rows={rows} steps={steps.length} at={at} onStop={onStop} />
          <div className="legend ganttlegend">
            {(Object.keys(PARTS) as Part[])
              .filter((part) => used.has(part))
              .map((part) => (
                <span key={part}>
                  <svg width="12" height="10" aria-hidden="true">
                    <rect width="12" height="10" rx="2" fill={`var(--${PARTS[part].colour})`} />
                  </svg>
                  {PARTS[part].word}
                </span>
              ))}
          </div>
        </>
      )}
    </ChartPanel>
  );
});

function Drawing({
  rows,
  steps,
  at,
  onStop,
}: {
  rows: readonly GanttRow[];
  steps: number;
  at: number;
  onStop: (stop: number) => void;
}) {
  const [box, room] = useWidth<HTMLDivElement>(800);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const shape = useMemo(() => shapeOf(rows.length, steps, room), [rows.length, steps, room]);
  const height = Math.min(TALLEST, shape.height);
  const draw = useCallback(() => {
    const [element, outer] = [canvas.current, box.current];
    const pen = element?.getContext("2d");
    if (!element || !outer || !pen) return;
    const density = window.devicePixelRatio || 1;
    const wanted = [Math.round(room * density), Math.round(height * density)] as const;
    if (element.width !== wanted[0] || element.height !== wanted[1]) {
      [element.width, element.height] = wanted;
    }
    pen.setTransform(density, 0, 0, density, 0, 0);
    const view = { left: outer.scrollLeft, top: outer.scrollTop, width: room, height };
    paintGantt(pen, rows, steps, shape, view, at);
  }, [box, rows, steps, shape, room, height, at]);
  useLayoutEffect(draw, [draw, theme]);
  useEffect(() => {
    const outer = box.current;
    outer?.addEventListener("scroll", draw, { passive: true });
    return () => outer?.removeEventListener("scroll", draw);
  }, [box, draw]);
  const under = (event: React.MouseEvent) => {
    const [element, outer] = [canvas.current, box.current];
    if (!element || !outer) return null;
    const frame = element.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const step = Math.floor((x + outer.scrollLeft - NAMES) / shape.column);
    const row = rows[Math.floor((y + outer.scrollTop - HEAD) / ROW)];
    if (x < NAMES || step < 0 || step >= steps) return null;
    return { x, y, step, row: y > HEAD ? row : undefined };
  };
  return (
    <div className="gantt" ref={box} style={{ height }}>
      {/* eslint-disable-next-line jsx-a11y/no-static-element-interactions, jsx-a11y/click-events-have-key-events -- the scrubber does the same by keyboard, the table says the same */}
      <div
        style={{ width: shape.width, height: shape.height }}
        onClick={(event) => {
          const found = under(event);
          if (found) onStop(found.step + 1);
        }}
        onMouseMove={(event) => {
          const found = under(event);
          const cell = found?.row?.cells.find(({ step }) => step === found.step);
          setTip(
            found && cell && found.row
              ? {
                  x: found.x,
                  y: found.y,
                  text: `Step ${cell.step + 1}, ${found.row.broker}: ${cell.title}`,
                }
              : null,
          );
        }}
        onMouseLeave={() => setTip(null)}
      >
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${countText(rows.length, "broker")} against ${countText(steps, "step")}; the table has the same rows`}
          style={{ width: room, height }}
        />
        {tip ? (
          <div
            className="gantttip"
            style={{
              transform: `translate(${Math.min(tip.x + 12, room - 280)}px, ${tip.y - height + 18}px)`,
            }}
          >
            {tip.text}
          </div>
        ) : null}
      </div>
    </div>
  );
}
