/** Everything the editor's charts and panels read: curves, handles, faults, units, the window. */
import { useRef, useState } from "react";

import { curveOf, marginalOf, pointOf, useDrawn } from "./drawn";
import type { Handle } from "./handles";
import {
  lineAt,
  lineSlope,
  moved,
  numbersOf,
  pointsIn,
  slopeAfter,
  unitOf,
  type XY,
} from "./points";
import { BOX, roundUp, scaleOf } from "./scale";
import type { FlowSituation } from "./situation";
import { storedDraft, useUtilityDraft } from "./use-utility-draft";

import type { LooseRow, UtilityDraft } from "@/features/catalog/spec";
import type { UtilityKind } from "@/features/catalog/utility-kinds";
import { rateText, significant } from "@/lib/numbers";
import { bendsUp, readNumber, readParameters, type Parameter } from "@/lib/parameters";
import { useStill } from "@/lib/still";

const STILL_MS = 60;
const USUAL_SPAN = 100;
/** Where no flow tells its bounds. */
const USUAL_WHOLE = 1000;

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The parameter that multiplies the whole function: its unit is utility. */
export const scaleParameter = (described: readonly Parameter[]): string | null =>
  described.find(
    (parameter) => parameter.type !== "points" && /^utility\b/.test(parameter.unit ?? ""),
  )?.name ?? null;

/** How far to the right the charts reach: the last kink, and the rate in force with room around. */
export function spanOf(
  knots: readonly number[],
  rate: number | null,
  rateMax: number | null,
): number {
  const wanted = Math.max(
    ...(knots.length > 0 ? [Math.max(...knots) * 1.08] : []),
    rate === null ? 0 : rate * 2.2,
    0,
  );
  if (wanted > 0) return roundUp(wanted);
  return rateMax === null ? USUAL_SPAN : roundUp(Math.min(rateMax, USUAL_SPAN));
}

