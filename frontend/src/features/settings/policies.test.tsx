import { screen, waitFor, within } from "@testing-library/react";

import { PoliciesPanel } from "./policies-panel";
import { bodyOf, draftOf } from "./policy-draft";

import type { Policy } from "@/api/policies";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const policy = (change: Partial<Policy> = {}): Policy => ({
  id: "0d8bf3a2-93ad-4b7c-a6d5-44a6f8c4a001",
  system: null,
  system_name: null,
  inherits: false,
  approval_rules: [{ kind: "*", min_brokers: 0, min_share: 0.07, approvals: 1 }],
  auto_approve_max_share: 0,
  auto_approve_max_change: 0.1,
  auto_execute: "off",
  auto_execute_max_share: 0.5,
  auto_execute_max_rate_change: 0.2,
  auto_execute_max_consumers_change: 0.2,
  auto_execute_per_day: 4,
  auto_execute_after: 5,
  windows: [
    { effect: "deny", cron: "0 8 * * 1-5", duration_s: 5400, timezone: "Europe/Berlin", note: "" },
  ],
  max_parallel_actions: 20,
  pace_s: 0,
  roll_back_pace_s: 0,
  enactment_threshold: 0.01,
  approval_ttl_s: 86_400,
  remove_after_s: 300,
  demand_band: 0.25,
  judge_window_s: 300,
  rate_control: false,
  rate_control_band: 0.2,
  enactment_band: 0,
  enactment_dwell_s: 0,
  churn_per_consumer: 0,
  churn_per_rate_change: 0,
  version: 3,
  updated_at: "2026-03-18T14:00:00Z",
  allowed_commands: ["edit"],
  ...change,
});

const answers = (one: Policy) => ({
  "GET /api/v1/session": ok(session()),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/policies": ok(page([one])),
});
const PATH = `PATCH /api/v1/policies/${policy().id}`;

it("saves what changed with the version it was read at", async () => {
  const asked = serve({ ...answers(policy()), [PATH]: ok(policy({ version: 4 })) });
  const { user } = renderPage(<PoliciesPanel />, "/settings/policies", "/settings/policies");
  const rule = within(await screen.findByRole("group", { name: "Rule 1" }));
  await user.clear(rule.getByLabelText("Approvals"));
  await user.type(rule.getByLabelText("Approvals"), "2");
  await user.click(screen.getByRole("button", { name: "Save policy" }));
  await waitFor(() => expect(asked.some((one: Asked) => one.method === "PATCH")).toBe(true));
  const sent = asked.find((one: Asked) => one.method === "PATCH");
  expect(sent?.headers.get("If-Match")).toBe('"3"');
  expect(sent?.body).toMatchObject({
    approval_rules: [{ kind: "*", min_brokers: 0, min_share: 0.07, approvals: 2 }],
    windows: [{ duration_s: 5400 }],
  });
});

it("shows the server's complaint at the window that it is about", async () => {
  serve({
    ...answers(policy()),
    [PATH]: problem(400, "invalid", "windows[0].cron: no such minute", [
      { field: "windows[0].cron", message: "no such minute" },
    ]),
  });
  const { user } = renderPage(<PoliciesPanel />, "/settings/policies", "/settings/policies");
  const row = within(await screen.findByRole("group", { name: "Window 1" }));
  await user.clear(row.getByLabelText("Begins (cron)"));
  await user.type(row.getByLabelText("Begins (cron)"), "99 * * * *");
  await user.click(screen.getByRole("button", { name: "Save policy" }));
  expect(await row.findByText("no such minute")).toBeInTheDocument();
});

it("offers nothing to whoever may not edit", async () => {
  serve(answers(policy({ allowed_commands: [] })));
  renderPage(<PoliciesPanel />, "/settings/policies", "/settings/policies");
  expect(await screen.findByText(/changed by an administrator/)).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Save policy" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Add rule" })).toBeNull();
});

it("gives back what it was given, percent and minutes undone", () => {
  const made = bodyOf(draftOf(policy()));
  expect("body" in made ? made.body.approval_rules[0]?.min_share : null).toBe(0.07);
  expect("body" in made ? made.body.windows[0]?.duration_s : null).toBe(5400);
});

it("sends the pause of a roll back apart from the pause of a plan", () => {
  const made = bodyOf(draftOf({ ...policy(), pace_s: 40, roll_back_pace_s: 3 }));
  expect("body" in made ? [made.body.pace_s, made.body.roll_back_pace_s] : null).toEqual([40, 3]);
});

it("names the field that holds no number", () => {
  const made = bodyOf({ ...draftOf(policy()), pace: "soon" });
  expect("errors" in made ? made.errors : []).toEqual([
    { field: "pace_s", message: "A number is needed here." },
  ]);
});

it("says what each choice of plans without a person means, and sends its bounds", async () => {
  const requests = serve({ ...answers(policy()), [PATH]: ok(policy({ version: 4 })) });
  const { user } = renderPage(<PoliciesPanel />, "/settings/policies", "/settings/policies");
  const panel = within(await screen.findByRole("region", { name: "Carried out without a person" }));
  expect(panel.getByText("People decide about every plan.")).toBeInTheDocument();
  await user.selectOptions(panel.getByLabelText(/Weir carries plans out by itself/), "dry");
  expect(panel.getByText(/what Weir would have carried out is recorded/)).toBeInTheDocument();
  const change = panel.getByLabelText(/change of a rate/);
  expect(change).toHaveValue("20");
  await user.clear(change);
  await user.type(change, "7");
  await user.click(screen.getByRole("button", { name: "Save policy" }));
  await waitFor(() => expect(requests.some((one) => one.method === "PATCH")).toBe(true));
  expect(requests.find((one) => one.method === "PATCH")?.body).toMatchObject({
    auto_execute: "dry",
    auto_execute_max_rate_change: 0.07,
    auto_execute_max_consumers_change: 0.2,
    auto_execute_per_day: 4,
    auto_execute_after: 5,
  });
});
