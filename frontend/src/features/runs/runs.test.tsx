import { screen, waitFor, within } from "@testing-library/react";

import RunPage from "./run-page";
import RunsPage from "./runs-page";

import { renderPage } from "@/testing/render";
import { page, run, runDetail, session, system } from "@/testing/samples";
import { ok, serve, type Asked } from "@/testing/server";

const UNANSWERED = { allocation: null, computed: null, answer: null };
const R = runDetail({
  state: "running",
  ...UNANSWERED,
  finished_at: null,
  result_hash: null,
  allowed_commands: ["cancel"],
  progress: { iteration: 40, utility: 9, best_utility: 12 },
});
const path = `/api/v1/runs/${R.id}`;

it("shows how far a run is and cancels it after asking", async () => {
  const asked = serve({
    "GET /api/v1/session": ok(session()),
    [`GET ${path}`]: ok(R),
    [`POST ${path}/cancel`]: { status: 202, body: run({ cancel_requested: true }) },
  });
  const { user } = renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  expect(await screen.findByText("Running")).toBeInTheDocument();
  expect(screen.getByText("of at most 250")).toBeInTheDocument();
  expect(screen.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "16");
  expect(screen.queryByRole("button", { name: "Run again" })).toBeNull();
  await user.click(screen.getByRole("button", { name: "Cancel run" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Cancel run R-2041" }));
  await user.click(dialog.getByRole("button", { name: "Cancel run" }));
  await waitFor(() => expect(asked.some((one: Asked) => one.path === `${path}/cancel`)).toBe(true));
});

it("says why a run failed", async () => {
  serve({
    [`GET ${path}`]: ok(
      runDetail({
        state: "failed",
        ...UNANSWERED,
        failure: "The worker died twice.",
      }),
    ),
  });
  renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  expect(await screen.findByRole("alert")).toHaveTextContent("The worker died twice.");
});

it("lets the kind of computation say why nothing fits", async () => {
  const noRoom = {
    ...{ topic: "market.depth", sentence: "", next_moves: ["Unpin md-7."] },
    ...{ publishers: 1, rate_per_s: 200, need_brokers: null, rooms: [] },
    without_room: [{ name: "md-7", rate_per_s: 200, group: null, pinned_to: "q-1" }],
  };
  serve({
    [`GET ${path}`]: ok(
      runDetail({
        ...{ kind: "placement", state: "infeasible", infeasibility: noRoom, ...UNANSWERED },
        failure: "1 publisher of market.depth with 200 msg/s finds no room.",
      }),
    ),
  });
  renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  expect(await screen.findByText("No placement fits.")).toBeInTheDocument();
  expect(await screen.findByRole("table", { name: "Who has no room" })).toBeInTheDocument();
  expect(screen.queryByRole("heading", { name: "What is short" })).toBeNull();
});

it("says what is short, who loads it and what would help where nothing fits", async () => {
  serve({
    [`GET ${path}`]: ok(
      runDetail({
        state: "infeasible",
        ...UNANSWERED,
        failure: "n cannot carry the minimum rates: 1,000 cpu short",
        infeasibility: {
          shortages: [
            {
              kind: "node",
              id: "n",
              object: "55555555-5555-4555-8555-555555555551",
              resource: "cpu",
              load: 2000,
              capacity: 1000,
              short: 1000,
              flows: [
                { flow: "orders", object: null, load: 1500 },
                { flow: "quotes", object: null, load: 500 },
              ],
            },
            {
              kind: "link",
              id: "n-m",
              object: null,
              resource: null,
              load: 8,
              capacity: 7,
              short: 1,
              flows: [{ flow: "orders", object: null, load: 8 }],
            },
          ],
          relaxations: [
            {
              kind: "all_rates",
              sentence: "Lower every minimum rate to 50 % of what it is.",
              changes: [
                { kind: "flow", id: "orders", object: null, resource: null, before: 10, after: 5 },
              ],
              change_count: 1,
            },
            {
              kind: "few_rates",
              sentence: "Lower the minimum rate of orders from 10 to 2.5 (messages per second).",
              changes: [
                {
                  kind: "flow",
                  id: "orders",
                  object: "55555555-5555-4555-8555-555555555552",
                  resource: null,
                  before: 10,
                  after: 2.5,
                },
              ],
              change_count: 1,
            },
          ],
        },
      }),
    ),
  });
  renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  const table = within(await screen.findByRole("table", { name: "What is short" }));
  const [first, second] = table.getAllByRole("row").slice(1);
  expect(first).toHaveTextContent(/cpu of n\s*2,000\s*1,000\s*1,000\s*orders 75 %, quotes 25 %/);
  expect(second).toHaveTextContent(/link n-m/);
  expect(screen.getByText("Lower every minimum rate to 50 % of what it is.")).toBeInTheDocument();
  expect(table.getByRole("link", { name: "n" })).toHaveAttribute(
    "href",
    `/systems/${R.system}/brokers/55555555-5555-4555-8555-555555555551`,
  );
  expect(table.queryByRole("link", { name: "n-m" })).toBeNull();
  const rates = within(screen.getByRole("table", { name: "A few minimum rates lower" }));
  expect(rates.getByRole("row", { name: /orders 10 2.500 −75/ })).toBeInTheDocument();
  expect(rates.getByRole("link", { name: "orders" })).toHaveAttribute(
    "href",
    `/systems/${R.system}/topics/55555555-5555-4555-8555-555555555552`,
  );
});

it("lists runs and filters by state on the server", async () => {
  const asked = serve({
    "GET /api/v1/runs": ok(page([run()])),
    "GET /api/v1/systems": ok(page([system()])),
  });
  const { user } = renderPage(<RunsPage />, "/runs", "/runs");
  expect(await screen.findByRole("link", { name: "R-2041" })).toBeInTheDocument();
  await user.selectOptions(screen.getByLabelText("State"), "failed");
  await waitFor(() => expect(asked.at(-1)?.query.getAll("state")).toEqual(["failed"]));
});

it("opens the answer of whatever kind, and shows figures that the kind has", async () => {
  const ID = "99999999-9999-4999-8999-999999999999";
  const fit = { kind: "calibration", id: ID, name: "F-3" } as const;
  const calibration = runDetail({
    ...{ ...UNANSWERED, kind: "calibration", answer: fit, progress: {} },
  } as const);
  serve({ [`GET ${path}`]: ok(calibration) });
  const { unmount } = renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  expect(await screen.findByRole("link", { name: "Open fit" })).toHaveAttribute(
    "href",
    `/systems/${R.system}/resource-models?fit=${ID}`,
  );
  expect(screen.getByRole("link", { name: "Samples as JSON lines" })).toHaveAttribute(
    "download",
    "R-2041.jsonl",
  );
  expect(screen.queryByText("Iterations")).toBeNull();
  expect(screen.queryByText("Convergence")).toBeNull();
  unmount();
  serve({
    [`GET ${path}`]: ok({ ...calibration, answer: { kind: "study", id: ID, name: "W-1" } }),
  });
  renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  expect(await screen.findByRole("link", { name: "Open study" })).toHaveAttribute(
    "href",
    `/studies/${ID}`,
  );
});

it("says what each run computes and filters by that", async () => {
  const asked = serve({
    "GET /api/v1/runs": ok(page([run(), run({ id: "2", number: 2, kind: "overlay" })])),
    "GET /api/v1/systems": ok(page([system()])),
  });
  const { user } = renderPage(<RunsPage />, "/runs", "/runs");
  expect(await screen.findByRole("row", { name: /R-2041 Allocation/ })).toBeInTheDocument();
  expect(screen.getByRole("row", { name: /R-2 Overlay evaluation/ })).toBeInTheDocument();
  await user.selectOptions(screen.getByLabelText("Kind"), "What-if study");
  await waitFor(() => expect(asked.at(-1)?.query.get("kind")).toBe("study"));
});
