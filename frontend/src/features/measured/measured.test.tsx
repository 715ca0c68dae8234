import { screen, waitFor, within } from "@testing-library/react";

import { readingAt, unmeasuredOf } from "./chart-option";
import { latestOf } from "./latest-table";
import MeasuredPage from "./measured-page";
import { questionOf } from "./question";
import { timeOf, type Choices, type Sums } from "./sums";
import { scaleOf } from "./words";

import { renderPage } from "@/testing/render";
import { session, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const S = system().id;
const SUMS = "GET /api/v1/record-sums";
const CHOICES = "GET /api/v1/record-metrics";

const sums = (change: Partial<Sums> = {}): Sums => ({
  quantity: "published_per_s",
  unit: "msg/s",
  by: "topic",
  step_s: 60,
  since: "2026-03-18T14:00:00Z",
  until: "2026-03-18T14:04:00Z",
  steps: [0, 1, 2, 3].map((minute) => `2026-03-18T14:0${minute}:00Z`),
  minutes: [1, 0, 1, 0],
  series: [
    { name: "quotes", values: [120.5, null, 80, null], least: null, most: null },
    { name: "", values: [0, null, 240, null], least: null, most: null },
  ],
  left_out: 0,
  ...change,
});

const names = (...given: string[]) => ({ names: given, left_out: 0 });
const choices = (change: Partial<Choices> = {}): Choices => ({
  since: "2026-03-18T14:00:00Z",
  until: "2026-03-18T15:00:00Z",
  first: "2026-03-01T00:00:00Z",
  last: "2026-03-18T14:02:00Z",
  topics: names("quotes", "trades"),
  consumer_classes: names("gold"),
  brokers: names("ny-1"),
  kinds: ["answer", "delivery", "gate"],
  metrics: [
    { name: "backlog", unit: "messages" },
    { name: "cpu_ratio", unit: "ratio" },
  ],
  metrics_left_out: 0,
  ...change,
});

const answers = (given: Sums = sums(), known: Choices = choices()) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(system()),
  [SUMS]: ok(given),
  [CHOICES]: ok(known),
});

const open = (search = "") =>
  renderPage(<MeasuredPage />, "/systems/:systemId/measured", `/systems/${S}/measured${search}`);

const asked = (all: readonly Asked[]) =>
  Object.fromEntries(all.filter((one) => one.path === "/api/v1/record-sums").at(-1)?.query ?? []);

it("shows the latest value of each line in one unit, and says where the file is", async () => {
  const all = serve(answers());
  open();
  const table = within(await screen.findByRole("table", { name: "Latest values" }));
  const quotes = within(table.getByText("quotes").closest("tr") ?? document.body);
  expect(quotes.getAllByText("80")).toHaveLength(2);
  expect(quotes.getByText("121")).toBeInTheDocument();
  expect(table.getByText("no topic")).toBeInTheDocument();
  expect(screen.getByText("msg/s, steps of 1 min, UTC")).toBeInTheDocument();
  expect(screen.getByText("nothing measured")).toBeInTheDocument();
  const address = screen.getByRole("link", { name: "CSV" }).getAttribute("href") ?? "";
  expect(address).toContain(`system=${S}&quantity=published_per_s&by=topic&since=2026-03-18T14`);
  expect(address).toContain("step_s=60&format=csv");
  expect(asked(all)).toMatchObject({ quantity: "published_per_s", by: "topic", step_s: "60" });
});

it("keeps what is chosen in the address, and asks for it", async () => {
  const all = serve(answers());
  const { user } = open("?topic=quotes");
  await screen.findByRole("table", { name: "Latest values" });
  expect(asked(all)).toMatchObject({ topic: "quotes" });
  await user.selectOptions(screen.getByLabelText("Quantity"), "delay_p99_s");
  await user.selectOptions(screen.getByLabelText("Kind of delay"), "gate");
  await user.selectOptions(screen.getByLabelText("Lines"), "consumer_class");
  await user.click(screen.getByRole("button", { name: "7 d" }));
  await waitFor(() =>
    expect(asked(all)).toMatchObject({
      quantity: "delay_p99_s",
      kind: "gate",
      by: "consumer_class",
      topic: "quotes",
      step_s: "3600",
    }),
  );
  expect(screen.queryByLabelText("Broker")).toBeNull();
});

