import { screen } from "@testing-library/react";

import { dayBars } from "./day-bars";
import { DayPanel } from "./day-panel";

import type { FilteringCell } from "@/api/mappings";
import { renderPage } from "@/testing/render";
import { SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const FRAME = { left: 0, right: 960, top: 0, bottom: 100 };
const NOW = new Date("2026-03-18T14:07:00Z");

const cell = (at: string, change: Partial<FilteringCell> = {}): FilteringCell => ({
  at,
  measured_s: 900,
  cost: 200,
  transport_cost: 50,
  messaging_cost: 150,
  unwanted_per_s: 150,
  dropped_per_s: 200,
  wanted_per_s: 1_000,
  ...change,
});

describe("the bars of a day", () => {
  it("stand where their quarter is, each layer as high as what it costs", () => {
    const cells = [
      cell("2026-03-18T13:45:00Z"),
      cell("2026-03-18T14:00:00Z", { cost: 100, transport_cost: 100, messaging_cost: 0 }),
    ];
    const day = dayBars(cells, FRAME, NOW);
    expect(day.bars.map(({ x }) => x)).toEqual([940, 950]);
    const [first, second] = day.bars;
    const high = day.ticks.at(-1)?.cost ?? 0;
    expect(high).toBeGreaterThanOrEqual(200);
    expect(first?.transport.height).toBeCloseTo((50 / high) * 100);
    expect((first?.messaging.height ?? 0) + 1).toBeCloseTo((150 / high) * 100);
    expect((first?.messaging.y ?? 0) + (first?.messaging.height ?? 0) + 1).toBeCloseTo(
      first?.transport.y ?? 0,
    );
    expect(second?.messaging.height).toBe(0);
    expect(second?.transport.y).toBeCloseTo(100 - (100 / high) * 100);
  });

  it("leave out what is older than a day", () => {
    expect(dayBars([cell("2026-03-17T14:00:00Z")], FRAME, NOW).bars).toEqual([]);
    expect(dayBars([cell("2026-03-17T14:15:00Z")], FRAME, NOW).bars).toHaveLength(1);
  });

  it("have an axis also where nothing was filtered", () => {
    const idle = cell("2026-03-18T14:00:00Z", { cost: 0, transport_cost: 0, messaging_cost: 0 });
    const day = dayBars([idle], FRAME, NOW);
    expect(day.bars[0]?.transport.height).toBe(0);
    expect(day.ticks.every(({ y }) => Number.isFinite(y))).toBe(true);
  });
});

const open = (isQuiet = false) =>
  renderPage(<DayPanel system={SYSTEM} isQuiet={isQuiet} />, "/", "/");

describe("filtering over the day", () => {
  it("is drawn with its latest and its dearest quarter in words", async () => {
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const cells = [cell(at(60), { cost: 40_000 }), cell(at(15), { cost: 12_500 })];
    serve({ "GET /api/v1/filtering": ok({ because: "", cells }) });
    open();
    const picture = await screen.findByRole("img");
    expect(picture).toHaveAccessibleName(/Cost of filtering: 12,500 work\/s in the latest/);
    expect(picture).toHaveAccessibleName(/at most 40,000 work\/s from/);
  });

  it("says why there is nothing, or is not there", async () => {
    const because = "No agent of Quarry measured what its topics send in the last day.";
    serve({ "GET /api/v1/filtering": ok({ because, cells: [] }) });
    const { unmount } = open();
    expect(await screen.findByText(because)).toBeVisible();
    unmount();
    open(true);
    expect(screen.queryByText(because)).not.toBeInTheDocument();
  });

  it("says that it could not be read", async () => {
    serve({ "GET /api/v1/filtering": problem(500, "internal", "The database is away.") });
    open();
    expect(await screen.findByText(/The database is away/)).toBeVisible();
  });
});
