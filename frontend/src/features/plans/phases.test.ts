import { changeRows } from "./change-rows";
import { joined, measuredOf, promisedOf } from "./measured";
import {
  currentStep,
  headwayOf,
  longestPause,
  pauseLeft,
  phaseText,
  secondsLeft,
  segmentsOf,
  undoable,
} from "./phases";

import { execution, executionAction, planDetail } from "@/testing/plan-samples";

const now = new Date("2026-03-18T14:06:10Z");
const running = execution();
const [first, second] = running.steps;
if (!first || !second) throw new Error("the sample has two steps");

it("draws the four phases of every state", () => {
  const drawn = (state: Parameters<typeof segmentsOf>[0]) => segmentsOf(state).join("");
  expect(drawn("pending")).toBe("wwww");
  expect(drawn("preparing")).toBe("awww");
  expect(drawn("committed")).toBe("ddaw");
  expect(drawn("done")).toBe("dddd");
  expect(drawn("aborted")).toBe("xwww");
  expect(drawn("dead")).toBe("ddkw");
});

it("says what an action waits for", () => {
  const text = (change: Parameters<typeof executionAction>[0]) =>
    phaseText(executionAction(change), now);
  expect(text({})).toBe("3.0 s");
  expect(text({ state: "preparing", waiting_for: ["S1", "S2"] })).toBe("waits for S1, S2");
  expect(text({ state: "preparing", kind: "shift_link" })).toBe("draining");
  expect(text({ state: "committed", waiting_for: ["a", "b", "c", "d"] })).toBe(
    "waits for a, b, c and 1 more",
  );
  expect(text({ state: "dead", waiting_for: ["S2"] })).toBe("never answered: S2");
  expect(text({ kind: "move_flow", state: "dead", waiting_for: ["S2"] })).toBe("not followed: S2");
});

it("knows the running step and how long the rest may take", () => {
  expect(currentStep(running)?.name).toBe("Step 1");
  // One of three actions took the step ten seconds so far.
  expect(secondsLeft(running, now)).toBeCloseTo(20);
  expect(secondsLeft({ ...running, state: "paused" }, now)).toBeNull();
});

it("counts the pauses between steps among what is left", () => {
  const third = { ...second, index: 2 };
  const paced = execution({ pace_s: 40, actions_total: 4, steps: [first, second, third] });
  expect(secondsLeft(paced, now)).toBeCloseTo(30 + 80);
  const ended = { ...first, state: "completed" as const, ended_at: "2026-03-18T14:06:04Z" };
  const pausing = { ...paced, actions_done: 2, steps: [ended, second, third] };
  // Six of the forty seconds have gone by; the work stands still meanwhile.
  expect(pauseLeft(pausing, now)).toBe(34);
  expect(secondsLeft(pausing, now)).toBeCloseTo(4 + 34 + 40);
  expect(pauseLeft(paced, now)).toBe(0);
});

it("says how far it is by what is in effect, and never goes backwards", () => {
  const counts = (done: number, undone = 0, undo = 0) =>
    headwayOf({
      actions_done: done,
      actions_total: 13,
      actions_undone: undone,
      actions_to_undo: undo,
    });
  const way = [counts(0), counts(7), counts(7, 0, 7), counts(7, 3, 7), counts(7, 7, 7)];
  const shares = way.map(({ share }) => share);
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares.at(0)).toBe(0);
  expect(shares.at(-1)).toBe(1);
  expect(way.map(({ done, total, back }) => `${done} of ${total}${back ? " back" : ""}`)).toEqual([
    "0 of 13",
    "7 of 13",
    "0 of 7 back",
    "3 of 7 back",
    "7 of 7 back",
  ]);
});

it("takes back what is done, last first, and not what is taken back already", () => {
  const done = execution({
    steps: [
      { ...first, state: "completed", actions: [executionAction({ id: "a1" })] },
      { ...second, state: "completed", actions: [executionAction({ id: "a3" })] },
    ],
  });
  expect(undoable(done).map(({ key, step }) => [key, step])).toEqual([
    ["a3", 1],
    ["a1", 0],
  ]);
  const half = {
    ...done,
    steps: [
      ...done.steps,
      { ...second, direction: "undo" as const, actions: [executionAction({ id: "u3" })] },
    ].map((step) => ({ ...step, state: "completed" as const })),
  };
  expect(undoable(half).map(({ key }) => key)).toEqual(["a1"]);
});

it("finds the longest pause", () => {
  expect(longestPause(running)).toBeNull();
  const actions = [executionAction({ pause_s: 0.04 }), executionAction({ pause_s: 0.061 })];
  expect(longestPause(execution({ steps: [{ ...first, actions }] }))).toBe(0.061);
});

it("sorts changes by their size within a quantity, unlimited ones first", () => {
  const groups = changeRows(planDetail().changes, [
    { kind: "set_flow_rate", label: "f9", unit: "msg/s", value: 5 },
  ]);
  expect(groups.map((group) => group.word)).toEqual(["Flow rate", "Consumers admitted"]);
  expect(groups[0]?.rows.map((row) => row.label)).toEqual(["f2 at S2", "f1 at S1", "f9"]);
});

it("puts what is measured next to what is promised", () => {
  const promised = promisedOf(planDetail());
  expect(promised.map((row) => [row.name, row.after])).toEqual([
    ["f2", 10],
    ["c1", 300],
    ["f1", 80],
  ]);
  const [f2, c1] = promised;
  if (!f2 || !c1) throw new Error("two promises at least");
  const sample = (at: string) => ({
    at,
    flows: { f2: { passed_per_s: 9.9 } },
    classes: { c1: { admitted: 301 } },
  });
  expect(measuredOf(f2, sample("x"))).toBe(9.9);
  expect(measuredOf(c1, sample("x"))).toBe(301);
  expect(measuredOf(f2, undefined)).toBeNull();
  const stored = ["2026-03-18T14:00:00Z", "2026-03-18T14:02:00Z"].map(sample);
  const heard = ["2026-03-18T14:02:00Z", "2026-03-18T14:02:01Z"].map(sample);
  expect(joined(stored, heard, 60).map(({ at }) => at.slice(11, 19))).toEqual([
    "14:02:00",
    "14:02:01",
  ]);
});
