import { screen, within } from "@testing-library/react";

import DemandPage from "./demand-page";
import { NUMBERS, readNumber, settingText, usedBy, type NumberName } from "./words";

import type { Demand, DemandEstimate, DemandSettings, Forecast, Wanted } from "@/api/demand";
import { renderPage } from "@/testing/render";
import { page, requestLoop, requestLoops, session, system } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const S = system().id;
const TIME = "2026-03-18T14:00:00Z";
const PATCH = "PATCH /api/v1/demand-settings/set-1";

const wanted = (change: Partial<Wanted> = {}): Wanted => ({
  subject: "topic",
  id: "0b8f6f5e-0000-4000-8000-000000000001",
  name: "orders",
  topic: "0b8f6f5e-0000-4000-8000-000000000001",
  topic_name: "orders",
  broker: "0b8f6f5e-0000-4000-8000-000000000003",
  broker_name: "ny-1",
  least: 10,
  typed: 1000,
  minutes: 15,
  low: 1710,
  mean: 1874,
  high: 2000,
  counting: 2000,
  forecast: 2100,
  change: 0.5,
  would_use: 2000,
  used: 1000,
  ...change,
});

const desks = wanted({
  subject: "class",
  id: "0b8f6f5e-0000-4000-8000-000000000002",
  name: "desks",
  broker_name: "ny-2",
  least: 0,
  typed: 100,
  minutes: 0,
  low: null,
  mean: null,
  high: null,
  counting: null,
  forecast: null,
  change: 0,
  would_use: 100,
  used: 100,
});

const demand = (change: Partial<Demand> = {}): Demand => ({
  system: S,
  system_name: "Base workload",
  basis: "typed",
  level: 0.9,
  estimate: null,
  estimate_name: null,
  since: TIME,
  until: "2026-03-18T14:15:00Z",
  measured: 1,
  count: 2,
  rows: [wanted(), desks],
  ...change,
});

const settings = (change: Partial<DemandSettings> = {}): DemandSettings => ({
  id: "set-1",
  system: S,
  system_name: "Base workload",
  basis: "typed",
  window_minutes: 15,
  level: 0.9,
  floor_ratio: 0.1,
  ceiling_ratio: 10,
  horizon_hours: 1,
  least_change: 0.05,
  version: 3,
  updated_at: TIME,
  allowed_commands: ["edit"],
  ...change,
});

const estimate: DemandEstimate = {
  id: "0b8f6f5e-0000-4000-8000-000000000003",
  name: "E-2",
  number: 2,
  system: S,
  system_name: "Base workload",
  basis: "measured",
  level: 0.9,
  floor_ratio: 0.1,
  ceiling_ratio: 10,
  since: TIME,
  until: "2026-03-18T14:15:00Z",
  largest_change: 0.5,
  because: "orders wants 2,000 msg/s instead of 1,000.",
  figure_count: 1,
  created_at: TIME,
  updated_at: TIME,
};

const answers = (now = demand(), row = settings(), estimates: DemandEstimate[] = []) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(system()),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/demand": ok(now),
  "GET /api/v1/demand-settings": ok(page([row])),
  "GET /api/v1/demand-estimates": ok(page(estimates)),
  "GET /api/v1/demand-forecasts": ok(page<Forecast>([])),
  [`GET /api/v1/demand-estimates/${estimate.id}`]: ok({
    ...estimate,
    figures: [
      {
        subject: "topic",
        name: "orders",
        minutes: 15,
        low: 1710,
        mean: 1874,
        high: 2000,
        forecast: null,
        typed: 1000,
        used: 2000,
      },
    ],
  }),
  "GET /api/v1/request-loops": ok(requestLoops()),
});

const open = () => renderPage(<DemandPage />, "/systems/:systemId/demand", `/systems/${S}/demand`);

const rowWith = async (table: string, text: string) => {
  const cell = await within(await screen.findByRole("table", { name: table })).findByText(text);
  return within(cell.closest("tr") ?? document.body);
};

