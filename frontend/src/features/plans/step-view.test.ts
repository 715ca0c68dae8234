import { promisedOf } from "./measured";
import { runningOf } from "./running";
import {
  absentAt,
  limitsAt,
  loadsAt,
  movesOf,
  ratesAt,
  settingsAt,
  stepsDone,
  type Problem,
} from "./step-view";
import { changeWord } from "./words";

import type { PlanAction, PlanDetail } from "@/api/plans";
import { edgesAt, startOf, timelineOf } from "@/components/map/timeline";
import { execution, executionAction, planDetail } from "@/testing/plan-samples";

const plan = planDetail();
const proposal = {
  rates: new Map([
    ["f1", 80],
    ["f2", 10],
  ]),
  populations: new Map([["c1", 300]]),
};

const problem: Problem = {
  resources: ["cpu"],
  nodes: [
    { id: "S1", capacity: { cpu: 60_000 } },
    { id: "S2", capacity: { cpu: 1000 } },
  ],
  links: [{ id: "S1-S2", capacity: 1000 }],
  flows: [
    { id: "f1", node_costs: { S1: { cpu: 3 } }, link_costs: {} },
    { id: "f2", node_costs: { S2: { cpu: 2 } }, link_costs: { "S1-S2": 1 } },
  ],
  classes: [{ id: "c1", flow: "f1", node: "S1", costs: { cpu: 1 } }],
};

it("goes back from the proposal to what is in force before each step", () => {
  expect(ratesAt(plan, 0, proposal).get("f1")).toBe(120);
  expect(ratesAt(plan, 1, proposal).get("f1")).toBe(80);
  expect(limitsAt(plan, 0, proposal).get("c1")).toBe(500);
  // Nothing limited f2 before its step, so its rate is not known until then.
  expect(ratesAt(plan, 1, proposal).get("f2")).toBeNull();
  expect(ratesAt(plan, 2, proposal).get("f2")).toBe(10);
});

it("computes loads of every stop as the kernel does, unknown where a limit is unknown", () => {
  const at = (stop: number) => loadsAt(plan, stop, proposal, problem);
  expect(at(0).brokers.get("S1")).toBeCloseTo((3 * 120 + 500 * 120) / 60_000);
  expect(at(1).brokers.get("S1")).toBeCloseTo((3 * 80 + 300 * 80) / 60_000);
  expect(at(1).brokers.get("S2")).toBeNull();
  expect(at(1).links.get("S1-S2")).toBeNull();
  expect(at(2).brokers.get("S2")).toBeCloseTo(0.02);
  expect(at(2).links.get("S1-S2")).toBe(10);
});

it("lists the limits of a broker as of a stop", () => {
  expect(settingsAt(plan, 0, "S1").map((s) => [s.name, s.value, s.changed])).toEqual([
    ["c1", 500, false],
    ["f1", 120, false],
  ]);
  expect(settingsAt(plan, 1, "S1").map((s) => [s.name, s.value, s.changed])).toEqual([
    ["c1", 300, true],
    ["f1", 80, true],
  ]);
  expect(settingsAt(plan, 1, "S2")[0]).toMatchObject({ value: null, step: 1 });
});

const shift = (i: string, j: string, k: string): PlanAction => ({
  index: 0,
  kind: "shift_link",
  title: `Shift ${i} from ${j} to ${k}`,
  undo_title: "",
  brokers: [i, j, k],
  target: { i, j, k },
  before: null,
  after: null,
  effect: "",
  publishers: null,
});

it("lists no limit of an order to adapt parts, which has none", () => {
  const order: PlanAction = {
    ...shift("a", "b", "c"),
    kind: "adapt_parts",
    target: { flow: "f1" },
    brokers: ["S1", "S2"],
    after: { window_s: 10, period_s: 1, least_share: 0.02, brokers: 2 },
  };
  const adapts = { steps: [{ index: 0, actions: [order] }] };
  expect(settingsAt(adapts, 1, "S1")).toEqual([]);
  expect(changeWord("adapt_parts", "")).toBe("Adaptation of parts");
});

