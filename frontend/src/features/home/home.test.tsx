import { screen } from "@testing-library/react";

import HomePage from "./home-page";
import { aimOf, keptPromise, type Outcome } from "./kept";
import { stationsOf } from "./loop-strip";
import { waitingOf } from "./questions";

import { renderPage } from "@/testing/render";
import { allocation, overview, page, run, session } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

it("shows every system with its loads and its latest allocation", async () => {
  serve({
    "GET /api/v1/overview": ok({ results: [overview()] }),
    "GET /api/v1/session": ok(session()),
    "GET /api/v1/allocations": ok(page([allocation()])),
  });
  renderPage(<HomePage />, "/", "/");
  expect(
    await screen.findByRole("img", { name: "load of 3 brokers, highest S0 100 %" }),
  ).toBeInTheDocument();
  expect(screen.getByText("of 3 brokers, by the latest allocations")).toBeInTheDocument();
  expect(await screen.findByText("A-27 Base workload")).toBeInTheDocument();
  expect(await screen.findByRole("link", { name: "New system" })).toBeInTheDocument();
});

it("draws no command that this person may not give", async () => {
  serve({
    "GET /api/v1/overview": ok({ results: [] }),
    "GET /api/v1/session": ok(session({ allowed_commands: [] })),
  });
  renderPage(<HomePage />, "/", "/");
  expect(await screen.findByText(/There is none yet/)).toBeInTheDocument();
  expect(screen.queryByRole("link", { name: "New system" })).toBeNull();
});

describe("what the home page concludes", () => {
  it("says that stations without data have none", () => {
    const stations = stationsOf([overview()]);
    expect(stations.map((station) => station.note)).toEqual([
      "no agents yet",
      "6 topics",
      "1 of 1 current",
      "R-2041 succeeded",
      "none now",
      "none now",
      "none now",
      "none yet",
    ]);
  });

  it("counts agents, plans on their way, and promises kept", () => {
    const stations = stationsOf([overview()], {
      agents: { live: 5, all: 6 },
      inReview: 2,
      approved: 0,
      executing: 1,
      outcomes: { all: 4, measured: 3, kept: 2 },
    });
    const noteOf = (name: string) => stations.find((station) => station.name === name)?.note;
    expect(noteOf("Observe")).toBe("5 of 6 agents");
    expect(noteOf("Plan")).toBe("2 in review");
    expect(noteOf("Approve")).toBe("none now");
    expect(noteOf("Execute")).toBe("1 executing");
    expect(noteOf("Verify")).toBe("2 of 3 kept");
  });

  it("judges a promise only by what was measured", () => {
    const outcome = (before: number, after: number, measured: number | null): Outcome => ({
      plan: "p",
      name: "P-1",
      title: "New rates",
      kind: "allocation",
      system: "s",
      system_name: "Meridian",
      executed_at: "2026-03-18T14:00:00Z",
      promise: [{ name: "utility", unit: "", before, after }],
      measured_utility: measured,
    });
    expect(keptPromise(outcome(100, 110, null))).toBeNull();
    expect(keptPromise(outcome(100, 110, 109.5))).toBe(true);
    expect(keptPromise(outcome(100, 110, 101))).toBe(false);
    expect(keptPromise(outcome(110, 100, 95))).toBe(true);
    expect(keptPromise(outcome(110, 100, 80))).toBe(false);
    // A plan that moves links promises no utility: what is measured of that judges nothing of it.
    const promise = ["messages in flight", "traffic on links"].map((name) => ({
      ...{ name, unit: "", before: 10, after: 8 },
    }));
    const moves = { ...outcome(0, 0, 500), kind: "overlay", promise };
    expect(keptPromise(moves)).toBeNull();
    expect(aimOf(moves)?.name).toBe("traffic on links");
  });

  it("lists failures, moved models and systems never optimized", () => {
    const failed = run({ state: "failed", failure: "The worker died." });
    expect(
      waitingOf([
        overview({ id: "1", latest_run: failed }),
        overview({ id: "2", model_moved: true, model_version: 43 }),
        overview({ id: "3", latest_allocation: null, latest_run: null }),
        overview({ id: "4" }),
      ]).map((item) => item.verb),
    ).toEqual(["Open", "Optimize", "Optimize"]);
  });
});
