import {
  along,
  asIs,
  best,
  change,
  compareBase,
  heatStep,
  knee,
  linesOf,
  operatingPoint,
  troubles,
  viewOf,
  widestGap,
  worthAlong,
} from "./points";
import type { Spec, SweepSpec } from "./spec";
import { DAY, point, SWEEP, sweepPoints } from "./study-samples";

const points = sweepPoints();

it("holds every point against the model as it is with the same method", () => {
  const base = asIs([...points, point({ index: 9, method: "greedy", utility: 500_000 })]);
  expect(change(points[3] ?? point(), base)).toBeCloseTo(0.025);
  expect(change(point({ method: "greedy", utility: 400_000 }), base)).toBeCloseTo(-0.2);
  expect(change(points[1] ?? point(), base)).toBeNull();
  expect(change(point({ method: "unknown" }), base)).toBeNull();
});

it("compares no utilities where scenarios weigh consumers differently", () => {
  const sweep = SWEEP as unknown as SweepSpec;
  const weights = {
    label: "worth",
    edit: { kind: "utility_weight" },
    field: "scale",
    values: [1, 2],
  };
  expect(compareBase({ ...sweep, axes: [weights] }, points).size).toBe(0);
  const scenarios = [{ label: "gold", edits: [{ kind: "utility_weight", scale: 2 }] }];
  expect(compareBase({ ...sweep, scenarios }, points).size).toBe(0);
  expect(compareBase(sweep, points).size).toBeGreaterThan(0);
});

it("orders a line by its value and leaves out the model as it is", () => {
  const mixed = [...points].reverse();
  expect(along(mixed, "lrgp").map((row) => row.coordinates[0])).toEqual([0.5, 1, 1.5]);
});

it("finds where one more unit is worth half", () => {
  expect(knee(along(points, "lrgp"))).toMatchObject({
    point: { index: 3 },
    worth: 0.1,
    first: 0.44,
  });
  expect(knee([])).toBeNull();
});

it("takes the slope between neighbours where the answers know no price", () => {
  const row = (quantity: number, utility: number | null) =>
    point({ coordinates: [quantity], quantities: [quantity], utility });
  expect(worthAlong([row(10, 50), row(20, 70), row(30, null), row(40, 90)])).toEqual({
    from: "slope",
    values: [null, 2, null, null],
  });
  expect(worthAlong([point()]).from).toBe("none");
  expect(worthAlong(points).from).toBe("price");
});

it("puts the model as it is on the axis where the axis can say where it is", () => {
  const axis = (SWEEP as unknown as SweepSpec).axes[0];
  if (!axis) throw new Error("the sample has an axis");
  const base = point({ quantities: [900_000], marginals: [0.2] });
  expect(operatingPoint(axis, base)).toEqual({
    at: 1,
    utility: 1_000_000,
    price: 0.2,
    quantity: 900_000,
  });
  expect(operatingPoint({ ...axis, field: "set" }, base)?.at).toBe(900_000);
  const several = { ...axis, field: "set", edit: { kind: "node_capacity", nodes: ["S0", "S1"] } };
  expect(operatingPoint(several, base)).toBeNull();
  expect(operatingPoint(axis, point({ utility: null }))).toBeNull();
});

it("draws a line per method, and per way where a budget is divided two ways", () => {
  const sweep = SWEEP as unknown as SweepSpec;
  expect(linesOf(sweep, points).map((line) => line.label)).toEqual(["lrgp"]);
  const [axis] = sweep.axes;
  if (!axis) throw new Error("the sample has an axis");
  const edit = { kind: "budget", resource: "cpu", nodes: "all" };
  const ways = { ...axis, edit, field: "spread", values: ["best", "in_proportion"] };
  const both = { ...sweep, axes: [axis, ways] };
  expect(viewOf(both)).toBe("frontier");
  const rows = ["best", "in_proportion"].map((way) => point({ coordinates: [1, way], label: way }));
  expect(linesOf(both, rows).map((line) => [line.label, line.points.length])).toEqual([
    ["where worth most", 1],
    ["in proportion", 1],
  ]);
});

it("finds the best answer, the widest gap and the reasons why there is none", () => {
  expect(best(points)?.index).toBe(3);
  expect(widestGap(points)).toBe(0.0001);
  expect(troubles(points)).toEqual([
    { status: "infeasible", count: 1, reason: "S2 cannot carry the minimum rates." },
  ]);
});

it("picks the picture by what varies", () => {
  const sweep = SWEEP as unknown as Spec & { kind: "sweep" };
  const [axis] = sweep.axes;
  if (!axis) throw new Error("the sample has an axis");
  expect(viewOf(sweep)).toBe("frontier");
  expect(viewOf({ ...sweep, axes: [axis, axis] })).toBe("heat");
  expect(viewOf({ ...sweep, axes: [{ ...axis, field: "nodes", values: ["S0"] }] })).toBe("impact");
  expect(viewOf({ ...sweep, axes: [] })).toBe("impact");
  expect(viewOf(DAY as unknown as Spec)).toBe("impact");
});

it("steps a map by the largest change, and never hides a small one", () => {
  expect(heatStep(0.1, 0.1)).toBe(5);
  expect(heatStep(-0.05, 0.1)).toBe(-3);
  expect(heatStep(0.0001, 0.1)).toBe(1);
  expect(heatStep(0, 0.1)).toBe(0);
  expect(heatStep(null, 0.1)).toBe(0);
});
