import { screen, waitFor, within } from "@testing-library/react";

import PlanPage from "./plan-page";

import type { CandidateDetail } from "@/api/evaluations";
import type { PlanDetail } from "@/api/plans";
import { BETTER, candidateDetail, systemTraffic } from "@/testing/evaluation-samples";
import { answers } from "@/testing/plan-answers";
import { PLAN, planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { broker, page, SYSTEM } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

const shift = (index: number, j: string, k: string): PlanDetail["steps"][number] => ({
  index,
  actions: [
    {
      index: 0,
      kind: "shift_link",
      title: `Shift link S1-${j} to S1-${k}`,
      undo_title: `Shift link S1-${k} to S1-${j}`,
      brokers: ["S1", j, k],
      target: { i: "S1", j, k },
      before: null,
      after: null,
      effect: "",
      publishers: null,
    },
  ],
});

const plan = planDetail({
  kind: "overlay",
  source: { kind: "overlay_candidate", id: BETTER, name: "O-12 Minimum cost tree" },
  steps: [shift(0, "S0", "S2"), shift(1, "S2", "S3")],
  changes: [],
});

const given = (change: Partial<CandidateDetail> = {}) => ({
  ...answers(plan),
  "GET /api/v1/brokers": ok(
    page(["S0", "S1", "S2", "S3"].map((name) => broker({ id: `id-${name}`, name }))),
  ),
  [`GET /api/v1/overlay-candidates/${BETTER}`]: ok(candidateDetail(change)),
  [`GET /api/v1/systems/${SYSTEM}/traffic`]: ok(systemTraffic()),
});

const show = (more: Parameters<typeof serve>[0] = given()) => {
  const asked = serve(more);
  return { asked, ...renderPage(<PlanPage />, "/plans/:id", `/plans/${PLAN}`) };
};

it("shows links and brokers before and after, against the bound, step by step", async () => {
  const { user } = show();
  const links = await screen.findByRole("table", { name: "Links before and after" });
  const moved = await within(links).findByRole("row", { name: /S1 . S0 – S1 . S1 – S3 20,400/ });
  expect(moved).toHaveTextContent("5.1");
  expect(moved).toHaveTextContent("4.2");
  expect(moved).toHaveTextContent("\u22120.9");
  expect(moved).toHaveTextContent("1, 2");
  const brokers = screen.getByRole("table", { name: "Brokers before and after" });
  expect(within(brokers).getByRole("row", { name: /S0/ })).toHaveTextContent("\u221257");
  expect(screen.getByText("1 broker keeps the load that it has.")).toBeVisible();
  expect(screen.getByText("2 steps, at least 1 is needed")).toBeVisible();
  expect(screen.getByText("at most 100 % above")).toBeVisible();
  expect(screen.getByText("3,252")).toBeVisible();
  expect(screen.getByRole("img", { name: /2 steps, at least 1 is needed/ })).toBeInTheDocument();
  await user.keyboard("]");
  expect(
    await screen.findByRole("img", {
      name: /after step 1\. Links: 2 stay, 1 on their way, 1 still to come/,
    }),
  ).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Table" }));
  const now = screen.getByRole("table", { name: "Links at this stop" });
  expect(within(now).getByRole("row", { name: /S1 – S2 on its way/ })).toBeVisible();
});

it("offers to plan again from where a broken-off execution left the overlay", async () => {
  const { user, asked, router } = show({
    ...given({ allowed_commands: ["plan_again"] }),
    [`GET /api/v1/plans/${PLAN}`]: ok({ ...plan, state: "stale" }),
    [`POST /api/v1/overlay-candidates/${BETTER}/plan-again`]: {
      status: 201,
      body: planDetail({ id: "next-plan" }),
    },
  });
  await user.click(await screen.findByRole("button", { name: "Plan again from here" }));
  await user.click(await screen.findByRole("button", { name: "Plan again" }));
  await waitFor(() => expect(router.state.location.pathname).toBe("/plans/next-plan"));
  expect(asked.filter(({ method }) => method === "POST")).toHaveLength(1);
});
