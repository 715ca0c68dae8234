import { screen } from "@testing-library/react";

import HomePage from "./home-page";
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
      "none yet",
      "none yet",
      "none yet",
      "none yet",
    ]);
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
