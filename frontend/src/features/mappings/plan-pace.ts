/** A plan of one of a mapping's maps before it is made: what moves, in how many steps, how long. */
import { keptMap, movesOf, type ChosenMap } from "./use-chosen-map";

import type { MappingDetail, MapPoint } from "@/api/mappings";
import { fixed } from "@/lib/numbers";
import { readNumber } from "@/lib/parameters";

/** The bound of the API. */
export const MOST_PER_STEP = 500;
const MOST_MOVES = 2_000;

/** Flows that change their stream, get one or lose it, and streams that change their group. */
export const allMovesOf = (point: MapPoint): number =>
  movesOf(point) + point.placed + point.retired + point.opened_streams;

/** What moves in a second, at least one and at most what a step may hold. */
export const usualPerStep = (flowsPerS: number): number =>
  Math.min(MOST_PER_STEP, Math.max(1, Math.round(flowsPerS)));

/** What is typed as moves of a step; undefined where it is none. */
export function perStepOf(text: string): number | undefined {
  const value = readNumber(text);
  const fits = value !== null && Number.isInteger(value) && value >= 1 && value <= MOST_PER_STEP;
  return fits ? value : undefined;
}

export type Pace = {
  steps: number;
  /** Between two steps, s. */
  pauseS: number;
  /** All pauses together, s: none comes before the first step or after the last. */
  wholeS: number;
};

export function paceOf(moves: number, perStep: number, flowsPerS: number): Pace {
  const steps = Math.ceil(moves / perStep);
  const pauseS = perStep / flowsPerS;
  return { steps, pauseS, wholeS: Math.max(0, steps - 1) * pauseS };
}

/** Which of the maps it is, in the words of the slider. */
export function mapText(mapping: MappingDetail, { point, place, isProposed }: ChosenMap): string {
  const { points } = mapping.outcome;
  const isKept = point === keptMap(mapping);
  if (isProposed) return isKept ? "proposed: only what must move does" : "proposed";
  if (isKept) return "the map in force: only what must move does";
  return `${place + 1} of ${points.length} on the slider, not the proposed one`;
}

/** Why there is nothing to plan; empty: something moves. */
export function whyNothing(mapping: MappingDetail, { point, isProposed }: ChosenMap): string {
  const moves = allMovesOf(point);
  if (moves > MOST_MOVES) {
    return `This map moves ${fixed(moves)} flows and streams; a plan takes at most ${fixed(MOST_MOVES)}. Choose a map with the slider that moves less, carry it out and map again.`;
  }
  if (moves > 0) return "";
  const hasOthers = mapping.outcome.points.some((other) => allMovesOf(other) > 0);
  const next = hasOthers ? " Choose a map with the slider that moves something." : "";
  if (point !== keptMap(mapping)) return `This map moves nothing: there is nothing to plan.${next}`;
  return isProposed
    ? `No move is worth its work: the map in force is kept, and there is nothing to plan.${next}`
    : `The map in force is chosen: it is kept as it is, so there is nothing to plan.${next}`;
}
