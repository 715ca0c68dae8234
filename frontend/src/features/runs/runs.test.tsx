import { screen, waitFor, within } from "@testing-library/react";

import RunPage from "./run-page";
import RunsPage from "./runs-page";

import { renderPage } from "@/testing/render";
import { page, run, runDetail, session, system } from "@/testing/samples";
import { ok, serve, type Asked } from "@/testing/server";

const R = runDetail({
  state: "running",
  allocation: null,
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
      runDetail({ state: "failed", allocation: null, failure: "The worker died twice." }),
    ),
  });
  renderPage(<RunPage />, "/runs/:id", `/runs/${R.id}`);
  expect(await screen.findByRole("alert")).toHaveTextContent("The worker died twice.");
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
