import { screen, waitFor, within } from "@testing-library/react";

import { brokerBoard, gateCrests, topicBoard } from "./boards";
import { optionOf, readingAt } from "./chart-option";
import { merged } from "./merged";
import { burnOf } from "./objectives-panel";
import OverTimePage from "./over-time-page";
import type { Sums } from "./sums";
import { scaleOf } from "./words";

import type { Burn, SloCompliance } from "@/api/objectives";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const S = system().id;
const T = "0b8f6f5e-0000-4000-8000-000000000021";
const C = "0b8f6f5e-0000-4000-8000-000000000022";
const SUMS = "GET /api/v1/record-sums";

const sums = (change: Partial<Sums> = {}): Sums => ({
  quantity: "measured",
  unit: "msg/s",
  by: "broker",
  step_s: 60,
  since: "2026-03-18T14:00:00Z",
  until: "2026-03-18T14:03:00Z",
  steps: [0, 1, 2].map((minute) => `2026-03-18T14:0${minute}:00Z`),
  minutes: [1, 0, 1],
  series: [{ name: "ny-1", values: [30, null, 40], least: [20, null, 40], most: [35, null, 40] }],
  left_out: 0,
  ...change,
});

const burn = (change: Partial<Burn> = {}): Burn => ({
  severity: "page",
  long_minutes: 60,
  short_minutes: 5,
  long_burn: 2.4,
  short_burn: 3,
  threshold: 14.4,
  fires: false,
  can_fire: true,
  ...change,
});

const objective = (change: Partial<SloCompliance> = {}): SloCompliance => ({
  id: "0b8f6f5e-0000-4000-8000-000000000022",
  name: "swift",
  system: S,
  system_name: "Base workload",
  topic: T,
  topic_name: "quotes",
  quantity: "delay_p99_s",
  target: 0.25,
  objective: 0.99,
  window_s: 2_592_000,
  standing: "holds",
  since: "2026-03-01T00:00:00Z",
  until: "2026-03-18T14:03:00Z",
  judged_until: "2026-03-18T14:03:00Z",
  measured_minutes: 1000,
  missed_minutes: 4,
  too_few_minutes: 0,
  at_gate_minutes: 0,
  share_held: 0.996,
  budget_minutes: 432,
  budget_left: 0.6,
  burns: [burn({ long_minutes: 360, long_burn: 1 }), burn()],
  latest: null,
  ...change,
});

const gate = {
  flow: "quotes",
  broker: "ny-1",
  in_force_per_s: 60,
  burst: 8,
  controlled_per_s: null,
  promised_per_s: 60,
  rate_min_per_s: 0,
  rate_max_per_s: 200,
  band_low_per_s: null,
  band_high_per_s: null,
  offered_per_s: 40,
  passed_per_s: 40,
  shed_per_s: 0,
  backlog: 0,
  waiting: null,
};

const topic = {
  id: T,
  system: S,
  name: "quotes",
  version: 3,
  pattern: "request_response",
  delivery: "reliable",
};

const wanted = (change: object) => ({
  subject: "topic",
  topic: T,
  topic_name: "quotes",
  broker: null,
  broker_name: "",
  least: 0,
  typed: 60,
  minutes: 30,
  low: 30,
  mean: 40,
  high: 45,
  counting: 45,
  forecast: null,
  change: 0.25,
  would_use: 60,
  used: 60,
  ...change,
});

const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(system()),
  [`GET /api/v1/topics/${T}`]: ok(topic),
  "GET /api/v1/flow-status": ok({
    system: S,
    plan: null,
    plan_name: null,
    rate_control: false,
    flows: [gate],
  }),
  "GET /api/v1/slo-compliance": ok(page([objective()])),
  "GET /api/v1/demand": ok({
    system: S,
    system_name: "Base",
    basis: "largest",
    level: 0.95,
    estimate: "e",
    estimate_name: "E-4",
    since: "2026-03-18T13:30:00Z",
    until: "2026-03-18T14:00:00Z",
    measured: 2,
    count: 3,
    rows: [
      wanted({
        subject: "class",
        id: C,
        name: "desks",
        typed: 9,
        mean: 12.5,
        forecast: 14,
        used: 14,
      }),
      wanted({ id: T, name: "quotes" }),
      wanted({ subject: "class", id: "other", name: "screens" }),
    ],
  }),
  [SUMS]: (one: Asked) =>
    ok(one.query.get("metric") === "shed_per_s" ? sums({ series: [] }) : sums()),
};

const open = (search = "", change: Record<string, unknown> = {}) => {
  const requests = serve({ ...answers, ...change } as typeof answers);
  const at = `/systems/${S}/topics/${T}/over-time${search}`;
  return {
    requests,
    ...renderPage(<OverTimePage />, "/systems/:systemId/:kind/:id/over-time", at),
  };
};

