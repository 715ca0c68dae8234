import { screen, waitFor, within } from "@testing-library/react";

import PlanPage from "./plan-page";

import type { Schemas } from "@/api/client";
import type { PlanDetail } from "@/api/plans";
import { answers, executionPath, planPath } from "@/testing/plan-answers";
import { execution, executionAction, EXECUTION, PLAN, planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const open = () => renderPage(<PlanPage />, "/plans/:id", `/plans/${PLAN}`);
const posts = (asked: readonly Asked[]) => asked.filter((one) => one.method === "POST");

const executing = planDetail({
  state: "executing",
  allowed_commands: [],
  execution: {
    id: EXECUTION,
    state: "running",
    actions_done: 1,
    actions_total: 3,
    actions_to_undo: 0,
    actions_undone: 0,
  },
});

it("shows every action in its phase, what it waits for and how far the plan is", async () => {
  serve(answers(executing, execution()));
  open();
  const steps = within(await screen.findByRole("list", { name: "Steps of the execution" }));
  expect(steps.getByText("In progress")).toBeInTheDocument();
  expect(steps.getByText("waits for S1")).toBeInTheDocument();
  expect(
    steps.getByText("prepare running, commit waiting, switch waiting, done waiting;"),
  ).toBeInTheDocument();
  expect(steps.getByText("prepare done, commit done, switch done, done done;")).toBeInTheDocument();
  expect(screen.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "33");
  expect(screen.getByText(/step 1 of 2/)).toBeInTheDocument();
  expect(screen.getByText(/by Aiko Brandt/)).toBeInTheDocument();
});

it("shows the page of a long execution where it is, and finds the way back to it", async () => {
  const base = execution();
  const [first] = base.steps;
  if (!first) throw new Error("the sample has steps");
  const steps = Array.from({ length: 60 }, (_, index) => ({
    ...first,
    index,
    state: index < 30 ? ("completed" as const) : ("pending" as const),
    actions: [executionAction({ id: `a${index}`, state: index < 30 ? "done" : "pending" })],
  }));
  serve(answers(executing, execution({ steps, actions_total: 60, actions_done: 30 })));
  const { user } = open();
  const list = within(await screen.findByRole("list", { name: "Steps of the execution" }));
  expect(list.getAllByRole("listitem")).toHaveLength(25);
  expect(list.getByText("Step 31")).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Next" }));
  expect(list.getAllByRole("listitem")).toHaveLength(10);
  await user.click(screen.getByRole("button", { name: "Back to where it is" }));
  expect(list.getByText("Step 31")).toBeVisible();
});

it("stops after the running step, having said what stays undone", async () => {
  const asked = serve({
    ...answers(executing, execution()),
    [`POST ${executionPath}/stop`]: ok(execution({ state: "stopping", allowed_commands: [] })),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Stop after step 1" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Stop P-118" }));
  expect(dialog.getByText(/1 action will not be carried out/)).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "The tide turned");
  await user.click(dialog.getByRole("button", { name: "Stop after step 1" }));
  await waitFor(() => expect(posts(asked)).toHaveLength(1));
  expect(posts(asked)[0]?.body).toEqual({ reason: "The tide turned" });
});

it("pauses with a reason, and shows who paused it and why among what happened", async () => {
  const at = "2026-03-18T14:06:02Z";
  const given = { actor: "Aiko Brandt", command: "pause", title: "paused it", note: "f2 starves" };
  const asked = serve({
    // It was paused before, for the same reason, and resumed.
    ...answers({ ...executing, events: [...executing.events, { ...given, at }] }, execution()),
    [`POST ${executionPath}/pause`]: ok(execution({ state: "pausing" })),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Pause" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Pause P-118" }));
  expect(dialog.getByText(/1 action waits\./)).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "f2 starves");
  await user.click(dialog.getByRole("button", { name: "Pause" }));
  await waitFor(() => expect(posts(asked)[0]?.body).toEqual({ reason: "f2 starves" }));
  const audit = within(screen.getByRole("region", { name: "Audit" }));
  expect(await audit.findByText(/paused it/)).toBeInTheDocument();
  expect(audit.getByText("f2 starves")).toBeInTheDocument();
  expect(audit.getAllByRole("listitem")[0]).toHaveTextContent("Aiko Brandt paused it");
});

