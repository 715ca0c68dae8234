import { act, screen, waitFor, within } from "@testing-library/react";

import AllocationPage from "./allocation-page";
import AllocationsPage from "./allocations-page";
import { byRank, scarcest, tally } from "./outcome";

import { hear } from "@/api/live";
import { plan, planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import {
  allocation,
  comparison,
  explained,
  load,
  optimizers,
  page,
  population,
  rate,
  run,
  session,
  standing,
  SYSTEM,
  system,
} from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const A = allocation();
const rows = [
  population(),
  population({ consumer_class: "c9", node: "S2", admitted: 34, price_of_one: 24.12 }),
  population({ consumer_class: "c18", scale: 100, admitted: 1500, value_of_one: 321.75 }),
];
const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  [`GET /api/v1/allocations/${A.id}`]: ok(A),
  [`GET /api/v1/allocations/${A.id}/rates`]: ok(page([rate()])),
  [`GET /api/v1/allocations/${A.id}/populations`]: ok(page(rows)),
  [`GET /api/v1/allocations/${A.id}/loads`]: ok(
    page([load(), load({ name: "S2", price: 0.1262 })]),
  ),
  [`GET /api/v1/allocations/${A.id}/comparison`]: ok(comparison()),
  "GET /api/v1/allocations": ok(page([A])),
  [`GET /api/v1/allocations/${A.id}/methods`]: ok({ upper_bound: null, standings: [standing()] }),
  [`GET /api/v1/allocations/${A.id}/explanation`]: (asked: Asked) => {
    const name = asked.query.get("consumer_class") ?? "";
    return ok(
      name === "c8"
        ? explained()
        : explained({ consumer_class: name, verdict: "pays", admitted: 1500, value: 321.75 }),
    );
  },
};

it("announces the runs of its own kind, and of this system", async () => {
  serve(answers);
  const told = (number: number, run_kind?: string, system = SYSTEM) => ({
    ...{ kind: "run", id: `told-${number}`, number, system, state: "running", attempt: 1 },
    ...{ method: "lrgp", progress: {}, cancel_requested: false, failure: "", run_kind },
  });
  const at = `/systems/${SYSTEM}/allocations`;
  const { queries } = renderPage(<AllocationsPage />, "/systems/:systemId/allocations", at);
  act(() => {
    hear(queries, told(1, "allocation"));
    hear(queries, told(2, "study"));
    hear(queries, told(3));
    hear(queries, told(4, "allocation", "another system"));
  });
  expect(await screen.findByRole("link", { name: "R-1" })).toBeInTheDocument();
  for (const name of ["R-2", "R-3", "R-4"]) {
    expect(screen.queryByRole("link", { name })).toBeNull();
  }
  act(() => hear(queries, { kind: "snapshot", runs: [] }));
});

describe("an allocation", () => {
  it("shows figures, rates, classes, loads and the comparison, all from the answers", async () => {
    serve(answers);
    renderPage(<AllocationPage />, "/allocations/:id", `/allocations/${A.id}`);
    expect(await screen.findByText("1,329,009.2")).toBeInTheDocument();
    expect(screen.getByText("0.0003")).toBeInTheDocument();
    expect(await screen.findByText("1 full, 1 in part, 1 refused")).toBeInTheDocument();
    expect(
      await screen.findByRole("img", {
        name: "rate 10.06 between 10.00 and 1,000 msg/s, before 10.00",
      }),
    ).toBeInTheDocument();
    expect(await screen.findByRole("heading", { name: "Against A-26" })).toBeInTheDocument();
    expect(
      screen.getByText(
        /Cause: cpu of S2 was raised from 780,000 to 900,000 unit\/s. S1 is now the/,
      ),
    ).toBeInTheDocument();
    expect(screen.getByText("in force, model v41")).toBeInTheDocument();
    expect(screen.getByText("+1.59 %")).toBeInTheDocument();
    expect(screen.getByText("2.3 times the price at S2")).toBeInTheDocument();
  });

  it("explains the class that one picks", async () => {
    serve(answers);
    const { user } = renderPage(<AllocationPage />, "/allocations/:id", `/allocations/${A.id}`);
    expect(await screen.findByRole("heading", { name: "Why was c8 refused?" })).toBeInTheDocument();
    expect(await screen.findByText(/takes 191.1 cpu unit\/s/)).toBeInTheDocument();
    const table = within(screen.getByRole("table", { name: "Consumers by class" }));
    await user.click(table.getByText("c18"));
    expect(screen.getByRole("heading", { name: "Why was c18 admitted?" })).toBeInTheDocument();
    expect(await screen.findByText(/brings more than it costs, so all 1,500/)).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Refused 1" }));
    expect(table.queryByText("c18")).toBeNull();
  });
});

