import { screen, waitFor, within } from "@testing-library/react";

import CalibrationPage from "./calibration-page";
import { barScale, costText, misfit, suggested } from "./coefficients";

import type { CalibrationSettings, CalibrationState, FitDetail } from "@/api/calibration";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const S = system().id;
const FIT = "0b8f6f5e-0000-4000-8000-000000000001";
const TIME = "2026-03-18T14:00:00Z";

const fit = (change: Partial<FitDetail> = {}): FitDetail => ({
  id: FIT,
  name: "F-2",
  number: 2,
  system: S,
  system_name: "Base workload",
  run: "r1",
  run_name: "R-2041",
  state: "proposed",
  since: TIME,
  until: TIME,
  window_s: 10,
  coefficient_count: 2,
  identified_count: 1,
  applied_count: 0,
  decided_by: null,
  decided_by_id: null,
  decided_at: null,
  created_at: TIME,
  updated_at: TIME,
  version: 1,
  allowed_commands: ["apply", "discard"],
  cases: [
    {
      broker: "rot-1",
      resource: "cpu",
      measure: "cpu",
      capacity: 100,
      points: 60,
      enough: true,
      condition: 12,
      r_squared: 0.98,
      residual_sd: 0.4,
      coefficients: [
        {
          id: "c-idle",
          kind: "idle",
          name: "",
          flow: "",
          old: null,
          value: 2,
          low: 1.5,
          high: 2.5,
          vif: 3,
          identified: true,
          applied: false,
        },
        {
          id: "c-flow",
          kind: "flow",
          name: "ships",
          flow: "ships",
          old: 0.03,
          value: 0.0148,
          low: 0.0139,
          high: 0.0157,
          vif: 4,
          identified: true,
          applied: false,
        },
        {
          id: "c-class",
          kind: "class",
          name: "ships.gold",
          flow: "ships",
          old: 0.001,
          value: 0.0062,
          low: 0,
          high: null,
          vif: null,
          identified: false,
          applied: false,
        },
      ],
      scatter: [
        { measured: 10, fitted: 11, before: 20 },
        { measured: 40, fitted: 39, before: 60 },
      ],
      advice: [
        {
          flow: "ships",
          rate_per_s: 10,
          consumer_class: "ships.gold",
          consumers: 400,
          tells: [{ kind: "class", name: "ships.gold" }],
          sentence: "Measure ships at a low rate (10 msg/s) with 400 consumers of ships.gold.",
        },
      ],
    },
  ],
  ...change,
});

const settings: CalibrationSettings = {
  id: "set-1",
  system: S,
  system_name: "Base workload",
  correct_errors: true,
  bound_latency: false,
  factor_min: 0.5,
  factor_max: 2,
  smoothing: 0.2,
  cores: null,
  messages_per_transaction: 1,
  version: 3,
  updated_at: TIME,
  allowed_commands: ["edit"],
};

const state: CalibrationState = {
  corrections: [
    {
      broker: "b1",
      broker_name: "rot-1",
      resource: "cpu",
      ratio: 2,
      factor: 2,
      clamped: "high",
      measured: 62.1,
      predicted: 20.3,
      at: TIME,
      stale: false,
    },
  ],
  latency_bounds: [
    {
      topic: "t1",
      topic_name: "ships",
      rate_max_per_s: 500,
      ack_s: 0.02,
      producers: 2,
      bound_per_s: 100,
      at: TIME,
      stale: false,
    },
  ],
};

const answers = (found: FitDetail[] = [fit()]) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(system({ allowed_commands: ["edit", "optimize"] })),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/calibrations": ok(page(found)),
  [`GET /api/v1/calibrations/${FIT}`]: ok(found[0]),
  "GET /api/v1/calibration-settings": ok(page([settings])),
  "GET /api/v1/calibration-state": ok(state),
});

const open = () =>
  renderPage(
    <CalibrationPage />,
    "/systems/:systemId/resource-models",
    `/systems/${S}/resource-models`,
  );

it("shows coefficients with intervals, what is missing, and what corrects the model", async () => {
  serve(answers());
  open();
  const table = within(await screen.findByRole("table", { name: "Coefficients of rot-1, cpu" }));
  expect(
    table.getByRole("img", { name: /fitted 0.01480, between 0.01390 and 0.01570/ }),
  ).toBeInTheDocument();
  expect(table.getByText("Unknown")).toBeInTheDocument();
  expect(screen.getByText(/Measure ships at a low rate \(10 msg\/s\)/)).toBeInTheDocument();
  expect(screen.getByRole("img", { name: /15.8 % of capacity by the model/ })).toBeInTheDocument();
  const factors = within(screen.getByRole("table", { name: "Error correction" }));
  expect(factors.getByText("Clamped above")).toBeInTheDocument();
  const bounds = within(screen.getByRole("table", { name: "Latency bounds" }));
  expect(bounds.getByText("Below the highest rate")).toBeInTheDocument();
});