const lastSums = (requests: readonly Asked[]) =>
  requests.filter((one) => one.path === "/api/v1/record-sums").map((one) => one.query);

describe("a topic over time", () => {
  it("draws what came against the limit in force, and delays against targets", async () => {
    const { requests } = open("?range=6h");
    expect(await screen.findByText("offered at ny-1")).toBeInTheDocument();
    expect(screen.getByText("passed at ny-1")).toBeInTheDocument();
    expect(screen.queryByText("dropped at ny-1")).toBeNull();
    expect(await screen.findByText("limit at ny-1 60.00 msg/s, bucket 8 msg")).toBeInTheDocument();
    expect(await screen.findByText("swift: at most 250 ms")).toBeInTheDocument();
    const queries = lastSums(requests);
    expect(new Set(queries.map((query) => query.get("step_s")))).toEqual(new Set(["120"]));
    // Requests are answered: their delay is until then.
    const kinds = queries.map((query) => query.get("kind")).filter((kind) => kind !== null);
    expect(new Set(kinds)).toEqual(new Set(["answer"]));
  });

  it("says how its objectives stand, and what waits", async () => {
    open();
    const table = within(await screen.findByRole("table", { name: "Objectives" }));
    expect(table.getByText("p99 delay at most 250 ms in 99 % of 30 d")).toBeInTheDocument();
    for (const text of ["Holds", "99.60 %", "60 %", "2.4×"]) {
      expect(table.getByText(text)).toBeInTheDocument();
    }
    expect(screen.getByText("Waiting messages")).toBeInTheDocument();
  });

  it("says what is wanted of it and of its classes: measured, forecast, used", async () => {
    const { requests } = open();
    const topics = within(await screen.findByRole("table", { name: "Topics" }));
    expect(topics.getAllByRole("row")[1]).toHaveTextContent("60.0040.0045.00");
    const classes = within(screen.getByRole("table", { name: "Classes of consumers" }));
    expect(classes.getAllByRole("row")).toHaveLength(3);
    expect(screen.getByText(/^measured from .* UTC, used: E-4$/)).toBeInTheDocument();
    const query = requests.find((one) => one.path === "/api/v1/demand")?.query;
    expect(query?.get("topic")).toBe(T);
  });

  it("says of a class alone what is wanted of it", async () => {
    serve({
      ...answers,
      [`GET /api/v1/consumer-classes/${C}`]: ok({ ...topic, id: C, name: "desks", topic: T }),
      "GET /api/v1/model-state": ok(page([])),
    });
    const at = `/systems/${S}/consumer-classes/${C}/over-time`;
    renderPage(<OverTimePage />, "/systems/:systemId/:kind/:id/over-time", at);
    const classes = within(await screen.findByRole("table", { name: "Classes of consumers" }));
    expect(classes.getAllByRole("row")).toHaveLength(2);
    expect(classes.getAllByRole("row")[1]).toHaveTextContent("desks");
    expect(screen.queryByRole("table", { name: "Topics" })).toBeNull();
  });

  it("keeps the time and the kind of delay in the address", async () => {
    const { requests, user } = open();
    await user.click(await screen.findByRole("button", { name: "7 d" }));
    await user.click(screen.getByRole("button", { name: "at the gate" }));
    await waitFor(() =>
      expect(
        lastSums(requests).some(
          (query) => query.get("kind") === "gate" && query.get("step_s") === "3600",
        ),
      ).toBe(true),
    );
  });

  it("says of each chart that nothing was measured, or that it could not be loaded", async () => {
    const change = {
      [SUMS]: (one: Asked) =>
        one.query.get("metric") === "backlog_peak"
          ? problem(500, "broken", "No answer.")
          : ok(sums({ series: [] })),
    };
    open("", change);
    expect(
      await screen.findAllByText("Nothing of this was measured in the last hour."),
    ).toHaveLength(3);
    expect(
      await screen.findByText("Most that waited at the gate, and its bucket could not be loaded."),
    ).toBeInTheDocument();
  });

  it("holds no target against another kind of delay, and knows the system of its topic", async () => {
    open("?delay=gate");
    await screen.findByText("offered at ny-1");
    expect(screen.queryByText("swift: at most 250 ms")).toBeNull();
    open("", { [`GET /api/v1/topics/${T}`]: ok({ ...topic, system: "another" }) });
    expect(
      await screen.findByText("This system has no such topic: quotes is of another one."),
    ).toBeInTheDocument();
  });

  it("draws the limit as it was in the course of time, and says what it is now", async () => {
    const limits = sums({
      series: [{ name: "ny-1", values: [80, null, 60], least: null, most: null }],
    });
    const change = {
      [SUMS]: (one: Asked) => ok(one.query.get("metric") === "limit_per_s" ? limits : sums()),
    };
    const { user } = open("", change);
    expect(await screen.findByText("limit at ny-1 60.00 msg/s, bucket 8 msg")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Numbers and files of Rate" }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as table" }));
    const rate = within(screen.getByRole("region", { name: "Rate" }));
    expect(rate.getByRole("columnheader", { name: "limit at ny-1, msg/s" })).toBeInTheDocument();
    expect(rate.getByText("80.00")).toBeInTheDocument();
  });

  it("refuses kinds of which nothing is measured", () => {
    serve(answers);
    const at = `/systems/${S}/slos/${T}/over-time`;
    renderPage(<OverTimePage />, "/systems/:systemId/:kind/:id/over-time", at);
    expect(screen.getByText("Nothing is measured of this kind of object.")).toBeInTheDocument();
  });
});

