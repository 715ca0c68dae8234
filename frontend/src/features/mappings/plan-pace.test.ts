import {
  allMovesOf,
  MOST_PER_STEP,
  paceOf,
  perStepOf,
  usualPerStep,
  whyNothing,
} from "./plan-pace";

import type { MapPoint } from "@/api/mappings";
import { mapPoint, mappingDetail } from "@/testing/mapping-samples";

const CHOSEN = { map: "1", place: 1, isProposed: false, choose: vi.fn(), reset: vi.fn() };

describe("the pace of a plan", () => {
  it("needs the fewest steps that hold all moves, and never longer than the moves by themselves", () => {
    for (const moves of [1, 2, 39, 40, 41, 114, 500, 1_999, 2_000]) {
      for (const perStep of [1, 7, 40, 500]) {
        for (const flowsPerS of [0.001, 0.5, 40, 1e8]) {
          const { steps, pauseS, wholeS } = paceOf(moves, perStep, flowsPerS);
          expect(steps * perStep).toBeGreaterThanOrEqual(moves);
          expect((steps - 1) * perStep).toBeLessThan(moves);
          // Moves over the time that a step and its pause take: the pace, and no more.
          expect(perStep / pauseS).toBeCloseTo(flowsPerS, 5);
          expect(wholeS).toBeLessThan(moves / flowsPerS);
        }
      }
    }
  });

  it("has no pause in one step, and no step without moves", () => {
    expect(paceOf(40, 40, 40)).toEqual({ steps: 1, pauseS: 1, wholeS: 0 });
    expect(paceOf(0, 40, 40)).toEqual({ steps: 0, pauseS: 1, wholeS: 0 });
    expect(paceOf(41, 40, 40)).toEqual({ steps: 2, pauseS: 1, wholeS: 1 });
  });

  it.each([
    [40, 40],
    [0.001, 1],
    [0.4, 1],
    [2.5, 3],
    [1e8, MOST_PER_STEP],
  ])("moves at %d flows/s %d in a step", (flowsPerS, perStep) => {
    expect(usualPerStep(flowsPerS)).toBe(perStep);
  });

  it.each([
    ["40", 40],
    [" 1 ", 1],
    ["500", 500],
    ["501", undefined],
    ["0", undefined],
    ["\u22121", undefined],
    ["1.5", undefined],
    ["", undefined],
    ["many", undefined],
    ["Infinity", undefined],
  ])("reads %j as %s", (text, value) => {
    expect(perStepOf(text)).toBe(value);
  });

  it("counts whatever changes its place once", () => {
    const counts = { moved: 114, moved_streams: 3, placed: 20, retired: 7, opened_streams: 2 };
    expect(allMovesOf(mapPoint(counts))).toBe(146);
  });

  it("takes no map that moves more than a plan holds", () => {
    const [kept, most, more] = [0, 2_000, 2_001].map((moved) =>
      mapPoint({ moved, moved_streams: 0 }),
    );
    const mapping = mappingDetail();
    const why = (point: MapPoint) => {
      const points = [kept, most, more].filter((one) => one !== undefined);
      const detail = { ...mapping, outcome: { ...mapping.outcome, points } };
      return whyNothing(detail, { ...CHOSEN, point });
    };
    expect(why(most ?? mapPoint())).toBe("");
    expect(why(more ?? mapPoint())).toMatch(
      /^This map moves 2,001 flows and streams; a plan takes/,
    );
  });
});
