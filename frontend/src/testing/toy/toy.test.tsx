/** A feature is registered by its manifest alone: no other file knows that there are toys. */
import { spotlight } from "@mantine/spotlight";
import { QueryClient } from "@tanstack/react-query";
import { act, screen, waitFor, within } from "@testing-library/react";
import { Suspense } from "react";
import { matchRoutes } from "react-router";
import { vi } from "vitest";

import { manifest, TOY_RUNS, TOYS } from "./manifest";

import { hear } from "@/api/live";
import { gathered } from "@/app/manifests";
import { Nav } from "@/app/nav";
import { Palette } from "@/app/palette";
import { makeRoutes } from "@/app/router";
import RecomputationPage from "@/features/recomputation/recomputation-page";
import RunPage from "@/features/runs/run-page";
import RunsPage from "@/features/runs/runs-page";
import { register } from "@/lib/manifest";
import { renderPage } from "@/testing/render";
import { page, run, runDetail, session, system, SYSTEM } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

const TOY = "99999999-9999-4999-8999-999999999990";
const toyRun = {
  // The schema knows the kinds that are installed.
  ...{ kind: "toy" as never, answer: { kind: "toy" as never, id: TOY, name: "T-1" } },
  ...{ id: TOY, number: 7, progress: { done: 3, total: 4 } },
};
const answers = {
  "GET /api/v1/session": ok(session()),
  "GET /api/v1/systems": ok(page([system()])),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/plans": ok(page([])),
  "GET /api/v1/agents": ok(page([])),
  "GET /api/v1/brokers": ok(page([])),
  "GET /api/v1/runs": ok(page([run(), run(toyRun)])),
  [`GET /api/v1/runs/${TOY}`]: ok(runDetail(toyRun)),
  "GET /api/v1/recomputation/schedules": ok(page([])),
  "GET /api/v1/recomputation/triggers": ok(page([])),
  "GET /api/v1/recomputation/firings": ok(page([])),
};

beforeAll(() => register([...gathered, manifest]));
afterAll(() => register(gathered));

it("is in the navigation and on a page of its own", async () => {
  serve(answers);
  const { unmount } = renderPage(<Nav />, "*", "/toys/1");
  const entry = await screen.findByRole("link", { name: "Toys" });
  expect(entry).toHaveAttribute("href", `/systems/${SYSTEM}/toys`);
  expect(entry).toHaveAttribute("aria-current", "page");
  unmount();
  const Page = matchRoutes(makeRoutes(), `/systems/${SYSTEM}/toys`)?.at(-1)?.route.Component;
  renderPage(<Suspense>{Page ? <Page /> : null}</Suspense>, "*", `/systems/${SYSTEM}/toys`);
  expect(await screen.findByRole("heading", { name: "A page of toys" })).toBeInTheDocument();
});

it("is in the palette", async () => {
  serve(answers);
  const { user, router } = renderPage(<Palette onKeys={() => undefined} />, "*", "/");
  act(() => spotlight.open());
  await user.type(await screen.findByRole("textbox", { name: "Go to or do anything" }), "toys");
  await user.click(await screen.findByRole("button", { name: /Toys/ }));
  expect(router.state.location.pathname).toBe(`/systems/${SYSTEM}/toys`);
});

it("has its word among the runs, and their filter", async () => {
  const asked = serve(answers);
  const { user } = renderPage(<RunsPage />, "/runs", "/runs");
  expect(await screen.findByRole("row", { name: /R-7 Toy train/ })).toBeInTheDocument();
  await user.selectOptions(screen.getByLabelText("Kind"), "Toy train");
  await waitFor(() => expect(asked.at(-1)?.query.get("kind")).toBe("toy"));
});

it("has its figures and its link on the page of a run", async () => {
  serve(answers);
  renderPage(<RunPage />, "/runs/:id", `/runs/${TOY}`);
  expect(await screen.findByRole("link", { name: "Open toy" })).toHaveAttribute(
    "href",
    `/toys/${TOY}`,
  );
  expect(screen.getByText("Carriages")).toBeInTheDocument();
  expect(screen.getByText("of 4")).toBeInTheDocument();
});

it("is computed again by schedules, by its own methods", async () => {
  serve(answers);
  const at = `/systems/${SYSTEM}/recomputation`;
  const { user } = renderPage(<RecomputationPage />, "/systems/:systemId/recomputation", at);
  await user.click(await screen.findByRole("button", { name: "New schedule" }));
  const dialog = within(await screen.findByRole("dialog", { name: "New schedule" }));
  await user.selectOptions(dialog.getByLabelText(/^Recomputes/), "The toys");
  expect(dialog.getByText("Every train is built again.")).toBeInTheDocument();
  expect(await dialog.findByRole("option", { name: "Of wood" })).toBeInTheDocument();
});

it("freshens its branch by its news, and by those of its runs", () => {
  const queries = new QueryClient();
  const invalidate = vi.spyOn(queries, "invalidateQueries");
  act(() => hear(queries, { kind: "toy", id: "1" }));
  expect(invalidate).toHaveBeenCalledWith({ queryKey: TOYS });
  const told = { id: "toy run", number: 7, system: SYSTEM, method: "wood", attempt: 1 };
  const more = { progress: {}, cancel_requested: false, failure: "", state: "running" };
  act(() => hear(queries, { kind: "run", run_kind: "study", ...told, ...more }));
  expect(invalidate).not.toHaveBeenCalledWith({ queryKey: TOY_RUNS });
  act(() => hear(queries, { kind: "run", run_kind: "toy", ...told, ...more, state: "failed" }));
  expect(invalidate).toHaveBeenCalledWith({ queryKey: TOY_RUNS });
  act(() => hear(queries, { kind: "snapshot", runs: [] }));
});
