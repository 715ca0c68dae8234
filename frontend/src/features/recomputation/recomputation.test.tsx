import { screen, waitFor, within } from "@testing-library/react";

import RecomputationPage from "./recomputation-page";
import { scheduleBody, scheduleDraft, timingOf } from "./schedule-draft";

import type { Firing, Schedule, Trigger } from "@/api/recomputation";
import { renderPage } from "@/testing/render";
import { optimizers, page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const TIME = "2026-03-18T14:02:00Z";
const ROOM = "/api/v1/recomputation";

const firing = (change: Partial<Firing> = {}): Firing => ({
  id: "a1111111-1111-4111-8111-111111111111",
  system: SYSTEM,
  system_name: "Base workload",
  schedule: "b1111111-1111-4111-8111-111111111111",
  schedule_name: "nightly",
  trigger: null,
  trigger_name: null,
  cause: "nightly",
  subject: "allocation",
  why: "Due at 2026-03-18 02:00:00 UTC.",
  value: null,
  threshold: null,
  then: "submit",
  state: "done",
  outcome: "submitted",
  detail: "P-118 Enact A-27: 2 rates",
  answerable: "Ines Moreau",
  answerable_id: "5a111111-1111-4111-8111-111111111111",
  merged_into: null,
  run: "66666666-6666-4666-8666-666666666666",
  run_name: "R-2041",
  plan: "88888888-8888-4888-8888-888888888888",
  plan_name: "P-118",
  fired_at: TIME,
  ended_at: TIME,
  ...change,
});

const schedule = (change: Partial<Schedule> = {}): Schedule => ({
  id: "b1111111-1111-4111-8111-111111111111",
  system: SYSTEM,
  system_name: "Base workload",
  name: "nightly",
  enabled: true,
  method: "",
  time_limit_s: null,
  then: "submit",
  answerable: "Ines Moreau",
  answerable_id: "5a111111-1111-4111-8111-111111111111",
  last_firing: firing(),
  version: 3,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete", "run"],
  every_s: null,
  cron: "0 2 * * *",
  timezone: "UTC",
  next_at: "2026-03-19T02:00:00Z",
  text: "At 02:00 every day, UTC",
  ...change,
});

const trigger = (change: Partial<Trigger> = {}): Trigger => ({
  id: "c1111111-1111-4111-8111-111111111111",
  system: SYSTEM,
  system_name: "Base workload",
  name: "storm",
  enabled: true,
  method: "",
  time_limit_s: null,
  then: "draft",
  answerable: "Ines Moreau",
  answerable_id: "5a111111-1111-4111-8111-111111111111",
  last_firing: null,
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  kind: "load_drift",
  threshold: 0.2,
  for_s: 60,
  cooldown_s: 600,
  value: 0.314,
  detail: "cpu of b1: 60.0 % of its capacity by what is measured.",
  looked_at: TIME,
  above_since: TIME,
  fired_at: null,
  ...change,
});

const answers = (change: Record<string, unknown> = {}) => ({
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: ["edit", "optimize"] })),
  [`GET ${ROOM}/schedules`]: ok(page([schedule()])),
  [`GET ${ROOM}/triggers`]: ok(page([trigger()])),
  [`GET ${ROOM}/firings`]: ok(page([firing()])),
  [`GET ${ROOM}/preview`]: ok({ text: "Whenever it is asked", next: [TIME] }),
  [`GET ${ROOM}/automation`]: problem(403, "not_shown", "Not of this page."),
  [`GET ${ROOM}/decisions`]: ok(page([])),
  "GET /api/v1/automatic-stops": ok(page([])),
  "GET /api/v1/session": ok(session()),
  "GET /api/v1/optimizers": ok(optimizers),
  ...(change as Record<string, ReturnType<typeof ok>>),
});

const open = () =>
  renderPage(
    <RecomputationPage />,
    "/systems/:systemId/recomputation",
    `/systems/${SYSTEM}/recomputation`,
  );
const writes = (asked: readonly Asked[]) => asked.filter((one) => one.method !== "GET");