it("lists exactly what a rollback takes back, last first", async () => {
  const base = execution();
  const [first, second] = base.steps;
  if (!first || !second) throw new Error("the sample has two steps");
  const later = execution({
    actions_done: 3,
    steps: [
      {
        ...first,
        state: "completed",
        actions: first.actions.map((action) => ({ ...action, state: "done" as const })),
      },
      { ...second, state: "in_progress", actions: [executionAction({ id: "a3", state: "done" })] },
    ],
  });
  const asked = serve({
    ...answers(executing, later),
    [`POST ${executionPath}/roll-back`]: ok(execution({ state: "rolling_back" })),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Roll back" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Roll back P-118" }));
  const undone = within(dialog.getByRole("list", { name: "What is undone" }));
  expect(undone.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
    "Stop limiting f2 at S2 (was 10 msg/s)",
    "Set f1 at S1 from 80 msg/s to 120 msg/s, burst 12",
    "Admit 500 of c1 at S1, was 300",
  ]);
  await user.type(dialog.getByLabelText(/Reason/), "f2 starves");
  await user.click(dialog.getByRole("button", { name: "Roll back" }));
  await waitFor(() => expect(posts(asked)[0]?.path).toBe(`${executionPath}/roll-back`));
  expect(posts(asked)[0]?.body).toEqual({ reason: "f2 starves" });
});

it.each([
  [0.2, "1.3s200ms promised, 6.5 times as long"],
  [1.5, "1.3s1.5s promised, kept"],
])("sets the longest pause beside the %d s that were promised", async (after, text) => {
  const [first] = execution().steps;
  if (!first) throw new Error("the sample has steps");
  const steps = [{ ...first, actions: [executionAction({ pause_s: 1.3 })] }];
  const promise = [{ name: "longest pause", unit: "s", before: null, after }];
  serve(answers(planDetail({ ...executing, promise }), execution({ steps })));
  open();
  const term = await screen.findByText("Longest pause so far");
  expect(term.nextElementSibling).toHaveTextContent(text);
});

it.each([
  ["paused", "Paused"],
  ["rolling_back", "Rolling back"],
] as const)("does not call a plan executing that is %s", async (state, word) => {
  serve(answers(executing, execution({ state })));
  open();
  await screen.findByRole("list", { name: "Steps of the execution" });
  const head = screen.getByRole("heading", { level: 1 }).parentElement;
  if (!head) throw new Error("the title stands in a row");
  expect(within(head).getByText(word)).toBeInTheDocument();
  expect(within(head).queryByText("Executing")).toBeNull();
  const life = within(screen.getByRole("list", { name: "State of the plan" }));
  expect(life.getByText(word).closest("li")).toHaveAttribute("aria-current", "step");
});

