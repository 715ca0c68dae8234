/** A slider of what-if: its value with unit, its ends, the stored value as a tick. */
import { useId } from "react";

import { fixed } from "@/lib/numbers";

/** Steps between two ends; the value to begin with is one of them. */
export type Steps = { min: number; max: number; step: number };

const round = (value: number) => Number(value.toPrecision(12));

/** The largest of 1, 2, 5, 10, 20, … that is not above `value`. */
export function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const lead = value / power + 1e-9;
  return round((lead >= 5 ? 5 : lead >= 2 ? 2 : 1) * power);
}

/** Ends near `low` and `high`, so that whole steps lead from `start` to everything between them. */
export function stepsAround(start: number, low: number, high: number, step: number): Steps {
  const down = Math.max(0, Math.floor((start - low) / step + 1e-9));
  const up = Math.max(0, Math.floor((high - start) / step + 1e-9));
  return { min: round(start - down * step), max: round(start + up * step), step };
}

/** Decimals that tell all values of the slider apart. */
export const decimalsOf = ({ min, step }: Steps): number =>
  Math.max(...[min, step].map((value) => /\.(\d+)$/.exec(String(round(value)))?.[1]?.length ?? 0));

const LONG = 10;
const WAYS: Readonly<Record<string, number>> = {
  ArrowLeft: -LONG,
  ArrowDown: -LONG,
  ArrowRight: LONG,
  ArrowUp: LONG,
};

export function WhatIfSlider({
  label,
  value,
  stored,
  steps,
  unit,
  decimals = decimalsOf(steps),
  text = `${fixed(value, decimals)} ${unit}`,
  storedText = `Stored: ${fixed(stored, decimals)} ${unit}`,
  ends = [fixed(steps.min, decimals), `${fixed(steps.max, decimals)} ${unit}`],
  disabled = false,
  onChange,
}: {
  label: string;
  value: number;
  /** Where it stood to begin with; null where there was none. */
  stored: number | null;
  steps: Steps;
  unit: string;
  decimals?: number;
  /** The value in words. */
  text?: string;
  /** What the tick stands for. */
  storedText?: string;
  /** The ends in words. */
  ends?: readonly [string, string];
  disabled?: boolean;
  onChange: (value: number) => void;
}) {
  const id = useId();
  const { min, max, step } = steps;
  const at = (of: number) => (max > min ? (of - min) / (max - min) : 0);
  const set = (next: number) => onChange(round(Math.min(max, Math.max(min, next))));
  return (
    <div className="slider">
      <label htmlFor={id}>
        {label}
        <output htmlFor={id}>{text}</output>
      </label>
      <span className="rail" style={{ "--stored": at(stored ?? min) } as React.CSSProperties}>
        <input
          id={id}
          type="range"
          min={min}
          max={max}
          step={step}
          value={value}
          disabled={disabled}
          aria-label={label}
          aria-valuetext={text}
          style={{ "--v": `${at(value) * 100}%` } as React.CSSProperties}
          onChange={(event) => set(Number(event.target.value))}
          onKeyDown={(event) => {
            const way = event.shiftKey ? WAYS[event.key] : undefined;
            if (way === undefined) return;
            event.preventDefault();
            set(value + way * step);
          }}
        />
        {stored !== null && Math.abs(stored - value) > step / 2 ? <i title={storedText} /> : null}
      </span>
      <div className="ends">
        <span>{ends[0]}</span>
        <span>{ends[1]}</span>
      </div>
    </div>
  );
}
