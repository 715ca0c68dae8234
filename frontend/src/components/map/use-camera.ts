/** Dragging, zooming and the keys of a map; the picture itself is painted elsewhere. */
import { useCallback, useEffect, useRef, useState } from "react";

import { centred, FIT, zoomAt, type Camera, type Point, type Size } from "./camera";

const STEP = 60;
/** Less than this is a click, not a drag. */
const CLICK = 4;

export function useCamera(size: Size) {
  const [camera, setCamera] = useState<Camera>(FIT);
  const middle = useCallback((): Point => ({ x: size.width / 2, y: size.height / 2 }), [size]);
  return {
    camera,
    setCamera,
    fit: useCallback(() => setCamera(FIT), []),
    zoom: useCallback(
      (factor: number) => setCamera((now) => zoomAt(now, middle(), factor)),
      [middle],
    ),
    centre: useCallback((at: Point) => setCamera((now) => centred(now, at, size)), [size]),
  };
}

type Handlers = {
  onCamera: (change: (now: Camera) => Camera) => void;
  onClick: (at: Point) => void;
  onHover: (at: Point | null) => void;
};

/** Pointer and wheel of one canvas. The wheel zooms with Ctrl, or once the map has the focus. */
export function usePointer(canvas: React.RefObject<HTMLCanvasElement | null>, given: Handlers) {
  const latest = useRef(given);
  useEffect(() => {
    latest.current = given;
  });
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    let held: { at: Point; moved: boolean } | null = null;
    const at = (event: MouseEvent): Point => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      held = { at: at(event), moved: false };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent) => {
      const here = at(event);
      if (!held) {
        latest.current.onHover(here);
        return;
      }
      const [x, y] = [here.x - held.at.x, here.y - held.at.y];
      if (!held.moved && Math.hypot(x, y) < CLICK) return;
      held = { at: here, moved: true };
      latest.current.onHover(null);
      latest.current.onCamera((now) => ({ ...now, x: now.x + x, y: now.y + y }));
    };
    const up = (event: PointerEvent) => {
      if (held && !held.moved) latest.current.onClick(at(event));
      held = null;
    };
    const leave = () => latest.current.onHover(null);
    const wheel = (event: WheelEvent) => {
      const focused = document.activeElement === element;
      if (!event.ctrlKey && !event.metaKey && !focused) return;
      event.preventDefault();
      const factor = Math.exp(-event.deltaY * 0.0016);
      const here = at(event);
      latest.current.onCamera((now) => zoomAt(now, here, factor));
    };
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("wheel", wheel);
    };
  }, [canvas]);
}

/** Arrow keys move the map while it has the focus; plus and minus zoom it. */
export const cameraKey = (key: string): ((now: Camera) => Camera) | null => {
  const by = {
    ArrowLeft: [STEP, 0],
    ArrowRight: [-STEP, 0],
    ArrowUp: [0, STEP],
    ArrowDown: [0, -STEP],
  }[key];
  if (by) return (now) => ({ ...now, x: now.x + (by[0] ?? 0), y: now.y + (by[1] ?? 0) });
  return null;
};
