import { screen, within } from "@testing-library/react";

import HomePage from "./home-page";
import { stationsOf } from "./loop-strip";
import { LatelyQuestion, waitingOf } from "./questions";

import { aimOf, tally, VERDICTS } from "@/components/ui/verdicts";
import { outcome, outcomes, plan } from "@/testing/plan-samples";
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
  expect(screen.getByText("of 3 brokers, computed for what is in force")).toBeInTheDocument();
  expect(await screen.findByText("A-27 Base workload")).toBeInTheDocument();
  expect(await screen.findByRole("link", { name: "New system" })).toBeInTheDocument();
});

it("counts no proposal among the brokers within their capacity", async () => {
  const loads = { basis: "proposed" as const, detail: "Computed for A-27.", allocation: "a" };
  const proposed = overview({ id: "2", name: "Draft", allocation_in_force: null, loads });
  const full = overview({
    loads: { basis: "measured", detail: "", allocation: null },
    node_loads: [{ name: "S0", utilisation: 1.4 }],
  });
  serve({
    "GET /api/v1/overview": ok({ results: [full, proposed] }),
    "GET /api/v1/session": ok(session()),
    "GET /api/v1/allocations": ok(page([allocation()])),
  });
  renderPage(<HomePage />, "/", "/");
  expect(await screen.findByText("of 1 broker, measured")).toBeInTheDocument();
  expect(screen.getByText("Draft: only proposed, so not counted.")).toBeInTheDocument();
  expect(screen.getByText("Only proposed")).toBeInTheDocument();
  expect(screen.getByText("1 broker over capacity")).toBeInTheDocument();
});

it("counts every plan that waits, also those beyond the list", async () => {
  serve({
    "GET /api/v1/overview": ok({ results: [overview()] }),
    "GET /api/v1/session": ok(session()),
    "GET /api/v1/allocations": ok(page([allocation()])),
    "GET /api/v1/plans": ok({ ...page([plan()]), count: 7 }),
  });
  renderPage(<HomePage />, "/", "/");
  const question = await screen.findByRole("region", { name: "What waits for me?" });
  expect(await within(question).findByText("7")).toBeInTheDocument();
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

it("shows the server's verdict with its evidence, and helps nobody without one", async () => {
  serve({ "GET /api/v1/plans/outcomes": ok(outcomes([outcome()])) });
  renderPage(<LatelyQuestion systems={[]} />, "/", "/");
  expect(await screen.findByText("Cannot be told")).toBeInTheDocument();
  expect(screen.getByText("Cannot be told, because no change was promised.")).toBeInTheDocument();
  expect(screen.queryByText("Helped")).toBeNull();
  expect(screen.queryByText(/kept the promise/)).toBeNull();
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
      outcomes: { all: 4, judged: 3, kept: 2 },
    });
    const noteOf = (name: string) => stations.find((station) => station.name === name)?.note;
    expect(noteOf("Observe")).toBe("5 of 6 agents");
    expect(noteOf("Plan")).toBe("2 in review");
    expect(noteOf("Approve")).toBe("none now");
    expect(noteOf("Execute")).toBe("1 executing");
    expect(noteOf("Verify")).toBe("2 of 3 kept");
  });

  it("counts only plans with a verdict as kept or not", () => {
    const rows = (["helped", "kept", "partly", "missed", "too_early", "unknown"] as const).map(
      (judged) => outcome({ judged }),
    );
    expect(tally(rows)).toEqual({ judged: 4, kept: 2 });
    expect(VERDICTS.unknown.word).toBe("Cannot be told");
    const promise = ["messages in flight", "traffic on links"].map((name) => ({
      ...{ name, unit: "", before: 10, after: 8 },
    }));
    expect(aimOf(outcome({ kind: "overlay", promise }))?.name).toBe("traffic on links");
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
