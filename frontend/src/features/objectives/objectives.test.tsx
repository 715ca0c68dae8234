import { screen, within } from "@testing-library/react";

import { pointsOf } from "./minutes-chart";
import ServiceLevelsPage from "./service-levels-page";
import { budgetText, doubts, promiseText, valueText } from "@/components/ui/objective-words";

import type { SloCompliance, SloMinutes } from "@/api/objectives";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, serve, type Asked } from "@/testing/server";

const S = system().id;

const compliance = (change: Partial<SloCompliance> = {}): SloCompliance => ({
  id: "0b8f6f5e-0000-4000-8000-000000000001",
  name: "orders in time",
  system: S,
  system_name: "Base workload",
  topic: "0b8f6f5e-0000-4000-8000-000000000002",
  topic_name: "orders",
  quantity: "delay_p99_s",
  target: 0.1,
  objective: 0.99,
  window_s: 30 * 86_400,
  standing: "page",
  since: "2026-03-01T00:00:00Z",
  until: "2026-03-18T14:02:00Z",
  judged_until: "2026-03-18T14:02:00Z",
  measured_minutes: 1000,
  missed_minutes: 108,
  too_few_minutes: 0,
  at_gate_minutes: 0,
  share_held: 0.892,
  budget_minutes: 432,
  budget_left: 0.75,
  burns: [
    {
      severity: "page",
      threshold: 14.4,
      long_minutes: 60,
      short_minutes: 5,
      long_burn: 25,
      short_burn: 60,
      fires: true,
      can_fire: true,
    },
    {
      severity: "ticket",
      threshold: 1,
      long_minutes: 4320,
      short_minutes: 360,
      long_burn: 0.4,
      short_burn: 2.5,
      fires: false,
      can_fire: true,
    },
  ],
  latest: {
    at: "2026-03-18T14:01:00Z",
    value: 0.25,
    has_held: false,
    has_too_few: false,
    messages: 1200,
    evidence: "delivery",
  },
  ...change,
});

const minutes = (change: Partial<SloMinutes> = {}): SloMinutes => ({
  since: "2026-03-18T14:00:00Z",
  until: "2026-03-18T15:00:00Z",
  judged_until: "2026-03-18T14:06:00Z",
  step_s: 60,
  steps: [
    { since: "2026-03-18T14:00:00Z", measured_minutes: 1, missed_minutes: 0, worst: 0.05 },
    { since: "2026-03-18T14:01:00Z", measured_minutes: 1, missed_minutes: 1, worst: 0.25 },
    { since: "2026-03-18T14:05:00Z", measured_minutes: 1, missed_minutes: 0, worst: 0.04 },
  ],
  ...change,
});

const show = (rows: SloCompliance[], query = "") => {
  const asked = serve({
    "GET /api/v1/session": ok(session()),
    [`GET /api/v1/systems/${S}`]: ok(system()),
    "GET /api/v1/systems": ok(page([system()])),
    "GET /api/v1/slo-compliance": ok(page(rows)),
    [`GET /api/v1/slo-compliance/${compliance().id}/minutes`]: ok(minutes()),
  });
  const view = renderPage(
    <ServiceLevelsPage />,
    "/systems/:systemId/service-levels",
    `/systems/${S}/service-levels${query}`,
  );
  return { asked, ...view };
};

/** What was asked of the list last. */
const listed = (asked: Asked[]) =>
  asked.filter(({ path }) => path === "/api/v1/slo-compliance").at(-1)?.query;

it("says what was promised, how it held and how fast the budget goes", async () => {
  show([compliance()]);
  const table = await screen.findByRole("table", { name: "Objectives" });
  const [, row] = within(table).getAllByRole("row");
  expect(row).toHaveTextContent("Burns fast");
  expect(row).toHaveTextContent("p99 delay at most 100 ms in 99 % of 30 d");
  expect(row).toHaveTextContent("89.20 %");
  expect(row).toHaveTextContent("75 %");
  expect(row).toHaveTextContent("25.0×");
  expect(row).toHaveTextContent("250 ms");
});

it("opens a row, which shows its alerts and its minutes", async () => {
  const { user } = show([compliance({ at_gate_minutes: 1000, too_few_minutes: 3 })]);
  const table = await screen.findByRole("table", { name: "Objectives" });
  await user.click(within(table).getByText("p99 delay at most 100 ms in 99 % of 30 d"));
  const alerts = await screen.findByRole("table", { name: "Alerts of orders in time" });
  const [, first, second] = within(alerts).getAllByRole("row");
  expect(first).toHaveTextContent("Look now1 h and 5 min25.0× and 60.0×14.4×Fires");
  expect(second).toHaveTextContent("0.4× and 2.5×");
  expect(second).toHaveTextContent("quiet");
  expect(screen.getByText(/Of all measured minutes only the delay at the gate/)).toBeVisible();
  expect(screen.getByText(/in 3 minutes so few messages passed/)).toBeVisible();
  expect(await screen.findByRole("heading", { name: "p99 delay" })).toBeVisible();
});

it("says what is missing where nothing was measured", async () => {
  const row = compliance({
    standing: "not_measured",
    measured_minutes: 0,
    missed_minutes: 0,
    share_held: null,
    budget_left: null,
    latest: null,
  });
  show([row], `?open=${row.id}`);
  expect(await screen.findByText(/Nothing was measured since the window began/)).toBeVisible();
  const [, shown] = within(screen.getByRole("table", { name: "Objectives" })).getAllByRole("row");
  expect(shown).toHaveTextContent("Not measured");
});

it("ignores a state that there is not", async () => {
  const { asked } = show([compliance()], "?standing=bad");
  await screen.findByRole("table", { name: "Objectives" });
  expect(listed(asked)?.get("standing")).toBeNull();
});

it("is narrowed by how objectives stand, in its address", async () => {
  const { asked } = show([compliance()], "?standing=page");
  await screen.findByRole("table", { name: "Objectives" });
  expect(listed(asked)?.get("standing")).toBe("page");
  expect(screen.getByDisplayValue("Burns fast")).toBeVisible();
});

it("leads to the SLOs where there is none", async () => {
  show([]);
  expect(await screen.findByRole("link", { name: "SLOs of the system" })).toHaveAttribute(
    "href",
    `/systems/${S}/slos`,
  );
});

it("writes promises and values in the unit of their quantity", () => {
  expect(promiseText(compliance({ quantity: "rate_per_s", target: 50, objective: 0.999 }))).toBe(
    "Delivered rate at least 50.00 msg/s in 99.9 % of 30 d",
  );
  expect(valueText("loss_ratio", 0.0012)).toBe("0.12 %");
  expect(budgetText(-0.4)).toBe("spent 1.4 times");
  expect(budgetText(0.004)).toBe("below 1 %");
  expect(budgetText(null)).toBe("–");
  expect(doubts(compliance())).toEqual([]);
});

it("draws a gap where nothing was measured", () => {
  const at = (minute: number) => Date.UTC(2026, 2, 18, 14, minute);
  expect(pointsOf(minutes())).toEqual([
    [at(0), 0.05],
    [at(1), 0.25],
    [at(2), null],
    [at(5), 0.04],
  ]);
});