describe("the tree at a stop", () => {
  const moves: Pick<PlanDetail, "steps"> = {
    steps: [
      { index: 0, actions: [shift("p", "a", "b")] },
      { index: 1, actions: [shift("p", "b", "c")] },
    ],
  };
  const now = [
    { a: "a", b: "b" },
    { a: "b", b: "c" },
    { a: "a", b: "p" },
  ];
  const steps = movesOf(moves);
  const phases = (inForce: typeof now, done: number, stop: number) =>
    Object.fromEntries(
      edgesAt(timelineOf(startOf(inForce, steps, done), steps), stop).map(({ a, b, phase }) => [
        [a, b].sort().join(""),
        phase,
      ]),
    );

  it("shows what stays, leaves, is on its way, is the goal and is in place", () => {
    expect(phases(now, 0, 0)).toEqual({ ab: "stays", bc: "stays", ap: "leaves", cp: "goal" });
    expect(phases(now, 0, 1)).toEqual({ ab: "stays", bc: "stays", bp: "moving", cp: "goal" });
    expect(phases(now, 0, 2)).toEqual({ ab: "stays", bc: "stays", cp: "placed" });
  });

  it("is the same seen from the middle and from the end", () => {
    const middle = [...now.slice(0, 2), { a: "b", b: "p" }];
    const end = [...now.slice(0, 2), { a: "p", b: "c" }];
    for (const stop of [0, 1, 2]) {
      expect(phases(middle, 1, stop)).toEqual(phases(now, 0, stop));
      expect(phases(end, 2, stop)).toEqual(phases(now, 0, stop));
    }
  });
});

it("counts the steps that stand", () => {
  expect(stepsDone(plan, undefined)).toBe(0);
  expect(stepsDone({ ...plan, state: "executed" }, undefined)).toBe(2);
  const [first, second] = execution().steps;
  if (!first || !second) throw new Error("the sample has two steps");
  const half = execution({ steps: [{ ...first, state: "completed" }, second] });
  expect(stepsDone({ ...plan, state: "executing" }, half)).toBe(1);
  expect(stepsDone({ ...plan, state: "stale" }, { ...half, state: "rolled_back" })).toBe(0);
});

it("tells how far each action of the running step is, and whom it waits for", () => {
  const moved = (
    id: string,
    state: "pending" | "preparing" | "committed" | "done",
    waits: string[],
  ) =>
    executionAction({
      id,
      kind: "shift_link",
      target: { i: id, j: "a", k: "b" },
      state,
      waiting_for: waits,
    });
  const at = (direction: "forward" | "undo") =>
    execution({
      steps: [
        {
          ...{ index: 0, direction, state: "in_progress", started_at: null, ended_at: null },
          actions: [
            moved("p", "preparing", ["a"]),
            moved("q", "committed", []),
            moved("r", "pending", []),
          ],
        },
      ],
    });
  expect(runningOf(at("forward"), 0)).toEqual({
    toward: 1,
    actions: [
      {
        move: { op: "shift", broker: "p", source: "a", to: "b" },
        share: 0.15,
        words: "waits for a",
        waits: ["a"],
      },
      {
        move: { op: "shift", broker: "q", source: "a", to: "b" },
        share: 0.6,
        words: "switching routes",
        waits: [],
      },
    ],
  });
  expect(runningOf(at("undo"), 2)?.toward).toBe(1);
  expect(runningOf(execution({ steps: [] }), 0)).toBeNull();
});

describe("a limit of what is not there", () => {
  const action = (change: Partial<PlanAction>): PlanAction => ({
    index: 0,
    kind: "set_population",
    title: "",
    undo_title: "",
    brokers: ["S1"],
    target: { class: "c1", flow: "f1", broker: "S1" },
    before: { limit: 500 },
    after: { limit: 300 },
    effect: "",
    publishers: null,
    ...change,
  });
  const class1 = { class: "c1", broker: "S1" };
  const serve = action({
    kind: "serve_class",
    target: class1,
    before: null,
    after: { flow: "f1" },
  });
  const limit = action({ before: null });
  const stop = action({ kind: "serve_class", target: class1, before: { flow: "f1" }, after: null });
  const steps = (...actions: PlanAction[]) => ({
    steps: actions.map((one, index) => ({ index, actions: [one] })),
  });

  it("is called by its name until the plan serves the class", () => {
    const begins = steps(serve, limit);
    expect([0, 1, 2].map((at) => settingsAt(begins, at, "S1")[0]?.absent)).toEqual([
      "not served",
      "",
      "",
    ]);
    expect(promisedOf(begins)[0]?.absent).toBe("");
  });

  it("is called by its name once the plan has ended the class", () => {
    const ends = steps(action({ after: null }), stop);
    expect([0, 1, 2].map((at) => absentAt(ends, at, class1))).toEqual(["", "", "not served"]);
    expect(promisedOf(ends)[0]?.absent).toBe("not served");
  });

  it("is no limit where the plan leaves the class as it is", () => {
    expect(absentAt(steps(limit), 0, class1)).toBe("");
    expect(absentAt(steps(serve), 0, { ...class1, broker: "S2" })).toBe("");
  });

  it("says that a flow is not carried", () => {
    const carry = action({ kind: "carry_flow", target: { flow: "f1" }, before: null });
    expect(absentAt(steps(carry), 0, { flow: "f1", broker: "S1" })).toBe("not carried");
  });
});
