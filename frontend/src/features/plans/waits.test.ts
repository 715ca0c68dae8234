import { waitText } from "./waits";

import { executionAction } from "@/testing/plan-samples";

const at = (seconds: number) => new Date(Date.parse("2026-03-18T14:06:00Z") + seconds * 1000);
const waiting = executionAction({
  state: "preparing",
  kind: "shift_link",
  brokers: ["S1", "S2", "S3"],
  waiting_for: ["S2", "S3"],
  moved_at: "2026-03-18T14:06:00Z",
  answers: [{ broker: "S1", phase: "ready", at: "2026-03-18T14:06:01Z", by_hand: "" }],
});

it("says who waits for whom, for how long, and who has voted", () => {
  expect(waitText(waiting, at(42))).toBe("Waits for S2 and S3 for 42 s; S1 voted.");
  expect(waitText(waiting, at(600))).toBe("Waits for S2 and S3 for 10 min; S1 voted.");
});

it("says what Weir does by itself, and when, so that nobody decides too early", () => {
  const bounded = { ...waiting, deadline_at: "2026-03-18T14:06:20Z" };
  expect(waitText(bounded, at(7))).toBe(
    "Waits for S2 and S3 for 7 s; S1 voted. Weir itself calls it off in 13 s at the latest.",
  );
  expect(waitText(bounded, at(21))).toBe("Waits for S2 and S3 for 21 s; S1 voted.");
  const late = { ...bounded, state: "committed" as const, waiting_for: ["S3"], answers: [] };
  expect(waitText(late, at(7))).toBe(
    "Waits for S3 for 7 s. Weir itself stops waiting in 13 s if S3 is silent then.",
  );
});

it("says that a move of the map stays as it is, whoever has not followed", () => {
  const move = { ...waiting, kind: "move_flow", state: "committed" as const, answers: [] };
  expect(waitText({ ...move, deadline_at: "2026-03-18T14:06:15Z" }, at(7))).toBe(
    "Waits for S2 and S3 for 7 s. Weir itself stops waiting in 8 s; the map stays as it is.",
  );
});

it("says nothing of the moments that every shift takes", () => {
  expect(waitText(waiting, at(2))).toBe("");
  expect(waitText({ ...waiting, waiting_for: [] }, at(42))).toBe("");
});

it("tells what a person decided at an agent from what was ordered", () => {
  const dead = {
    ...waiting,
    state: "dead" as const,
    waiting_for: ["S1"],
    answers: [
      { broker: "S1", phase: "ready" as const, at: "2026-03-18T14:06:01Z", by_hand: "" },
      { broker: "S1", phase: "released" as const, at: "2026-03-18T14:06:02Z", by_hand: "Gone" },
      { broker: "S2", phase: "switched" as const, at: "2026-03-18T14:06:02Z", by_hand: "" },
    ],
  };
  expect(waitText(dead, at(1))).toBe("Waits for S1 for 1 s; S1 went back by hand; S2 switched.");
});