it("offers resume while paused, and nothing that is not allowed", async () => {
  const asked = serve({
    ...answers(executing, execution({ state: "paused", allowed_commands: ["resume"] })),
    [`POST ${executionPath}/resume`]: ok(execution()),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Resume" }));
  await waitFor(() => expect(posts(asked)).toHaveLength(1));
  expect(screen.queryByRole("button", { name: "Discard" })).toBeNull();
});

it("resumes outside a maintenance window only after a reason was asked for", async () => {
  const held = execution({
    state: "paused",
    allowed_commands: ["resume"],
    held: true,
    hold_because: "The window forbids changes now.",
  });
  const asked = serve({
    ...answers(executing, held),
    [`POST ${executionPath}/resume`]: ok(execution()),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Resume outside the window" }));
  const dialog = within(
    await screen.findByRole("dialog", { name: "Resume P-118 outside the window" }),
  );
  expect(dialog.getByText(/The window forbids changes now\./)).toBeInTheDocument();
  expect(posts(asked)).toHaveLength(0);
  await user.type(dialog.getByRole("textbox", { name: /Reason/ }), "The berth is blocked.");
  await user.click(dialog.getByRole("button", { name: "Resume now" }));
  await waitFor(() => expect(posts(asked)).toHaveLength(1));
  expect(posts(asked)[0]?.body).toEqual({
    override_window: true,
    reason: "The berth is blocked.",
  });
});

it("keeps paused what a window holds, and says what that means", async () => {
  const held = execution({ state: "paused", allowed_commands: ["pause", "resume"], held: true });
  const asked = serve({
    ...answers(executing, held),
    [`POST ${executionPath}/pause`]: ok(execution({ state: "paused" })),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Keep paused" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Keep P-118 paused" }));
  expect(dialog.getByText(/does not go on by itself when the window opens/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Keep paused" }));
  await waitFor(() => expect(posts(asked)).toHaveLength(1));
});

it("asks for a reason outside the window although a person paused it", async () => {
  const paused = execution({
    state: "paused",
    allowed_commands: ["resume"],
    hold_at: "2020-01-01T00:00:00Z",
    hold_because: "The window forbids changes now.",
  });
  serve(answers(executing, paused));
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Resume outside the window" }));
  expect(await screen.findByText(/P-118 can be resumed when/)).toBeInTheDocument();
});

it("keeps the dialog and says why a command was refused", async () => {
  serve({
    ...answers(executing, execution()),
    [`POST ${executionPath}/pause`]: problem(409, "illegal", "The execution has just ended."),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Pause" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Pause P-118" }));
  await user.click(dialog.getByRole("button", { name: "Pause" }));
  expect(await dialog.findByRole("alert")).toHaveTextContent("The execution has just ended.");
});

it("says what failed, who never answered, and that the plan is stale", async () => {
  const [first] = execution().steps;
  if (!first) throw new Error("the sample has a step");
  const failed = execution({
    state: "failed",
    failure: "Step 1 could not be completed.",
    allowed_commands: ["roll_back"],
    steps: [
      {
        ...first,
        state: "dead",
        actions: [executionAction({ state: "dead", waiting_for: ["S2"], ended_at: null })],
      },
    ],
  });
  serve(
    answers(
      planDetail({
        ...executing,
        state: "stale",
        stale_because: "Its execution failed.",
        execution: {
          id: EXECUTION,
          state: "failed",
          actions_done: 1,
          actions_total: 3,
          actions_to_undo: 0,
          actions_undone: 0,
        },
      }),
      failed,
    ),
  );
  open();
  expect(await screen.findByText("The execution failed.")).toBeInTheDocument();
  expect(screen.getByText(/S2 never answered after the point of no return/)).toBeInTheDocument();
  expect(screen.getByText("never answered: S2")).toBeInTheDocument();
  expect(screen.getByText("This plan is stale.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Roll back" })).toBeInTheDocument();
});

it("puts measurements next to promises", async () => {
  serve({
    ...answers(executing, execution()),
    "GET /api/v1/telemetry": ok([
      {
        at: new Date().toISOString(),
        interval_s: 1,
        broker: "id-S1",
        broker_name: "S1",
        flows: { f1: { offered_per_s: 150, passed_per_s: 80.2, shed_per_s: 69.8, backlog: 12 } },
        classes: { c1: { admitted: 301 } },
        links: {},
        broker_load: { unmanaged: [], sync_always: null },
        agent: {},
      },
    ]),
  });
  open();
  expect(
    await screen.findByRole("img", {
      name: "f1 passed at S1: measured 80.20 msg/s, promised 80.00 msg/s",
    }),
  ).toBeInTheDocument();
  const consumers = within(screen.getByRole("table", { name: "Consumers" }));
  expect(consumers.getByText("301")).toBeInTheDocument();
  expect(consumers.getByText("300")).toBeInTheDocument();
  expect(screen.getByText("69.80")).toBeInTheDocument();
});

it("says so when the execution cannot be loaded, and keeps the rest", async () => {
  serve({
    ...answers(executing),
    [`GET ${executionPath}`]: problem(500, "internal", "The server failed."),
  });
  open();
  expect(await screen.findByText("The execution could not be loaded.")).toBeInTheDocument();
  expect(screen.getByRole("heading", { name: "Before and after" })).toBeInTheDocument();
});

const OVERLOAD = "S2 would carry 229 % of its capacity in step 1";
const executed = (overload = "") =>
  planDetail({
    state: "executed",
    allowed_commands: ["roll_back"],
    roll_back_overload: overload,
    execution: {
      id: EXECUTION,
      state: "succeeded",
      actions_done: 3,
      actions_total: 3,
      actions_to_undo: 0,
      actions_undone: 0,
    },
  });

const rollBack = async (plan: PlanDetail, roles: Schemas["Session"]["roles"]) => {
  const asked = serve({
    ...answers(plan, execution({ state: "succeeded", allowed_commands: [] })),
    "GET /api/v1/session": ok(session({ roles })),
    [`POST ${planPath}/roll-back`]: { status: 201, body: planDetail({ id: "the-way-back" }) },
  });
  const { user, router } = renderPage(<PlanPage />, "/plans/:id", `/plans/${PLAN}`);
  await user.click(await screen.findByRole("button", { name: "Roll back" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Roll back P-118" }));
  const there = () =>
    waitFor(() => expect(router.state.location.pathname).toBe("/plans/the-way-back"));
  return { user, dialog, there, asked };
};

it("rolls back what was executed by a draft of its own, with the reason", async () => {
  const { user, dialog, there, asked } = await rollBack(executed(), ["editor", "approver"]);
  expect(dialog.getByText(/Nothing changes until the draft is approved/)).toBeInTheDocument();
  expect(dialog.queryByText(/Going back there/)).toBeNull();
  await user.type(dialog.getByLabelText(/Reason/), "f2 starves");
  await user.click(dialog.getByRole("button", { name: "Roll back" }));
  await there();
  expect(posts(asked)[0]?.path).toBe(`${planPath}/roll-back`);
  expect(posts(asked)[0]?.headers.get("If-Match")).toBe('"4"');
  expect(posts(asked)[0]?.body).toEqual({ reason: "f2 starves", accept_overload: false });
});

it("says what rolling back would overload, and that an approver has to accept that", async () => {
  const { user, dialog, there, asked } = await rollBack(executed(OVERLOAD), ["editor"]);
  expect(dialog.getByText(/S2 would carry 229 % of its capacity/)).toBeInTheDocument();
  expect(dialog.getByText(/when an approver has accepted that with a reason/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Roll back" }));
  await there();
  expect(posts(asked)[0]?.body).toEqual({ reason: "", accept_overload: false });
});

it("lets an approver accept the overload of rolling back, only with a reason", async () => {
  const { user, dialog, there, asked } = await rollBack(executed(OVERLOAD), ["editor", "approver"]);
  expect(dialog.getByText(/somebody else still approves the draft/)).toBeInTheDocument();
  expect(dialog.getByRole("button", { name: "Roll back" })).toBeDisabled();
  await user.type(dialog.getByLabelText(/Reason/), "f2 starves");
  await user.click(dialog.getByRole("button", { name: "Roll back" }));
  await there();
  expect(posts(asked)[0]?.body).toEqual({ reason: "f2 starves", accept_overload: true });
});

it("says who keeps an action waiting, and ends it with a reason when its risk was read", async () => {
  const [first, second] = execution().steps;
  if (!first || !second) throw new Error("the sample has two steps");
  const waits = executionAction({
    id: "a9",
    kind: "shift_link",
    title: "Shift link S1-S2 to S1-S3",
    state: "committed",
    ended_at: null,
    waiting_for: ["S3"],
    moved_at: "2026-03-18T14:06:00Z",
    answers: [{ broker: "S1", phase: "switched", at: "2026-03-18T14:06:01Z", by_hand: "" }],
    decisions: [{ outcome: "bury", risk: "The change is in force elsewhere. S3 stays paused." }],
  });
  const asked = serve({
    ...answers(executing, execution({ steps: [{ ...first, actions: [waits] }, second] })),
    [`POST ${executionPath}/actions/a9/decide`]: ok(execution()),
  });
  const { user } = open();
  const steps = within(await screen.findByRole("list", { name: "Steps of the execution" }));
  expect(steps.getByText(/^Waits for S3 for .*; S1 switched\.$/)).toBeInTheDocument();
  await user.click(steps.getByRole("button", { name: "Stop waiting" }));
  const dialog = within(
    await screen.findByRole("dialog", { name: "Stop waiting: Shift link S1-S2 to S1-S3" }),
  );
  expect(dialog.getByText(/S3 stays paused/)).toBeInTheDocument();
  expect(dialog.getByRole("button", { name: "Stop waiting" })).toBeDisabled();
  await user.type(dialog.getByRole("textbox", { name: /Reason/ }), "S3 is on fire");
  await user.click(dialog.getByRole("button", { name: "Stop waiting" }));
  await waitFor(() => expect(posts(asked)).toHaveLength(1));
  expect(posts(asked)[0]?.body).toEqual({
    outcome: "bury",
    reason: "S3 is on fire",
    confirmed: true,
  });
});