it("sets measured demand beside the model's figures", async () => {
  serve(answers());
  open();
  const orders = await rowWith("Topics", "orders");
  expect(orders.getAllByText("1,000")).toHaveLength(2);
  expect(orders.getByText("1,874")).toBeInTheDocument();
  expect(orders.getByText("+100 %")).toBeInTheDocument();
  const classes = await rowWith("Classes of consumers", "desks");
  expect(classes.getByText("not measured")).toBeInTheDocument();
  expect(screen.getByText(/^1 measured from 14:00.* to 14:15.* UTC$/)).toBeInTheDocument();
  expect(screen.getByText(/^nothing measured from 14:00.* to 14:15.* UTC$/)).toBeInTheDocument();
  expect(screen.getByText(/Snapshots were always made with the model/)).toBeInTheDocument();
});

it("says what will be used before it is switched on", async () => {
  const asked = serve({ ...answers(), [PATCH]: ok(settings({ basis: "measured", version: 4 })) });
  const { user } = open();
  await user.selectOptions(await screen.findByLabelText("Snapshots use"), "Measured demand");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/1 figure will change/)).toBeInTheDocument();
  expect(dialog.getByText("2,000 msg/s")).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "agents measure all of it");
  await user.click(dialog.getByRole("button", { name: "Save" }));
  expect(await screen.findByText("Saved whose figures are used")).toBeInTheDocument();
  const patch = asked.find(({ method }) => method === "PATCH");
  expect(patch?.body).toEqual({ basis: "measured", reason: "agents measure all of it" });
});

it("keeps what was typed where somebody else changed it", async () => {
  serve({
    ...answers(),
    [PATCH]: problem(412, "version_conflict", "Somebody changed the settings meanwhile."),
  });
  const { user } = open();
  const level = await screen.findByLabelText("Enough in");
  await user.clear(level);
  await user.type(level, "40");
  expect(screen.getByText("Give 50 to 100 % of minutes.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Save" })).toBeDisabled();
  await user.clear(level);
  await user.type(level, "95");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const dialog = within(await screen.findByRole("dialog"));
  await user.click(dialog.getByRole("button", { name: "Save" }));
  expect(await dialog.findByText(/Somebody changed the settings meanwhile/)).toBeInTheDocument();
});

it("shows the figures of an estimate", async () => {
  serve(
    answers(
      demand({ basis: "measured", estimate: estimate.id, estimate_name: "E-2" }),
      settings({ basis: "measured", allowed_commands: [] }),
      [estimate],
    ),
  );
  const { user } = open();
  await user.click(await screen.findByText("orders wants 2,000 msg/s instead of 1,000."));
  const figures = await rowWith("Figures", "orders");
  expect(figures.getAllByText("2,000")).toHaveLength(2);
  expect(screen.getByText("Editors change this.")).toBeInTheDocument();
});

it("shows what is expected, and of what nothing can be told", async () => {
  const forecast: Forecast = {
    id: "0b8f6f5e-0000-4000-8000-000000000004",
    name: "D-3",
    number: 3,
    system: S,
    system_name: "Base workload",
    run: "0b8f6f5e-0000-4000-8000-000000000005",
    run_name: "R-9",
    first_at: new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString(),
    hours: 2,
    measured_since: TIME,
    level: 0.9,
    series_count: 1,
    created_at: TIME,
    updated_at: TIME,
  };
  const none = { season: null, error: null, mean: [], low: [], high: [] };
  serve({
    ...answers(),
    "GET /api/v1/demand-forecasts": ok(page([forecast])),
    [`GET /api/v1/demand-forecasts/${forecast.id}`]: ok({
      ...forecast,
      series: [
        { subject: "class", name: "desks", reason: "3 hours were measured", ...none },
        {
          subject: "topic",
          name: "orders",
          season: 168,
          error: 0.042,
          reason: "",
          mean: [1500, 1600],
          low: [1400, 1450],
          high: [1610, 1720],
        },
      ],
    }),
  });
  open();
  const orders = await rowWith("Forecast", "orders");
  expect(orders.getByText("hour of the week")).toBeInTheDocument();
  expect(orders.getByText("4.2 %")).toBeInTheDocument();
  expect(orders.getByText("1,610")).toBeInTheDocument();
  expect(orders.getByText("1,720")).toBeInTheDocument();
  const known = await rowWith("Forecast", "desks");
  expect(known.getByText("3 hours were measured")).toBeInTheDocument();
});

