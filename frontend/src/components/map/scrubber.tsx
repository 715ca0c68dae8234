/** Stops of the scrubber: now and after every step; `[` and `]` step, Space plays. */
import { useEffect, useRef, useState } from "react";

import { Icon } from "@/components/ui/icons";
import { useKeys } from "@/lib/keyboard";

export type Stop = { label: string; note?: string };

const PLAY_MS = 900;
/** Stops that fit side by side; more of them are a slider. */
const MANY = 9;
/** A long plan is played in about this time. */
const PLAY_ALL_MS = 30_000;

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
    const timer = setTimeout(
      () => {
        if (at < last) move.current(at + 1);
        if (at + 1 >= last) setPlaying(false);
      },
      Math.max(120, Math.min(PLAY_MS, PLAY_ALL_MS / Math.max(1, last))),
    );
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
  const button = (
    <button
      type="button"
      className="iconbtn"
      aria-label={playing ? "Stop playing the steps" : "Play the steps"}
      title="Space; [ and ] step back and on"
      onClick={play}
    >
      <Icon name={playing ? "pause" : "play"} small />
    </button>
  );
  if (stops.length > MANY) {
    const here = stops[at];
    return (
      <div className="scrub long">
        {button}
        <button
          type="button"
          className="iconbtn"
          aria-label="One step back"
          title="["
          disabled={at === 0}
          onClick={() => go(at - 1)}
        >
          <Icon name="left" small />
        </button>
        <input
          type="range"
          min={0}
          max={last}
          value={at}
          aria-label="Show the state after step"
          aria-valuetext={`${here?.label ?? ""} of ${last}`}
          style={{ "--v": `${last > 0 ? (at / last) * 100 : 0}%` } as React.CSSProperties}
          onChange={(event) => go(Number(event.target.value))}
        />
        <button
          type="button"
          className="iconbtn"
          aria-label="One step on"
          title="]"
          disabled={at === last}
          onClick={() => go(at + 1)}
        >
          <Icon name="right" small />
        </button>
        <span className="where">
          <b>{here?.label}</b> of {last}
          {here?.note ? <span>{here.note}</span> : null}
        </span>
      </div>
    );
  }
  return (
    <div className="scrub">
      {button}
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
