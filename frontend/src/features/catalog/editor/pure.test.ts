import { pointOf } from "./drawn";
import { begin, change, redo, settle, undo } from "./history";
import { switchedTo } from "./kind-switch";
import {
  bendSentence,
  inserted,
  lineAt,
  lineSlope,
  moved,
  sampled,
  unitOf,
  type XY,
} from "./points";
import { described } from "./save-dialog";
import { roundUp, scaleOf, BOX } from "./scale";
import { situationsOf } from "./situation";
import { scaleParameter, spanOf } from "./use-editor";

import { bendsUp, type Point } from "@/lib/parameters";
import { consumerClass, population, rate, utilityKinds } from "@/testing/samples";

const LINE: XY[] = [
  [0, 0],
  [10, 232],
  [25, 328],
  [60, 402],
  [120, 446],
];
const log = (weight: string) => ({ kind: "log", parameters: { weight } });

describe("undo and redo", () => {
  it("go step by step, and a new change forgets what was undone", () => {
    let history = begin(log("1"));
    history = change(history, log("2"), null);
    history = change(history, log("3"), null);
    history = undo(history);
    expect(history.present).toEqual(log("2"));
    expect(redo(history).present).toEqual(log("3"));
    history = change(history, log("9"), null);
    expect(history.future).toEqual([]);
    expect(undo(undo(history)).present).toEqual(log("1"));
    expect(undo(begin(log("1"))).present).toEqual(log("1"));
  });

  it("take a drag or a word for one step", () => {
    let history = begin(log("1"));
    for (const weight of ["2", "3", "4"]) history = change(history, log(weight), "move 0");
    expect(undo(history).present).toEqual(log("1"));
    history = change(settle(history), log("5"), "move 0");
    expect(undo(history).present).toEqual(log("4"));
  });
});

describe("points of a line", () => {
  it("give height and slope at every rate", () => {
    expect(lineAt(LINE, 5)).toBeCloseTo(116);
    expect(lineAt(LINE, 23.97)).toBeCloseTo(321.4, 1);
    expect(lineAt(LINE, 500)).toBe(446);
    expect(lineSlope(LINE, 23.97)).toBeCloseTo(6.4);
    expect(lineSlope(LINE, 120)).toBe(0);
  });

  it("move between their neighbours only", () => {
    const units = { rate: 1, utility: 1 };
    expect(moved(LINE, 2, [30.4, 340.6], units)).toEqual([30, 341]);
    expect(moved(LINE, 2, [3, 1000], units)).toEqual([11, 402]);
    expect(moved(LINE, 4, [9999, 5], units)).toEqual([9999, 402]);
    expect(moved(LINE, 0, [-4, -3], { rate: 0.1, utility: 0.1 })).toEqual([0, -3]);
  });

  it("say where they bend upwards and what straightens them", () => {
    const bent: XY[] = [
      [0, 0],
      [10, 10],
      [20, 100],
    ];
    expect(bendsUp(bent)).toEqual([1]);
    expect(bendSentence(bent, 1)).toBe(
      "Point 1 bends upwards: the slope rises from 1.00 to 9.00. Lift it to 50 or more.",
    );
  });

  it("come in where there is most room, without a bend", () => {
    const { index, point } = inserted(LINE);
    expect(index).toBe(4);
    const next: XY[] = [...LINE.slice(0, index), point, ...LINE.slice(index)];
    expect(bendsUp(next)).toEqual([]);
  });

  it("taken from a curve stay concave after rounding", () => {
    const curve = Array.from({ length: 400 }, (_, i): XY => [i / 3, 100 * Math.log(1 + i / 3)]);
    const points = sampled(curve, [0, 0.3333, 10, 23.97, 60, 133]);
    expect(points.length).toBeGreaterThan(3);
    expect(bendsUp(points.map((p: Point) => [Number(p.rate), Number(p.utility)]))).toEqual([]);
    const straight = Array.from({ length: 100 }, (_, i): XY => [i, i / 3]);
    const line = sampled(straight, [0, 1, 10, 33.33, 99]);
    expect(bendsUp(line.map((p: Point) => [Number(p.rate), Number(p.utility)]))).toEqual([]);
  });
});

describe("the window of the charts", () => {
  it("holds the last kink and the rate in force", () => {
    expect(spanOf([0, 120], 23.97, 1000)).toBe(130);
    expect(spanOf([], 24, 1000)).toBe(60);
    expect(spanOf([], null, 50)).toBe(50);
    expect(spanOf([], null, null)).toBe(100);
    expect(roundUp(129.6)).toBe(130);
    expect(unitOf(130)).toBe(1);
    expect(unitOf(0.5)).toBeCloseTo(0.001);
  });

  it("goes from pixels back to rates and utilities", () => {
    const scale = scaleOf(BOX, 130, 0, 500);
    expect(scale.rateAt(scale.x(42))).toBeCloseTo(42);
    expect(scale.valueAt(scale.y(321))).toBeCloseTo(321);
  });
});

describe("kinds", () => {
  const [logKind, lineKind] = utilityKinds.results;
  it("are scaled by the parameter whose unit is utility", () => {
    expect(scaleParameter(logKind?.parameters ?? [])).toBe("weight");
    expect(scaleParameter(lineKind?.parameters ?? [])).toBeNull();
  });

  it("become points of the curve that was there, and come back as they were", () => {
    const tried = new Map<string, ReturnType<typeof log>>();
    if (!logKind || !lineKind) throw new Error("the samples have two kinds");
    const options = { stored: log("100"), tried: tried as never, rates: [0, 10, 24, 60, 120] };
    const curve = Array.from({ length: 200 }, (_, i): XY => [i, 50 * Math.log(1 + i)]);
    const drawn = switchedTo(lineKind, { ...options, from: log("50"), curve });
    expect((drawn.parameters.points as Point[]).map((point) => point.rate)).toEqual([
      "0",
      "10",
      "24",
      "60",
      "120",
    ]);
    expect(switchedTo(logKind, { ...options, from: drawn, curve })).toEqual(log("50"));
    expect(described(drawn)).toBe("piecewise, 5 points");
    expect(described(log("50"))).toBe("log, weight 50");
  });
});

describe("where a function is used", () => {
  it("means the price of one msg/s over the consumers admitted", () => {
    const classes = [consumerClass(), consumerClass({ name: "c9" })];
    const populations = [
      population({ admitted: 30, price_of_one: 20 }),
      population({ consumer_class: "c9", node: "S2", admitted: 10, price_of_one: 60 }),
      population({ consumer_class: "c18", admitted: 99, price_of_one: 1 }),
    ];
    const [found] = situationsOf(classes, populations, [rate({ rate_per_s: 10 })]);
    expect(found).toMatchObject({ flow: "f2", admitted: 40, price: 3, nodes: ["S1", "S2"] });
    expect(situationsOf([], populations, [rate()])).toEqual([]);
  });

  it("counts those who wait where nobody is admitted", () => {
    const [found] = situationsOf(
      [consumerClass()],
      [population({ admitted: 0, price_of_one: 50 })],
      [rate({ rate_per_s: 10 })],
    );
    expect(found?.price).toBe(5);
  });
});

it("finds the point that the server means", () => {
  expect(pointOf("parameters.points[2][1]")).toBe(2);
  expect(pointOf("parameters.weight")).toBeNull();
});
