/** Stops of the scrubber: now and after every step; `[` and `]` step, Space plays. */
import { useEffect, useRef, useState } from "react";

import { Icon } from "@/components/ui/icons";
import { useKeys } from "@/lib/keyboard";

export type Stop = { label: string; note?: string };

const PLAY_MS = 900;
/** From here on the stops are narrow and scroll. */
const MANY = 9;

export function Scrubber({
  stops,
  at,
  onAt,
}: {
  stops: readonly Stop[];
  at: number;
  onAt: (stop: number) => void;
}) {
  const [playing, setPlaying] = useState(false);
  const last = stops.length - 1;
  const move = useRef(onAt);
  useEffect(() => {
    move.current = onAt;
  });
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      if (at < last) move.current(at + 1);
      if (at + 1 >= last) setPlaying(false);
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, at, last]);
  const go = (stop: number) => {
    setPlaying(false);
    onAt(Math.max(0, Math.min(last, stop)));
  };
  const play = () => {
    if (!playing && at === last) onAt(0);
    setPlaying(!playing);
  };
  useKeys({
    "[": () => go(at - 1),
    "]": () => go(at + 1),
    " ": (event) => {
      // Space on a button is that button's.
      const button =
        event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("button") : null;
      if (button) button.click();
      else play();
    },
  });
  return (
    <div className={stops.length > MANY ? "scrub many" : "scrub"}>
      <button
        type="button"
        className="iconbtn"
        aria-label={playing ? "Stop playing the steps" : "Play the steps"}
        title="Space; [ and ] step back and on"
        onClick={play}
      >
        <Icon name={playing ? "pause" : "play"} small />
      </button>
      <div
        className="stops"
        role="group"
        aria-label="Show the state after step"
        style={{ "--at": last > 0 ? at / last : 0 } as React.CSSProperties}
      >
        {stops.map((stop, index) => (
          <button
            key={stop.label}
            type="button"
            className={index < at ? "passed" : undefined}
            aria-current={index === at ? "step" : undefined}
            onClick={() => go(index)}
          >
            <i />
            <b>{stop.label}</b>
            {stop.note ? <span>{stop.note}</span> : null}
          </button>
        ))}
      </div>
    </div>
  );
}
