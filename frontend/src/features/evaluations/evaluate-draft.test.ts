import { evaluateBody, evaluateDraft, type EvaluateDraft } from "./evaluate-draft";

import { SYSTEM } from "@/testing/samples";

const draft = (change: Partial<EvaluateDraft> = {}): EvaluateDraft => ({
  ...evaluateDraft(["minimum_cost", "local_improvement"], "slides"),
  ...change,
});
const errorsOf = (change: Partial<EvaluateDraft>) => {
  const read = evaluateBody(draft(change), SYSTEM);
  return "errors" in read ? Object.fromEntries(read.errors.map((e) => [e.field, e.message])) : {};
};

it("asks as it stands for all methods with the usual planner, over a day", () => {
  expect(evaluateBody(draft(), SYSTEM)).toEqual({
    body: {
      system: SYSTEM,
      goals: [],
      methods: [{ name: "minimum_cost" }, { name: "local_improvement" }],
      planners: [{ name: "slides" }],
      objective: "actions",
      seeds: [0],
      options: { parallel: "broker-disjoint" },
      horizon_s: 86_400,
      window_s: 60,
      time_limit_s: 60,
      note: "",
    },
  });
});

it("says at every field what is wrong with it", () => {
  expect(errorsOf({ methods: [] })).toEqual({
    methods: "Choose a method, or a stored goal below.",
  });
  expect(errorsOf({ methods: [], goals: ["g"] })).toEqual({});
  expect(errorsOf({ planners: [] })).toHaveProperty("planners");
  expect(errorsOf({ maxDegree: "1" })).toEqual({
    "options.max_degree": "Give a whole number from 2 on.",
  });
  expect(errorsOf({ maxDegree: "3.5" })).toHaveProperty(["options.max_degree"]);
  expect(errorsOf({ seeds: "17" })).toEqual({ seeds: "Give 1 to 16." });
  expect(errorsOf({ seeds: "2.5" })).toEqual({ seeds: "Give a whole number." });
  expect(errorsOf({ horizon: "soon" })).toEqual({ horizon_s: "Give a number." });
  expect(errorsOf({ horizon: "400", unit: "86400" })).toHaveProperty("horizon_s");
  expect(errorsOf({ window: "1801" })).toEqual({ window_s: "Give 1 to 1800 s." });
  expect(errorsOf({ limit: "" })).toEqual({ time_limit_s: "Give a number." });
  const prices = draft().prices;
  expect(errorsOf({ prices: { ...prices, shift: "-1" } })).toEqual({
    "options.action_costs.shift": "A cost is 0 or more.",
  });
  expect(
    Object.keys(errorsOf({ prices: { ...prices, move: "x" }, seeds: "", maxDegree: "0" })),
  ).toEqual(["options.max_degree", "seeds", "options.action_costs.move"]);
});

it("sends what differs from the usual in the words of the format", () => {
  const read = evaluateBody(
    draft({
      maxDegree: "6",
      parallel: "paper",
      moveGoalLinks: true,
      frozenBrokers: ["lon-1"],
      frozenLinks: ["a\nb"],
      prices: { ...draft().prices, detach: "3", exchange: "1" },
      seeds: "3",
      horizon: "30",
      unit: "60",
    }),
    SYSTEM,
  );
  if ("errors" in read) throw new Error("nothing is wrong with it");
  expect(read.body.options).toEqual({
    max_degree: 6,
    parallel: "paper",
    action_costs: { detach: 3, exchange: 1 },
    frozen: ["lon-1", ["a", "b"]],
    move_goal_links: true,
  });
  expect(read.body).toMatchObject({ seeds: [0, 1, 2], horizon_s: 1800 });
});
