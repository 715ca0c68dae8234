import { groupClasses, readSegments, tradingDay } from "./day";
import { draftsOf, factors, newAxis, readAxis, sweepSize } from "./quantities";
import type { Axis } from "./spec";

const ALL = ["S0", "S1", "S2"];

describe("an axis of the form", () => {
  const draft = { ...newAxis("node_capacity", "cpu"), targets: ["S2"] };

  it("becomes the edit and the factors that the server reads", () => {
    const { axes, errors } = readAxis({ ...draft, steps: "5" }, 0, ALL);
    expect(errors).toEqual([]);
    expect(axes).toEqual([
      {
        label: "Broker capacity of S2",
        edit: { kind: "node_capacity", nodes: ["S2"], resource: "cpu" },
        field: "scale",
        values: [0.5, 0.75, 1, 1.25, 1.5],
      },
    ]);
  });

  it("means all where nothing is chosen", () => {
    expect(readAxis({ ...draft, targets: [] }, 0, ALL).axes[0]?.edit).toMatchObject({
      nodes: "all",
    });
    const weights = { ...newAxis("utility_weight", "cpu") };
    expect(readAxis(weights, 0, ALL).axes[0]?.edit).toEqual({ kind: "utility_weight" });
  });

  it("divides a budget where it is worth most", () => {
    const budget = { ...newAxis("budget", "cpu"), targets: ["S0", "S1"] };
    expect(readAxis(budget, 0, ALL).axes[0]?.edit).toEqual({
      kind: "budget",
      resource: "cpu",
      nodes: ["S0", "S1"],
      spread: "best",
    });
  });

  it("counts a budget in money where a unit does not cost the same everywhere", () => {
    const budget = { ...newAxis("budget", "cpu"), costs: { S0: "1", S1: "2.5" } };
    expect(readAxis(budget, 0, ALL).axes[0]?.edit).toMatchObject({
      unit_costs: { S0: 1, S1: 2.5 },
    });
    const wrong = readAxis({ ...budget, costs: { S0: "0" } }, 0, ALL);
    expect(wrong.errors).toEqual([{ field: "axes[0].costs.S0", message: "Give a cost above 0." }]);
  });

  it("divides a budget both ways as a range and the ways to divide its sum", () => {
    const { axes } = readAxis({ ...newAxis("budget", "cpu"), spread: "both", steps: "3" }, 0, ALL);
    expect(axes.map((axis) => [axis.field, axis.values])).toEqual([
      ["scale", [0.5, 1, 1.5]],
      ["spread", ["best", "in_proportion"]],
    ]);
    expect(axes[0]?.edit.spread).toBe("in_proportion");
    expect(axes[1]?.edit).toEqual({ kind: "budget", resource: "cpu", nodes: "all", scale: 1 });
  });

  it("chooses consumers by their brokers or classes too", () => {
    const sizes = { ...newAxis("population", "cpu"), by: "classes" as const, targets: ["c0"] };
    expect(readAxis(sizes, 0, ALL).axes[0]?.edit).toEqual({ kind: "population", classes: ["c0"] });
  });

  it("is found again from what was sent, or said to be beyond the form", () => {
    const drafts = [
      draft,
      { ...newAxis("budget", "cpu"), spread: "both" as const, costs: { S0: "2" } },
      { ...newAxis("utility_weight", "cpu"), by: "brokers" as const, targets: ["S1"], steps: "4" },
      { ...newAxis("remove_node", "cpu"), targets: ["S1", "S2"] },
    ];
    for (const one of drafts) {
      expect(draftsOf(readAxis(one, 0, ALL).axes, "cpu")).toEqual([one]);
    }
    const { axes } = readAxis(draft, 0, ALL);
    expect(
      draftsOf(
        axes.map((axis) => ({ ...axis, values: [0.5, 0.6, 1] })),
        "cpu",
      ),
    ).toBeNull();
    expect(
      draftsOf(
        axes.map((axis) => ({ ...axis, field: "set" })),
        "cpu",
      ),
    ).toBeNull();
  });

  it("takes one thing after the other for removals, everything where nothing is chosen", () => {
    const removal = newAxis("remove_flow", "cpu");
    expect(readAxis(removal, 0, ["f0", "f1"]).axes).toEqual([
      {
        label: "Without a topic",
        edit: { kind: "remove_flow" },
        field: "flows",
        values: ["f0", "f1"],
      },
    ]);
    expect(readAxis(newAxis("remove_link", ""), 1, []).errors).toEqual([
      { field: "axes[1].targets", message: "This system has no links." },
    ]);
  });

  it("names the field that is wrong", () => {
    const wrong = readAxis({ ...draft, from: "x", to: "-1", steps: "1.5" }, 1, ALL);
    expect(wrong.axes).toEqual([]);
    expect(wrong.errors.map((error) => error.field)).toEqual([
      "axes[1].from",
      "axes[1].to",
      "axes[1].steps",
    ]);
  });
});

it("gives factors without the tails of binary fractions", () => {
  expect(factors(50, 150, 21)[1]).toBe(0.55);
  expect(factors(0, 10, 2)).toEqual([0, 0.1]);
});

it("counts the grid and the model as it is, once per method", () => {
  const axis = (count: number) => ({ values: Array(count).fill(1) }) as unknown as Axis;
  expect(sweepSize([axis(21)], 2)).toBe(44);
  expect(sweepSize([axis(11), axis(11)], 1)).toBe(122);
});

it("fills the paper's day for the groups there are, the first as gold, the last as bronze", () => {
  const lunch = tradingDay(["Gold", "Silver", "Bronze"])[3];
  expect(lunch).toEqual({
    label: "Lunch",
    minutes: "60",
    percent: { Gold: "0", Silver: "5", Bronze: "100" },
  });
});

it("reads segments in seconds and names the cell that is wrong", () => {
  const rows = [
    { label: "Day", minutes: "90", percent: { Gold: "50" } },
    { label: " ", minutes: "0", percent: { Gold: "much" } },
  ];
  const { segments, errors } = readSegments(rows, ["Gold", "Bronze"]);
  expect(segments[0]).toEqual({
    label: "Day",
    duration_s: 5400,
    percent: { Gold: 50, Bronze: 100 },
  });
  expect(errors.map((error) => error.field)).toEqual([
    "segments[1].label",
    "segments[1].minutes",
    "segments[1].percent.Gold",
  ]);
});

it("groups classes by what they share", () => {
  const row = (name: string, utility_name: string | null) => ({
    name,
    utility_name,
    topic_name: "t",
    broker_name: "b",
  });
  expect(
    groupClasses([row("a", "Gold"), row("b", "Gold"), row("c", null)], "utility_name"),
  ).toEqual([
    { name: "Gold", classes: ["a", "b"] },
    { name: "without", classes: ["c"] },
  ]);
});