it("keeps the chart readable when the model is far too high", async () => {
  const [one] = fit().cases;
  if (one === undefined) throw new Error("no case");
  const scatter = [...one.scatter, { measured: 12, fitted: 12, before: 900 }];
  serve(answers([fit({ cases: [{ ...one, scatter }] })]));
  open();
  expect(await screen.findByText("1 window of the model above the chart")).toBeInTheDocument();
});

it("applies only what is selected, after showing what will change", async () => {
  const asked = serve({
    ...answers(),
    [`POST /api/v1/calibrations/${FIT}/apply`]: ok(fit({ state: "applied", version: 2 })),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "Apply 1 selected" }));
  const change = within(await screen.findByRole("table", { name: "What will change" }));
  expect(change.getByText("ships")).toBeInTheDocument();
  expect(change.getByText("0.03000")).toBeInTheDocument();
  expect(change.queryByText("ships.gold")).not.toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Apply" }));
  await waitFor(() => expect(asked.some((one) => one.path.endsWith("/apply"))).toBe(true));
  const sent = asked.find((one) => one.path.endsWith("/apply"));
  expect(sent?.body).toEqual({ coefficients: ["c-flow"], reason: "" });
  expect(sent?.headers.get("If-Match")).toBe('"1"');
});

it("warns before a value that was not measured well is applied", async () => {
  serve(answers());
  const { user } = open();
  await user.click(await screen.findByRole("checkbox", { name: "Apply ships.gold at rot-1" }));
  await user.click(screen.getByRole("button", { name: "Apply 2 selected" }));
  expect(await screen.findByText(/1 value selected is not fixed/)).toBeInTheDocument();
});

it("offers the way back of an applied fit and nothing to choose", async () => {
  serve(answers([fit({ state: "applied", allowed_commands: ["undo"], applied_count: 1 })]));
  open();
  expect(await screen.findByRole("button", { name: "Undo" })).toBeInTheDocument();
  expect(screen.queryByRole("checkbox", { name: /Apply ships/ })).not.toBeInTheDocument();
});

it("says why nothing could be fitted", async () => {
  serve({
    ...answers([]),
    "POST /api/v1/calibrations": problem(409, "nothing_measured", "No agent measured anything."),
  });
  const { user } = open();
  expect(await screen.findByText(/Nothing was fitted yet/)).toBeInTheDocument();
  await user.click(await screen.findByRole("button", { name: "Fit to telemetry" }));
  expect(await screen.findByText("No agent measured anything.")).toBeInTheDocument();
});

it("fits to as much as was chosen", async () => {
  const asked = serve({
    ...answers([]),
    "POST /api/v1/calibrations": ok({ id: "run-9", number: 9 }),
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: "7 d" }));
  expect(screen.getByRole("button", { name: "7 d" })).toHaveAttribute("aria-pressed", "true");
  await user.click(screen.getByRole("button", { name: "Fit to telemetry" }));
  expect(
    await screen.findByText(/fits the model to the telemetry of the last 7 days/),
  ).toBeVisible();
  const sent = asked.find((one) => one.method === "POST");
  expect(sent?.body).toEqual({ system: SYSTEM, minutes: 10080 });
});

it("saves settings under the version that was seen", async () => {
  const asked = serve({
    ...answers(),
    "PATCH /api/v1/calibration-settings/set-1": ok({ ...settings, version: 4 }),
  });
  const { user } = open();
  const most = await screen.findByLabelText("Largest factor");
  await user.clear(most);
  await user.type(most, "1.5");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(asked.some((one) => one.method === "PATCH")).toBe(true));
  const sent = asked.find((one) => one.method === "PATCH");
  expect(sent?.body).toMatchObject({ factor_max: 1.5, cores: null });
  expect(sent?.headers.get("If-Match")).toBe('"3"');
});

it("suggests what is fixed, and scales bars by what is known", () => {
  const [one] = fit().cases;
  if (one === undefined) throw new Error("no case");
  expect(suggested([one])).toEqual(["c-flow"]);
  expect(barScale(one, "flow")).toBeCloseTo(0.03);
  expect(misfit(one).after).toBeCloseTo(0.01);
  expect(costText(0.0000103)).toBe("1.03e\u22125");
});
