/** What the system's page says of the model and the agents, and the plan that it makes. */
import { screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { ModelStatePanel } from "./model-state-panel";

import { renderPage } from "@/testing/render";
import { ok, serve } from "@/testing/server";

const differences = {
  total: 2,
  results: [
    {
      kind: "flow",
      name: "tides",
      broker: null,
      in_force: "from a, reliable",
      model: "from b, reliable",
      differs: true,
      limit: 40,
      unit: "msg/s",
    },
    {
      kind: "class",
      name: "terns",
      broker: "d",
      in_force: "not served",
      model: "receives tides",
      differs: true,
      limit: null,
      unit: "consumers",
    },
  ],
};

const show = (mayPlan: boolean) =>
  renderPage(
    <ModelStatePanel system="s1" modelVersion={7} mayPlan={mayPlan} />,
    "/systems/:systemId",
    "/systems/s1",
  );

test("shows what is in force beside the model and makes the plan after asking", async () => {
  const asked = serve({
    "GET /api/v1/model-state": ok(differences),
    "POST /api/v1/plans": { status: 201, body: { id: "p1" } },
  });
  const { user, router } = show(true);
  const row = await screen.findByRole("row", { name: /^tides/ });
  expect(row).toHaveTextContent("from a, reliable");
  expect(row).toHaveTextContent("from b, reliable");
  expect(screen.getByRole("row", { name: /terns at d/ })).toHaveTextContent("not served");
  await user.click(screen.getByRole("button", { name: "Make a plan" }));
  expect(asked.filter(({ method }) => method === "POST")).toHaveLength(0);
  await user.click(await screen.findByRole("button", { name: "Make the plan" }));
  await screen.findByText("elsewhere");
  expect(router.state.location.pathname).toBe("/plans/p1");
  expect(asked.find(({ method }) => method === "POST")?.body).toMatchObject({ system: "s1" });
});

test("says so where agents do what the model asks for, and offers no plan", async () => {
  serve({ "GET /api/v1/model-state": ok({ total: 0, results: [] }) });
  show(true);
  expect(await screen.findByText("Agents carry and serve what the model asks for.")).toBeVisible();
  expect(screen.queryByRole("button", { name: "Make a plan" })).toBeNull();
});

test("offers no plan to whom may not edit", async () => {
  serve({ "GET /api/v1/model-state": ok(differences) });
  show(false);
  await screen.findByRole("row", { name: /^tides/ });
  expect(screen.queryByRole("button", { name: "Make a plan" })).toBeNull();
});