it("shows schedules, triggers against their thresholds, and what fired", async () => {
  serve(answers());
  open();
  const schedules = await screen.findByRole("table", { name: "Schedules" });
  expect(within(schedules).getByText("At 02:00 every day, UTC")).toBeInTheDocument();
  expect(within(schedules).getByText("In review")).toBeInTheDocument();
  const triggers = await screen.findByRole("table", { name: "Triggers" });
  expect(within(triggers).getByText("31.4 %")).toBeInTheDocument();
  expect(within(triggers).getByText("20.0 %")).toBeInTheDocument();
  expect(within(triggers).getByText("Above")).toBeInTheDocument();
  const firings = await screen.findByRole("table", { name: "Firings" });
  expect(within(firings).getByRole("link", { name: "R-2041" })).toBeInTheDocument();
  expect(within(firings).getByRole("link", { name: "P-118" })).toBeInTheDocument();
});

it("says what is missing where nothing is there, and offers the first", async () => {
  serve(
    answers({
      [`GET ${ROOM}/schedules`]: ok(page([])),
      [`GET ${ROOM}/triggers`]: ok(page([])),
      [`GET ${ROOM}/firings`]: ok(page([])),
    }),
  );
  open();
  expect(await screen.findByText(/This system has no schedule./)).toBeInTheDocument();
  expect(await screen.findByText("Nothing is watched.")).toBeInTheDocument();
  expect(await screen.findByText("Nothing has fired yet.")).toBeInTheDocument();
  expect(await screen.findByRole("button", { name: "New schedule" })).toBeInTheDocument();
});

it("says what failed to load", async () => {
  serve(answers({ [`GET ${ROOM}/triggers`]: problem(500, "server_error", "It broke.") }));
  open();
  expect(await screen.findByText(/The triggers could not be loaded/)).toBeInTheDocument();
});

it("offers no commands to who may not", async () => {
  serve(
    answers({
      [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })),
      [`GET ${ROOM}/schedules`]: ok(page([schedule({ allowed_commands: [] })])),
      [`GET ${ROOM}/triggers`]: ok(page([trigger({ allowed_commands: [] })])),
    }),
  );
  open();
  await screen.findByRole("table", { name: "Schedules" });
  for (const name of ["New schedule", "New trigger", "Edit", "Pause", "Delete", "Run now"]) {
    expect(screen.queryByRole("button", { name })).toBeNull();
  }
});

