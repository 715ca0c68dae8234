/** Links of a step seen on their way while the scrubber goes on by one. */
import { useEffect, useState } from "react";

import type { MapMove } from "./scene";

const TRAVEL_MS = 400;

const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
/** The same easing as every other motion: quick first, then slow. */
const eased = (share: number) => 1 - (1 - share) ** 3;

type Travel = { moves: readonly MapMove[]; share: number };

export function useTravel(
  stop: number,
  steps: ((step: number) => readonly MapMove[]) | undefined,
): Travel | null {
  const [shown, setShown] = useState(stop);
  const [travel, setTravel] = useState<Travel | null>(null);
  if (shown !== stop) {
    setShown(stop);
    const moves = stop === shown + 1 ? (steps?.(shown) ?? []) : [];
    setTravel(moves.length > 0 && !calm() ? { moves, share: 0 } : null);
  }
  const moves = travel?.moves;
  useEffect(() => {
    if (!moves) return;
    const started = performance.now();
    let frame = requestAnimationFrame(function next(now) {
      const share = (now - started) / TRAVEL_MS;
      if (share >= 1) setTravel(null);
      else {
        setTravel({ moves, share: eased(Math.max(0, share)) });
        frame = requestAnimationFrame(next);
      }
    });
    return () => cancelAnimationFrame(frame);
  }, [moves]);
  return travel;
}