export function useEditor(
  latest: LooseRow,
  kinds: readonly UtilityKind[],
  flow: FlowSituation | null,
  width: number = BOX.width,
) {
  const state = useUtilityDraft(latest, kinds);
  const { draft, described } = state;
  const [chosen, setChosen] = useState(0);
  const [whole, setWhole] = useState(false);
  const [held, setHeld] = useState<{ span: number; high: number } | null>(null);
  // Parameters of the kinds that one has tried, so that coming back finds them again.
  const tried = useRef(new Map<string, UtilityDraft>());

  const read = state.read();
  const parameters = read.errors.length === 0 ? read.values : null;
  const asked = useStill({ kind: draft.kind, parameters }, STILL_MS);
  const line = pointsIn(draft.parameters);
  const numbers = line ? numbersOf(line.points) : null;
  const isLine = numbers?.every(([r, u]) => Number.isFinite(r) && Number.isFinite(u)) ?? false;

  const served = useDrawn(asked.kind, asked.parameters, null);
  const knots = numbers
    ? numbers.map(([rate]) => rate).filter(Number.isFinite)
    : served.data?.derived
      ? [served.data.derived.rate_max_per_s]
      : [];
  const fit = spanOf(knots, flow?.rate ?? null, flow?.rateMax ?? null);
  const span = held?.span ?? (whole ? Math.max(fit, flow?.rateMax ?? USUAL_WHOLE) : fit);
  const drawn = useDrawn(asked.kind, asked.parameters, span);
  const former = storedDraft(latest, kinds);
  const formerRead = readParameters(
    kinds.find((kind) => kind.kind === former.kind)?.parameters ?? [],
    former.parameters,
  );
  const formerDrawn = useDrawn(
    former.kind,
    formerRead.errors.length === 0 ? formerRead.values : null,
    span,
  );

  const curve: XY[] = numbers && isLine ? [...numbers] : curveOf(drawn.data);
  const formerCurve = state.isDirty ? curveOf(formerDrawn.data) : null;
  const heights = [...curve, ...(formerCurve ?? [])].filter(([rate]) => rate <= span);
  const values = heights.map(([, utility]) => utility);
  const reach = isLine ? [lineAt(curve, span)] : [];
  const high = held?.high ?? Math.max(1e-9, ...values, ...reach) * 1.04;
  // Below the lowest rate that is worth anything a latency target goes far under 0.
  const lowest = drawn.data?.derived?.rate_min_per_s ?? 0;
  const low = Math.min(
    0,
    ...heights.flatMap(([rate, utility]) => (rate < lowest ? [] : [utility])),
  );
  const scale = scaleOf({ ...BOX, width }, span, low, high);
  const units = { rate: unitOf(span), utility: unitOf(high - low) };

  const bends = numbers && isLine ? bendsUp(numbers) : [];
  const problems = drawn.data && !drawn.isPlaceholderData ? drawn.data.problems : [];
  const faulty = [
    ...problems.map((problem) => pointOf(problem.field)),
    ...read.errors.map((error) => pointOf(error.field)),
  ].filter((index): index is number => index !== null);
  const faults = [...read.errors, ...problems];
  const isSound = faults.length === 0 && bends.length === 0 && parameters !== null;

  const scaling = line ? null : scaleParameter(described);
  const handleRate = Math.min(flow?.rate ?? span / 2, span);
  const handleHeight = lineAt(curve, handleRate);
  const handles: Handle[] =
    numbers && isLine
      ? numbers.map((at, index) => ({
          at,
          label: `Point ${index}`,
          bad: bends.includes(index) || faulty.includes(index),
        }))
      : scaling !== null && handleHeight > 0
        ? [
            {
              at: [handleRate, handleHeight],
              label: `Height, by ${scaling.replaceAll("_", " ")}`,
              vertical: true,
            },
          ]
        : [];

  const move = (index: number, to: XY) => {
    setHeld((old) => old ?? { span, high });
    if (line && numbers) {
      const [rate, utility] = moved(numbers, index, to, units);
      const points = line.points.map((point, i) =>
        i === index ? { rate: String(rate), utility: String(utility) } : point,
      );
      state.set(
        { kind: draft.kind, parameters: { ...draft.parameters, [line.name]: points } },
        `move ${index}`,
      );
      return;
    }
    const now = scaling === null ? null : readNumber(textOf(draft.parameters[scaling]));
    if (scaling === null || now === null || !(now > 0) || !(handleHeight > 0) || to[1] <= 0) return;
    const next = Number((now * (to[1] / handleHeight)).toPrecision(4));
    state.set(
      { kind: draft.kind, parameters: { ...draft.parameters, [scaling]: String(next) } },
      "scale",
    );
  };

  const at = handles[chosen]?.at;
  const tip: [string, string] | null =
    at === undefined
      ? null
      : numbers
        ? [
            `${rateText(at[0])} msg/s \u2192 ${significant(at[1], 4)}`,
            [
              chosen > 0 ? `${significant(slopeAfter(numbers, chosen - 1), 3)} before` : "",
              chosen < numbers.length - 1
                ? `${significant(slopeAfter(numbers, chosen), 3)} after`
                : "flat after",
            ]
              .filter(Boolean)
              .join(", "),
          ]
        : [`${rateText(at[0])} msg/s \u2192 ${significant(at[1], 4)}`, "drag it up or down"];

  const kinks = (drawn.data?.knots ?? []).map((knot) => [knot.rate_per_s, knot.utility] as const);
  const marginal = marginalOf(drawn.data);
  const gainAt = (rate: number) =>
    numbers && isLine
      ? lineSlope(numbers, rate)
      : (marginal.findLast(([r]) => r <= rate)?.[1] ?? NaN);

  return {
    ...state,
    chosen: Math.min(chosen, Math.max(0, handles.length - 1)),
    choose: setChosen,
    span,
    whole,
    setWhole,
    scale,
    units,
    curve,
    formerCurve,
    formerMarginal: state.isDirty ? marginalOf(formerDrawn.data) : null,
    marginal,
    drawn: drawn.data,
    drawnError: drawn.error,
    line,
    steps: isLine ? numbers : kinks.length > 1 ? kinks : null,
    bends,
    faulty,
    faults,
    isSound,
    parameters,
    handles,
    tip,
    move,
    release: () => {
      setHeld(null);
      state.settle();
    },
    heightAt: (rate: number) => lineAt(curve, rate),
    formerAt: (rate: number) => (formerCurve ? lineAt(formerCurve, rate) : null),
    gainAt,
    tried,
  };
}

export type Editor = ReturnType<typeof useEditor>;