it("offers plans of maps as of all else, and keeps what was chosen for another subject", async () => {
  const asked = serve(
    answers({
      [`POST ${ROOM}/schedules`]: ok(schedule()),
      "GET /api/v1/mapping-methods": ok({ results: [] }),
    }),
  );
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "New schedule" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.type(dialog.getByLabelText("Name"), "maps");
  await user.click(dialog.getByRole("button", { name: "Every 5 minutes" }));
  const then = dialog.getByLabelText("Then");
  await user.selectOptions(then, "Make a plan and submit it");
  await user.selectOptions(dialog.getByLabelText("Recomputes"), "The map of flows");
  expect(
    within(then)
      .getAllByRole("option")
      .map(({ textContent }) => textContent),
  ).toEqual([
    "Compute only",
    "Make a draft plan",
    "Make a plan and submit it",
    "Make a plan, and carry it out within the policy's bounds",
  ]);
  expect(then).toHaveDisplayValue("Make a plan and submit it");
  expect(dialog.getByText(/a plan moves them to where the proposed map has them/)).toBeVisible();
  await user.click(dialog.getByRole("button", { name: "Save schedule" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(1));
  expect(writes(asked)[0]?.body).toMatchObject({ subject: "mapping", then: "submit" });
});

it("makes a schedule from a preset, with its reading and next times shown before", async () => {
  const asked = serve(answers({ [`POST ${ROOM}/schedules`]: ok(schedule()) }));
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "New schedule" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.type(dialog.getByLabelText("Name"), "often");
  await user.click(dialog.getByRole("button", { name: "Every 5 minutes" }));
  expect(await dialog.findByText("Whenever it is asked")).toBeInTheDocument();
  expect(dialog.getByText("14:02:00 UTC, 18 Mar 2026")).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Save schedule" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(1));
  expect(writes(asked)[0]?.body).toEqual({
    system: SYSTEM,
    name: "often",
    enabled: true,
    subject: "allocation",
    method: "",
    least_benefit: 0,
    time_limit_s: null,
    then: "draft",
    every_s: 300,
    cron: "",
    timezone: "UTC",
  });
});

it("edits a trigger in percent, naming the version that was read", async () => {
  const path = `${ROOM}/triggers/${trigger().id}`;
  const asked = serve(answers({ [`PATCH ${path}`]: ok(trigger()) }));
  const { user } = open();
  const triggers = within(await screen.findByRole("table", { name: "Triggers" }));
  await user.click(triggers.getByRole("button", { name: "Edit" }));
  const dialog = within(await screen.findByRole("dialog"));
  const field = dialog.getByLabelText("Fires above");
  expect(field).toHaveValue("20");
  await user.clear(field);
  await user.type(field, "7");
  await user.click(dialog.getByRole("button", { name: "Save trigger" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(1));
  expect(writes(asked)[0]?.body).toMatchObject({ threshold: 0.07, kind: "load_drift" });
  expect(writes(asked)[0]?.headers.get("If-Match")).toBe('"1"');
});

it("shows the server's refusal at its field", async () => {
  serve(
    answers({
      [`POST ${ROOM}/schedules`]: problem(409, "name_taken", "taken", [
        { field: "name", message: '"nightly" is taken; choose another name.' },
      ]),
    }),
  );
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "New schedule" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.type(dialog.getByLabelText("Name"), "nightly");
  await user.click(dialog.getByRole("button", { name: "Save schedule" }));
  expect(await dialog.findByText('"nightly" is taken; choose another name.')).toBeInTheDocument();
});

it("runs a schedule now and deletes only after asking", async () => {
  const path = `${ROOM}/schedules/${schedule().id}`;
  const asked = serve(
    answers({
      [`POST ${path}/run`]: ok(firing()),
      [`DELETE ${path}`]: { status: 204, body: null },
    }),
  );
  const { user } = open();
  const schedules = within(await screen.findByRole("table", { name: "Schedules" }));
  await user.click(schedules.getByRole("button", { name: "Run now" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(1));
  await user.click(schedules.getByRole("button", { name: "Delete" }));
  expect(writes(asked)).toHaveLength(1);
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(dialog.getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(2));
  expect(writes(asked)[1]?.headers.get("If-Match")).toBe('"3"');
});

it("offers no person to fire a trigger, and says what ends when it is deleted", async () => {
  const path = `${ROOM}/triggers/${trigger().id}`;
  const asked = serve(
    answers({
      [`GET ${ROOM}/triggers`]: ok(
        page([trigger({ allowed_commands: ["edit", "delete", "run"] })]),
      ),
      [`DELETE ${path}`]: { status: 204, body: null },
    }),
  );
  const { user } = open();
  const triggers = within(await screen.findByRole("table", { name: "Triggers" }));
  expect(triggers.queryByRole("button", { name: "Run now" })).toBeNull();
  await user.click(triggers.getByRole("button", { name: "Delete" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Delete trigger storm" }));
  expect(dialog.getByText(/It watches no more\. What it fired stays/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(1));
  expect(writes(asked)[0]?.headers.get("If-Match")).toBe('"1"');
});

it("pauses a schedule and resumes a trigger, naming the versions that were read", async () => {
  const [one, other] = [`${ROOM}/schedules/${schedule().id}`, `${ROOM}/triggers/${trigger().id}`];
  const asked = serve(
    answers({
      [`GET ${ROOM}/triggers`]: ok(page([trigger({ enabled: false })])),
      [`PATCH ${one}`]: ok(schedule({ enabled: false })),
      [`PATCH ${other}`]: ok(trigger()),
    }),
  );
  const { user } = open();
  const schedules = within(await screen.findByRole("table", { name: "Schedules" }));
  await user.click(schedules.getByRole("button", { name: "Pause" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(1));
  expect(writes(asked)[0]?.body).toEqual({ enabled: false });
  expect(writes(asked)[0]?.headers.get("If-Match")).toBe('"3"');
  const triggers = within(await screen.findByRole("table", { name: "Triggers" }));
  await user.click(triggers.getByRole("button", { name: "Resume" }));
  await waitFor(() => expect(writes(asked)).toHaveLength(2));
  expect(writes(asked)[1]?.body).toMatchObject({ enabled: true });
  expect(writes(asked)[1]?.headers.get("If-Match")).toBe('"1"');
});

it("reads a stored interval in its largest unit", () => {
  const draft = scheduleDraft(schedule({ every_s: 7200, cron: "" }));
  expect([draft.clock, draft.count, draft.unit]).toEqual(["interval", "2", "3600"]);
  expect(timingOf(draft)).toEqual({ every_s: 7200, cron: "", timezone: "UTC" });
});

it("refuses an interval that is no number", () => {
  const made = scheduleBody({ ...scheduleDraft(null), name: "x", count: "soon" });
  expect(made).toEqual({ errors: [{ field: "every_s", message: "A number is needed here." }] });
});