describe("optimize", () => {
  const path = "/systems/:systemId/allocations";
  const at = `/systems/${SYSTEM}/allocations`;

  it("asks for a run with the method's parameters and goes to it", async () => {
    const asked = serve({
      ...answers,
      "GET /api/v1/optimizers": ok(optimizers),
      "POST /api/v1/allocations": { status: 202, body: run({ state: "queued" }) },
    });
    const { user, router } = renderPage(<AllocationsPage />, path, at);
    await user.click(await screen.findByRole("button", { name: "Optimize" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Optimize Base workload" }));
    await user.click(await dialog.findByRole("button", { name: /Show the 1 parameter / }));
    await user.clear(dialog.getByLabelText("Max iterations"));
    await user.type(dialog.getByLabelText("Max iterations"), "50");
    await user.clear(dialog.getByLabelText("Seed"));
    await user.type(dialog.getByLabelText("Seed"), "7");
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${run().id}`));
    expect(asked.find((one: Asked) => one.method === "POST")?.body).toEqual({
      system: SYSTEM,
      method: "lrgp",
      parameters: { max_iterations: 50 },
      seed: 7,
      time_limit_s: null,
      cold: false,
    });
  });

  it("shows why the server refused", async () => {
    serve({
      ...answers,
      "GET /api/v1/optimizers": ok(optimizers),
      "POST /api/v1/allocations": problem(409, "nothing_to_optimize", "It has no topics yet."),
    });
    const { user } = renderPage(<AllocationsPage />, path, `${at}?optimize=1`);
    await user.click(await screen.findByRole("button", { name: "Start run" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("It has no topics yet.");
  });

  it("is not offered to those who may not start runs", async () => {
    serve({
      ...answers,
      [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })),
    });
    renderPage(<AllocationsPage />, path, at);
    expect(await screen.findByRole("link", { name: "A-27" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Optimize" })).toBeNull();
  });
});

describe("what is said about rows", () => {
  it("ranks, tallies and finds the scarcest", () => {
    expect(byRank(rows).map((row) => row.consumer_class)).toEqual(["c18", "c8", "c9"]);
    expect(tally(rows)).toEqual({ all: 1, part: 1, refused: 1 });
    expect(scarcest([load({ price: 0 })])).toBeNull();
  });
});

describe("making a plan", () => {
  const at = `/allocations/${A.id}`;
  const mayPlan = {
    ...answers,
    [`GET /api/v1/allocations/${A.id}`]: ok(allocation({ allowed_commands: ["rerun", "plan"] })),
  };

  it("goes to the draft that it made", async () => {
    const asked = serve({
      ...mayPlan,
      "GET /api/v1/plans": ok(page([plan({ state: "executed" })])),
      [`POST /api/v1/allocations/${A.id}/plan`]: { status: 201, body: planDetail() },
    });
    const { user, router } = renderPage(<AllocationPage />, "/allocations/:id", at);
    expect(await screen.findByRole("link", { name: "P-118" })).toBeInTheDocument();
    expect(screen.queryByText("proposal, not in force")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Make plan" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/plans/${planDetail().id}`));
    expect(asked.filter((one) => one.method === "POST")).toHaveLength(1);
  });

  it("says why there is nothing to plan, and offers it only where it is allowed", async () => {
    serve({
      ...mayPlan,
      [`POST /api/v1/allocations/${A.id}/plan`]: problem(
        409,
        "nothing_to_change",
        "A-27 is not worth a change. It would gain 0.01 %, the threshold is 0.1 %.",
      ),
    });
    const { user, unmount } = renderPage(<AllocationPage />, "/allocations/:id", at);
    await user.click(await screen.findByRole("button", { name: "Make plan" }));
    expect(await screen.findByText(/the threshold is 0.1 %/)).toBeInTheDocument();
    unmount();
    serve(answers);
    renderPage(<AllocationPage />, "/allocations/:id", at);
    expect(await screen.findByRole("button", { name: "Run again" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Make plan" })).toBeNull();
  });
});