it("makes one chart of answers about different times", () => {
  const lines = topicBoard("quotes", "delivery")[0]?.lines.slice(0, 2) ?? [];
  const later = sums({
    since: "2026-03-18T14:01:00Z",
    until: "2026-03-18T14:04:00Z",
    steps: [1, 2, 3].map((minute) => `2026-03-18T14:0${minute}:00Z`),
    minutes: [1, 1, 1],
    series: [{ name: "ny-1", values: [1, 2, 3], least: null, most: null }],
  });
  const one = merged([sums(), later], lines);
  expect(one?.steps).toEqual(later.steps);
  expect(one?.series.map(({ name, values }) => [name, values])).toEqual([
    ["offered at ny-1", [null, 40, null]],
    ["passed at ny-1", [1, 2, 3]],
  ]);
  expect(one?.series[0]?.most).toEqual([null, 40, null]);
  expect(one?.minutes).toEqual([1, 1, 1]);
  expect(merged([], [])).toBeNull();
  const limit = topicBoard("quotes", "delivery")[0]?.lines.at(-1);
  const limited = merged(
    [sums(), later],
    [lines[0], limit].filter((one) => one !== undefined),
  );
  expect(limited?.series).toHaveLength(1);
  expect(limited?.limits).toEqual([{ name: "limit at ny-1", values: [1, 2, 3] }]);
  const most = topicBoard("quotes", "delivery").find(({ key }) => key === "waiting")?.lines ?? [];
  expect(merged([sums()], most)?.series[0]?.values).toEqual([35, null, 40]);
});

it("draws limits in the unit of the lines, and none that would press them flat", () => {
  const given = sums({
    unit: "s",
    series: [{ name: "", values: [0.1, 0.2, 0.3], least: null, most: null }],
  });
  const option = optionOf(given, scaleOf(given), "light", [
    { value: 0.25, text: "near" },
    { value: 100, text: "far" },
  ]) as { series: { name: string; markLine?: { data: unknown } }[] };
  const limits = option.series.find(({ name }) => name === "limits");
  expect(limits?.markLine?.data).toEqual([{ yAxis: 250 }]);
  const history = [
    { name: "near", values: [0.25, null, 0.5] },
    { name: "far", values: [0.2, 100, 0.2] },
  ];
  const { series } = optionOf(given, scaleOf(given), "light", [], history) as {
    series: { name: string; step?: string; data: unknown[][] }[];
  };
  const stairs = series.filter(({ name }) => name === "limits over time");
  expect(stairs.map(({ step, data }) => [step, data.map(([, value]) => value)])).toEqual([
    ["end", [250, null, 500]],
  ]);
  expect(readingAt(given, scaleOf(given), 2, history)).toContain("near: 500 ms");
});

it("says what gates let pass, as approved or as rate control holds them", () => {
  const held = { ...gate, broker: "ny-2", controlled_per_s: 25, burst: null };
  const free = { ...gate, broker: null, in_force_per_s: null };
  const other = { ...gate, flow: "trades" };
  expect(gateCrests([gate, held, free, other], "quotes").map(({ text }) => text)).toEqual([
    "limit at ny-1 60.00 msg/s, bucket 8 msg",
    "limit by rate control at ny-2 25.00 msg/s",
  ]);
});

it("takes the burn of the shortest time, and knows the metrics of a broker", () => {
  expect(burnOf(objective())).toBe(2.4);
  expect(burnOf(objective({ burns: [] }))).toBeNull();
  const metrics = brokerBoard("ny-1").flatMap(({ lines }) =>
    lines.map((one) => one.question.metric),
  );
  expect(metrics).toContain("cpu_ratio");
  expect(new Set(metrics).size).toBe(metrics.length);
});
