/** Links seen on their way: of the step that the scrubber goes on by, or of the one that runs now. */
import { useEffect, useState } from "react";

import type { MapMove, MapSlide } from "./scene";

const TRAVEL_MS = 400;

const NONE: readonly MapSlide[] = [];

const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
/** The same easing as every other motion: quick first, then slow. */
const eased = (share: number) => 1 - (1 - share) ** 3;

type Ride = { from: readonly MapSlide[]; to: readonly MapSlide[] };

const travelling = (slides: readonly MapSlide[]) => slides.filter(({ share }) => share < 1);

const shareOf = (slides: readonly MapSlide[], id: string) =>
  slides.find((slide) => slide.id === id)?.share;

/**
 * Nothing moves by itself: links travel for a moment to where they are now, and stay there.
 * What was seen on its way is not shown a second time when its step is done.
 */
export function useTravel(
  stop: number,
  steps: ((step: number) => readonly MapMove[]) | undefined,
  live: readonly MapSlide[] = NONE,
): readonly MapSlide[] {
  const [shown, setShown] = useState({ stop, live });
  const [slides, setSlides] = useState(() => travelling(live));
  const [ride, setRide] = useState<Ride | null>(null);
  if (shown.stop !== stop || shown.live !== live) {
    const stepped = stop === shown.stop + 1 ? (steps?.(shown.stop) ?? []) : [];
    const to = [...stepped.map((move): MapSlide => ({ ...move, share: 1 })), ...live];
    const from = to.map((slide) => ({
      ...slide,
      share: shareOf(slides, slide.id) ?? shareOf(shown.live, slide.id) ?? 0,
    }));
    const moves = !calm() && from.some(({ share }, index) => share !== to[index]?.share);
    setShown({ stop, live });
    setSlides(travelling(moves ? from : to));
    setRide(moves ? { from, to } : null);
  }
  useEffect(() => {
    if (!ride) return;
    const started = performance.now();
    let frame = requestAnimationFrame(function next(now) {
      const way = eased(Math.min(1, Math.max(0, (now - started) / TRAVEL_MS)));
      const here = ride.to.map((slide, index) => {
        const began = ride.from[index]?.share ?? 0;
        return { ...slide, share: way === 1 ? slide.share : began + (slide.share - began) * way };
      });
      setSlides(travelling(here));
      if (way < 1) frame = requestAnimationFrame(next);
      else setRide(null);
    });
    return () => cancelAnimationFrame(frame);
  }, [ride]);
  return slides;
}
