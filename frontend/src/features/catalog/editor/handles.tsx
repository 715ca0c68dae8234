/** Points that one drags with the mouse or moves with the arrow keys. */
import { useRef } from "react";

import type { XY } from "./points";
import type { Scale } from "./scale";

import { rateText, significant } from "@/lib/numbers";

export type Handle = {
  at: XY;
  label: string;
  bad?: boolean;
  /** Only up and down: the height scales the whole curve. */
  vertical?: boolean;
};

export function Handles({
  scale,
  handles,
  chosen,
  units,
  onChoose,
  onMove,
  onRelease,
  onRemove,
}: {
  scale: Scale;
  handles: readonly Handle[];
  chosen: number;
  units: { rate: number; utility: number };
  onChoose: (index: number) => void;
  onMove: (index: number, to: XY) => void;
  onRelease: () => void;
  onRemove?: (index: number) => void;
}) {
  const held = useRef<number | null>(null);
  const place = (event: React.PointerEvent<SVGGElement>): XY => {
    const frame = event.currentTarget.ownerSVGElement?.getBoundingClientRect();
    if (!frame || frame.width === 0) return [0, 0];
    const { box } = scale;
    const x = ((event.clientX - frame.left) * box.width) / frame.width;
    const y = ((event.clientY - frame.top) * box.height) / frame.height;
    return [Math.max(0, scale.rateAt(x)), scale.valueAt(y)];
  };
  const onKey = (event: React.KeyboardEvent, index: number, handle: Handle) => {
    const far = event.shiftKey ? 10 : 1;
    const [rate, utility] = handle.at;
    const to: Record<string, XY> = {
      ArrowUp: [rate, utility + units.utility * far],
      ArrowDown: [rate, utility - units.utility * far],
      ArrowLeft: [Math.max(0, rate - units.rate * far), utility],
      ArrowRight: [rate + units.rate * far, utility],
    };
    const next = to[event.key];
    if (next && !(handle.vertical && /Left|Right/.exec(event.key))) {
      event.preventDefault();
      onMove(index, next);
    }
    if ((event.key === "Delete" || event.key === "Backspace") && onRemove) {
      event.preventDefault();
      onRemove(index);
    }
  };
  return (
    <>
      {handles.map((handle, index) => {
        const [rate, utility] = handle.at;
        if (!Number.isFinite(rate) || !Number.isFinite(utility) || rate > scale.span) return null;
        const colour = handle.bad ? "var(--bad)" : "var(--c1)";
        return (
          <g
            key={index}
            className="pt"
            tabIndex={0}
            role="slider"
            aria-label={handle.label}
            aria-valuenow={utility}
            aria-valuetext={`${rateText(rate)} msg/s, utility ${significant(utility, 5)}`}
            aria-invalid={handle.bad}
            onFocus={() => onChoose(index)}
            onKeyDown={(event) => onKey(event, index, handle)}
            onBlur={onRelease}
            onPointerDown={(event) => {
              held.current = index;
              onChoose(index);
              event.currentTarget.setPointerCapture(event.pointerId);
            }}
            onPointerMove={(event) => {
              if (held.current !== index) return;
              const to = place(event);
              onMove(index, handle.vertical ? [rate, to[1]] : to);
            }}
            onPointerUp={() => {
              held.current = null;
              onRelease();
            }}
          >
            <circle cx={scale.x(rate)} cy={scale.y(utility)} r="14" fill="transparent" />
            <circle
              cx={scale.x(rate)}
              cy={scale.y(utility)}
              r={index === chosen ? 7 : 5.5}
              fill={handle.bad ? "var(--bad)" : "var(--surface)"}
              stroke={colour}
              strokeWidth="2.5"
            />
          </g>
        );
      })}
    </>
  );
}
