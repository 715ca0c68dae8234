import { dayTotals, hoursOf, shortfall, targets } from "./day-points";
import type { ScheduleSpec } from "./spec";
import { DAY, point } from "./study-samples";

const spec = {
  ...DAY,
  segments: [
    { label: "Morning", duration_s: 3600, percent: {} },
    { label: "Lunch", duration_s: 7200, percent: {} },
  ],
} as unknown as ScheduleSpec;
const at = (method: string, segment: number, utility: number, upper_bound: number | null) =>
  point({
    method,
    coordinates: [segment],
    utility,
    upper_bound,
    moved: segment * 40,
    runtime_s: 0.5,
  });
const day = {
  spec,
  methods: ["lrgp", "greedy"],
  points: [
    at("lrgp", 0, 90, 100),
    at("lrgp", 1, 30, 42),
    at("greedy", 0, 99, null),
    at("greedy", 1, 40, 40),
  ],
  name: "W-1",
  running: false,
};

it("counts hours from the start of the day", () => {
  expect(hoursOf(spec)).toEqual([
    { from: 0, to: 1 },
    { from: 1, to: 3 },
  ]);
});

it("holds every method against the lowest bound that any of them proved", () => {
  expect(targets(day)).toEqual([100, 40]);
  const unbounded = day.points.map((one) => ({ ...one, upper_bound: null }));
  expect(targets({ ...day, points: unbounded })).toEqual([99, 40]);
});

it("weighs utility by how long a segment lasts, and knows no total of a day not yet solved", () => {
  const [lrgp, greedy] = dayTotals(day);
  expect(lrgp).toMatchObject({
    utility: (90 + 2 * 30) / 3,
    worst: 25,
    moved: 40,
    runtime: 1,
    solved: 2,
  });
  expect(greedy?.worst).toBeCloseTo(1);
  expect(dayTotals({ ...day, points: day.points.slice(0, 1) })[0]?.utility).toBeNull();
});

it("is never short of a bound that was reached", () => {
  expect(shortfall(at("lrgp", 0, 100, 100), 100)).toBe(0);
  expect(shortfall(null, 100)).toBeNull();
});