it("says that nothing is measured", async () => {
  serve(answers(demand({ measured: 0, rows: [desks], count: 1 })));
  open();
  expect(await screen.findAllByText(/^nothing measured from 14:00.* to 14:15.* UTC$/)).toHaveLength(
    2,
  );
  expect(screen.getByText("The system has no topics yet.")).toBeInTheDocument();
});

const setting = (name: NumberName) => {
  const one = NUMBERS.find((each) => each.name === name);
  if (one === undefined) throw new Error(name);
  return one;
};

it.each([
  ["level", "95", 0.95],
  ["ceiling_ratio", "1,000", 10],
  ["least_change", "0.1", 0.001],
  ["window_minutes", "15", 15],
] as const)("reads %s typed as %s", (name, typed, value) => {
  expect(readNumber(setting(name), typed)).toEqual({ value });
});

it.each([
  ["level", "", "Give 50 to 100 % of minutes."],
  ["window_minutes", "7.5", "Give a whole number."],
  ["window_minutes", "4", "Give 5 to 120 min."],
  ["least_change", "0", "Give 0.1 to 100 % change."],
] as const)("refuses %s typed as %s", (name, typed, text) => {
  expect(readNumber(setting(name), typed)).toEqual({ problem: text });
});

it.each([
  ["typed", 1000],
  ["measured", 2000],
  ["forecast", 2100],
  ["largest", 2100],
] as const)("knows what %s figures come to", (basis, amount) => {
  expect(usedBy(settings({ basis }), wanted())).toBe(amount);
  expect(usedBy(settings({ basis }), desks)).toBe(100);
  const busy = { ...desks, counting: 150.2, forecast: null };
  expect(usedBy(settings({ basis }), busy)).toBe(basis === "typed" ? 100 : 151);
});

it("keeps to the bounds of the settings, and to what a topic is promised", () => {
  const measured = settings({ basis: "measured", ceiling_ratio: 1.5, floor_ratio: 0.5 });
  expect(usedBy(measured, wanted())).toBe(1500);
  expect(usedBy(measured, wanted({ counting: 1 }))).toBe(500);
  expect(usedBy(measured, wanted({ counting: 1, least: 800 }))).toBe(800);
  expect(usedBy(settings({ basis: "largest" }), wanted({ counting: 1, forecast: 2 }))).toBe(1000);
});

it("writes settings with their units", () => {
  expect(settingText(settings(), setting("window_minutes"))).toBe("15 min");
  expect(settingText(settings(), setting("level"))).toBe("90.0 % of minutes");
});

it("shows who asks and waits for answers, typed and measured", async () => {
  serve({ ...answers(), "GET /api/v1/request-loops": ok(requestLoops(requestLoop())) });
  open();
  const row = await rowWith("Classes that ask", "gold");
  expect(screen.getByText("1 of 1 classes known, last 24 h")).toBeInTheDocument();
  expect(row.getByTitle("In most of 118 minutes 24.1 to 26.3")).toHaveTextContent("25.2, typed 20");
  expect(row.getByText("not known, typed 250 ms")).toHaveAttribute(
    "title",
    expect.stringContaining("waited at the gate"),
  );
  expect(row.getByRole("link", { name: "answers" })).toHaveAttribute(
    "href",
    `/systems/${S}/utility-functions/${requestLoop().utility}/edit`,
  );
});

it("says nothing of requests where no class asks", async () => {
  serve(answers());
  open();
  await rowWith("Topics", "orders");
  expect(screen.queryByText("Requests and answers")).not.toBeInTheDocument();
});

it("takes the search from the address", async () => {
  const requests = serve(answers());
  const at = `/systems/${S}/demand?q=ord`;
  renderPage(<DemandPage />, "/systems/:systemId/demand", at);
  expect(await screen.findByRole("searchbox", { name: "Topic or class" })).toHaveValue("ord");
  const query = requests.find(({ path }) => path === "/api/v1/demand")?.query;
  expect(query?.get("search")).toBe("ord");
});
