import { screen, waitFor, within } from "@testing-library/react";

import { completenessText } from "./quality-panel";
import type { Quality, Sums } from "./sums";
import SystemOverTimePage from "./system-over-time-page";

import { UNKNOWN } from "@/lib/numbers";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, serve, type Asked } from "@/testing/server";

const S = system().id;
const SUMS = "GET /api/v1/record-sums";

const sums = (name: string): Sums => ({
  quantity: "measured_sum",
  unit: "msg/s",
  by: "system",
  step_s: 60,
  since: "2026-03-18T14:00:00Z",
  until: "2026-03-18T14:03:00Z",
  steps: [0, 1, 2].map((minute) => `2026-03-18T14:0${minute}:00Z`),
  minutes: [1, 1, 1],
  series: [{ name, values: [30, 35, 40], least: null, most: null }],
  left_out: 0,
});

const broker = (change: Partial<Quality["brokers"][number]> = {}) => ({
  broker: "0b8f6f5e-0000-4000-8000-000000000031",
  broker_name: "ny-1",
  minutes: 60,
  measured_minutes: 54,
  gaps: 2,
  longest_gap_minutes: 4,
  longest_gap_at: "2026-03-18T13:20:00Z",
  suspect_ratio: 0.02,
  ...change,
});

const quality = (change: Partial<Quality> = {}): Quality => ({
  since: "2026-03-18T13:03:00Z",
  until: "2026-03-18T14:03:00Z",
  minutes: 60,
  brokers: [
    broker(),
    broker({
      broker: "0b8f6f5e-0000-4000-8000-000000000032",
      broker_name: "ny-2",
      measured_minutes: 60,
      gaps: 0,
      longest_gap_minutes: 0,
      longest_gap_at: null,
      suspect_ratio: null,
    }),
  ],
  brokers_left_out: 0,
  rows: 1200,
  repeats: 1,
  late: 3,
  set_aside: [
    {
      table: "samples",
      problem: "at_s: late, more than 86,400 s before it arrived",
      rows: 3,
      waiting: 3,
      latest: "2026-03-18T14:00:00Z",
    },
    {
      table: "samples",
      problem: "value: must be a number",
      rows: 2,
      waiting: 0,
      latest: "2026-03-18T14:00:00Z",
    },
  ],
  ...change,
});

const waiting = {
  broker: "ny-1",
  waiting: 40,
  slope_per_s: 2,
  full_in_s: 30,
  limit: "messages",
  most: 100,
  growth: "growing",
  why: "",
};
const flow = (name: string, waits: unknown) => ({ flow: name, waiting: waits });

const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(system()),
  "GET /api/v1/flow-status": ok({
    system: S,
    plan: null,
    plan_name: null,
    rate_control: false,
    flows: [
      flow("calm", { ...waiting, waiting: 90, growth: "steady", slope_per_s: 0 }),
      flow("orders", waiting),
      flow("best effort", null),
    ],
  }),
  "GET /api/v1/slo-compliance": ok(page([])),
  "GET /api/v1/record-quality": ok(quality()),
  [SUMS]: (one: Asked) =>
    ok(sums(one.query.get("by") === "system" ? "Base" : `a ${one.query.get("by") ?? ""}`)),
};

const open = (search = "", change: Record<string, unknown> = {}) => {
  const requests = serve({ ...answers, ...change } as typeof answers);
  const at = `/systems/${S}/over-time${search}`;
  return { requests, ...renderPage(<SystemOverTimePage />, "/systems/:systemId/over-time", at) };
};

describe("a whole system over time", () => {
  it("adds up traffic and consumers, and has topics and brokers one by one", async () => {
    const { requests } = open();
    await screen.findByText("offered");
    const traffic = within(screen.getByRole("region", { name: "Traffic" }));
    for (const name of ["passed", "dropped"]) {
      expect(traffic.getByText(name)).toBeInTheDocument();
    }
    const topics = within(screen.getByRole("region", { name: "Passed, by topic" }));
    expect(topics.getByText("a topic")).toBeInTheDocument();
    const queries = requests.filter((one) => one.path === "/api/v1/record-sums");
    const of = (metric: string) =>
      queries
        .filter(({ query }) => query.get("metric") === metric)
        .map(({ query }) => `${query.get("quantity") ?? ""} by ${query.get("by") ?? ""}`)
        .sort();
    expect(of("passed_per_s")).toEqual(["measured_sum by system", "measured_sum by topic"]);
    expect(of("admitted")).toEqual(["measured_sum by system"]);
    expect(of("cpu_ratio")).toEqual(["measured by broker"]);
  });

  it("says how complete that is, and what was set aside for which reason", async () => {
    open();
    const table = within(await screen.findByRole("table", { name: "Completeness" }));
    const [, first, second] = table.getAllByRole("row");
    expect(first).toHaveTextContent("ny-190.0 %24 min from");
    expect(first).toHaveTextContent("2.0 %");
    expect(second).toHaveTextContent("ny-2100 %0none");
    const text = "1,200 rows arrived in this time, 5 set aside, 3 of them late, 1 batch sent again";
    expect(screen.getByText(text)).toBeInTheDocument();
    const aside = within(screen.getByRole("table", { name: "Set aside" }));
    expect(aside.getAllByRole("row")).toHaveLength(3);
  });

  it("has what waits of every reliable topic, those that grow first", async () => {
    open();
    const table = within(await screen.findByRole("table", { name: "Waiting messages" }));
    const rows = table.getAllByRole("row").slice(1);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toHaveTextContent("orders Growing40");
    expect(rows[1]).toHaveTextContent("calm 90");
  });

  it("says of which objectives it shows the first", async () => {
    const change = { ...page([]), next: "cursor" };
    open("", { "GET /api/v1/slo-compliance": ok(change) });
    expect(await screen.findByText("the first 0 by name")).toBeInTheDocument();
  });

  it("keeps the time and the kind of delay in the address", async () => {
    const { requests, user } = open("?range=24h");
    await screen.findByText("median");
    await user.click(screen.getByRole("button", { name: "to the answer" }));
    await waitFor(() =>
      expect(
        requests.some(
          ({ query }) => query.get("kind") === "answer" && query.get("step_s") === "600",
        ),
      ).toBe(true),
    );
  });

  it("says where nothing arrived and nobody measures", async () => {
    const none = quality({ brokers: [], rows: 0, set_aside: [], late: 0, repeats: 0 });
    open("", { "GET /api/v1/record-quality": ok(none) });
    expect(await screen.findByText("no rows arrived in this time")).toBeInTheDocument();
    expect(
      screen.getByText("No broker of it is known here, so nobody measures."),
    ).toBeInTheDocument();
  });
});

it("calls nothing complete that is not, and nothing empty that has a minute", () => {
  expect(completenessText(broker({ minutes: 43_200, measured_minutes: 43_199 }))).toBe("99.9 %");
  expect(completenessText(broker({ minutes: 43_200, measured_minutes: 1 }))).toBe("0.1 %");
  expect(completenessText(broker({ minutes: 9, measured_minutes: 9 }))).toBe("100 %");
  expect(completenessText(broker({ minutes: 9, measured_minutes: 0 }))).toBe("0 %");
  expect(completenessText(broker({ minutes: 0, measured_minutes: 0 }))).toBe(UNKNOWN);
});
