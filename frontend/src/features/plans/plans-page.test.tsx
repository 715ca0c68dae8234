import { screen, waitFor, within } from "@testing-library/react";

import PlansPage from "./plans-page";

import { EXECUTION, plan } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { page, system } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const open = (at = "/plans") => renderPage(<PlansPage />, "/plans", at);
const systems = { "GET /api/v1/systems": ok(page([system()])) };

it("lists plans with state, author, radius, approvals and progress", async () => {
  serve({
    ...systems,
    "GET /api/v1/plans": ok(
      page([
        plan(),
        plan({
          id: "other",
          name: "P-117",
          state: "executed",
          execution: {
            id: EXECUTION,
            state: "succeeded",
            actions_done: 3,
            actions_total: 3,
            actions_to_undo: 0,
            actions_undone: 0,
          },
        }),
      ]),
    ),
  });
  open();
  expect(await screen.findByRole("link", { name: "P-118" })).toBeInTheDocument();
  const table = within(screen.getByRole("table", { name: "Plans" }));
  expect(table.getByText("Pending review")).toBeInTheDocument();
  expect(table.getAllByText("1 of 2")).toHaveLength(2);
  expect(table.getAllByText("2 of 3")).toHaveLength(2);
  expect(table.getByText("3 of 3")).toBeInTheDocument();
});

it("says of a plan under way that it is paused", async () => {
  const counts = { actions_done: 1, actions_total: 3, actions_to_undo: 0, actions_undone: 0 };
  const paused = plan({
    state: "executing",
    execution: { id: EXECUTION, state: "paused", ...counts },
  });
  serve({ ...systems, "GET /api/v1/plans": ok(page([paused])) });
  open();
  expect(await screen.findByText("Paused")).toBeInTheDocument();
  expect(screen.queryByText("Executing")).toBeNull();
});

it("asks the server for what each tab shows", async () => {
  const asked = serve({ ...systems, "GET /api/v1/plans": ok(page([])) });
  const { user, router } = open();
  await waitFor(() => expect(asked.some((one) => one.path === "/api/v1/plans")).toBe(true));
  const last = () => asked.filter((one) => one.path === "/api/v1/plans").at(-1)?.query;
  expect(last()?.getAll("state")).toContain("pending_review");
  await user.click(screen.getByRole("button", { name: "Waiting for me" }));
  await waitFor(() => expect(last()?.get("waiting_for")).toBe("me"));
  expect(router.state.location.search).toBe("?tab=mine");
  expect(await screen.findByText(/Nothing waits for your decision/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "All" }));
  await waitFor(() => expect(last()?.getAll("state")).toEqual([]));
  expect(await screen.findByText(/A plan comes from an allocation/)).toBeInTheDocument();
});

it("finds plans by what is typed", async () => {
  const asked = serve({ ...systems, "GET /api/v1/plans": ok(page([plan()])) });
  const { user } = open();
  await user.type(await screen.findByRole("searchbox", { name: "Find plans" }), "paris");
  await waitFor(() => expect(asked.at(-1)?.query.get("search")).toBe("paris"));
});

it("says what failed", async () => {
  serve({
    ...systems,
    "GET /api/v1/plans": problem(500, "internal", "The database is away."),
  });
  open();
  expect(await screen.findByRole("alert")).toHaveTextContent("The database is away.");
});
