import {
  candidateTimeline,
  loadsAt,
  loadsOfStop,
  playedBrokers,
  tellsOf,
} from "./candidate-timeline";
import { placeLabels } from "./labels";

import { candidateDetail, systemTraffic } from "@/testing/evaluation-samples";

const candidate = candidateDetail();
const timeline = candidateTimeline(candidate);
const levels = (stop: number, told: typeof candidate | null = candidate) => {
  const loads = loadsOfStop(candidate, told ?? undefined, systemTraffic(), timeline, stop);
  const brokers = ["S0", "S2", "S3"].map((name) => ({
    name,
    region: "",
    map_x: null,
    map_y: null,
  }));
  return playedBrokers(brokers, candidate, undefined, loads, stop > 0).map((one) => one.fraction);
};

it("reckons links and brokers at every stop from what each step changes", () => {
  expect([0, 1, 2].map((stop) => levels(stop))).toEqual([
    [1.08, 0.2, 0.2],
    [0.51, 0.64, 0.2],
    [0.51, 0.2, 0.3],
  ]);
  expect(loadsAt(candidate, 1)?.links).toEqual(
    new Map([
      ["S0\nS2", 9000],
      ["S2\nS3", 5000],
      ["S1\nS2", 20_400],
    ]),
  );
});

it("keeps to now and the goal where the figures are of other steps, or of none", () => {
  const other = candidateTimeline({ ...candidate, steps: [...candidate.steps].reverse() });
  expect(tellsOf(candidate, timeline)).toBe(true);
  expect(tellsOf(candidate, other)).toBe(false);
  expect(loadsAt(candidateDetail({ moments: [] }), 1)).toBeNull();
  expect(levels(1, null)).toEqual([1.08, 0.2, 0.2]);
  expect(levels(2, null)).toEqual([0.51, 0.2, 0.3]);
});

it("keeps names off what lies over the picture", () => {
  const wanted = {
    id: "sin-1",
    at: { x: 336, y: 250 },
    width: 60,
    vessel: { width: 24, height: 30 },
    always: true,
  };
  const bounds = { width: 400, height: 300 };
  const below = placeLabels([wanted], [], bounds)[0];
  const beside = placeLabels([wanted], [], bounds, [{ x: 358, y: 176, width: 42, height: 124 }])[0];
  expect(below).toMatchObject({ align: "center", x: 336 });
  expect(beside).toMatchObject({ align: "right" });
});