it("takes the CPU for a metric where nobody named one", async () => {
  const all = serve(answers(sums({ quantity: "measured", unit: "ratio", by: "broker" })));
  open("?quantity=measured");
  expect(await screen.findByRole("heading", { name: "cpu_ratio" })).toBeInTheDocument();
  expect(asked(all)).toMatchObject({ metric: "cpu_ratio", by: "broker" });
  expect(questionOf(new URLSearchParams("quantity=measured"), undefined)).toBeUndefined();
});

it("says how many lines are left out", async () => {
  serve(answers(sums({ left_out: 1300 })));
  open();
  expect(await screen.findByText(/the 2 largest of 1,302 topics/)).toBeInTheDocument();
});

it("says how records come about where there is none, and which is the latest otherwise", async () => {
  serve(answers(sums({ series: [] }), choices({ first: null, last: null, metrics: [] })));
  const { unmount } = open();
  expect(await screen.findByText(/No records have been summed yet/)).toBeInTheDocument();
  expect(screen.getByRole("link", { name: "How records arrive" })).toHaveAttribute(
    "href",
    `/systems/${S}/records`,
  );
  unmount();
  serve(answers(sums({ series: [] })));
  open("?range=6h");
  expect(
    await screen.findByText(/Nothing of this was measured in the last 6 hours/),
  ).toBeInTheDocument();
  expect(screen.getByText(/14:02/)).toBeInTheDocument();
});

it("says what failed to load", async () => {
  serve({ ...answers(), [SUMS]: problem(500, "server_error", "It broke.") });
  open();
  expect(await screen.findByText(/What was measured could not be loaded/)).toBeInTheDocument();
});

it("reads a step aloud, the largest first, and shades what nobody measured", () => {
  const scale = scaleOf(sums());
  expect(readingAt(sums(), scale, 0).slice(1)).toEqual(["quotes: 121 msg/s", "no topic: 0 msg/s"]);
  expect(readingAt(sums(), scale, 1).slice(1)).toEqual(["nothing measured"]);
  const at = (minute: number) => Date.UTC(2026, 2, 18, 14, minute);
  expect(unmeasuredOf(sums({ minutes: [0, 0, 1, 0] }))).toEqual([
    [at(0), at(2)],
    [at(3), at(4)],
  ]);
});

it("shows between which samples a mean lies", () => {
  const cpu = sums({
    unit: "ratio",
    by: "broker",
    series: [
      {
        name: "b1",
        values: [0.25, null, 0.5, null],
        least: [0.1, null, 0.4, null],
        most: [0.4, null, 0.975, null],
      },
    ],
  });
  expect(readingAt(cpu, scaleOf(cpu), 2)[1]).toBe("b1: 50.0 % (40.0 to 97.5)");
  expect(latestOf(cpu)).toMatchObject([{ latest: 0.5, at: cpu.steps[2], least: 0.1, most: 0.975 }]);
});

it.each([
  ["s", 0.012, "12.0 ms"],
  ["ratio", 0.108, "10.8 %"],
  ["bytes", 3 * 1024 ** 2, "3.0 MiB"],
  ["bytes/s", 2048, "2.0 KiB/s"],
  ["msg/s", 250_000, "250.0 k msg/s"],
  ["", 7.25, "7.25"],
])("shows %s in the digits of its kind", (unit, value, text) => {
  const { series } = sums({ series: [{ name: "a", values: [value], least: null, most: null }] });
  const scale = scaleOf({ unit, series });
  expect(`${scale.text(value)} ${scale.unit}`.trim()).toBe(text);
});

it("ends a time with a whole step, so that steps stay while time goes on", () => {
  const now = Date.UTC(2026, 2, 18, 14, 7, 30);
  expect(timeOf("1h", now)).toEqual({
    since: "2026-03-18T13:08:00.000Z",
    until: "2026-03-18T14:08:00.000Z",
  });
  expect(timeOf("7d", now).until).toBe("2026-03-18T15:00:00.000Z");
});
