import { screen, within } from "@testing-library/react";

import EvaluationPage from "./evaluation-page";
import { endsOf } from "./make-plan";
import { gapWords, messageScale, scaled, troubleOf } from "./candidate-words";

import type { Candidate, Evaluation } from "@/api/evaluations";
import {
  candidate,
  candidateDetail,
  evaluation,
  EVALUATION,
  BETTER,
  systemTraffic,
  today,
  TODAY,
} from "@/testing/evaluation-samples";
import { planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { broker, page, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const brokers = ["S0", "S1", "S2", "S3"].map((name) => broker({ id: `id-${name}`, name }));

const answers = (asked: Evaluation = evaluation(), rows: Candidate[] = [candidate(), today()]) => ({
  [`GET /api/v1/overlay-evaluations/${EVALUATION}`]: ok(asked),
  "GET /api/v1/overlay-candidates": ok(page(rows)),
  [`GET /api/v1/overlay-candidates/${BETTER}`]: ok(candidateDetail()),
  [`GET /api/v1/overlay-candidates/${TODAY}`]: ok(
    candidateDetail({ ...today(), steps: [], edges: candidateDetail().edges_before, moments: [] }),
  ),
  "GET /api/v1/brokers": ok(page(brokers)),
  [`GET /api/v1/systems/${SYSTEM}/traffic`]: ok(systemTraffic()),
});

const show = (given: Parameters<typeof serve>[0]) => {
  const asked = serve(given);
  const path = "/systems/:systemId/overlays/evaluations/:id";
  return {
    asked,
    ...renderPage(
      <EvaluationPage />,
      path,
      path.replace(":systemId", SYSTEM).replace(":id", EVALUATION),
    ),
  };
};

it("compares candidates, today's tree among them, and plays the recommended one", async () => {
  const { user } = show(answers());
  const table = await screen.findByRole("table", { name: "Candidates" });
  const better = within(table).getByRole("row", { name: /Minimum cost tree/ });
  expect(better).toHaveAttribute("aria-selected", "true");
  expect(better).toHaveTextContent("Recommended");
  expect(better).toHaveTextContent("proven fewest");
  expect(better).toHaveTextContent("\u2265 1, gap 100 %");
  expect(better).toHaveTextContent("340 subscribers");
  expect(better).toHaveTextContent("+3,180");
  expect(
    screen.getByText("2, best first; net benefit over 1 d in million link messages"),
  ).toBeVisible();
  expect(within(table).getByRole("row", { name: /Keep today/ })).toHaveTextContent("\u00b10");
  expect(
    await screen.findByRole("img", {
      name: /Overlay of 4 brokers before the first step\. Links: 2 stay, 1 will leave, 1 still to come/,
    }),
  ).toBeInTheDocument();
  await user.keyboard("]]");
  expect(await screen.findByRole("img", { name: /after step 2, the goal/ })).toBeInTheDocument();
  expect(screen.getByRole("img", { name: /brokers against 2 steps/ })).toBeInTheDocument();
  const sides = screen.getByRole("table", { name: /Minimum cost tree against Keep today/ });
  expect(within(sides).getByRole("row", { name: /Messages in flight/ })).toHaveTextContent(
    "\u2212252",
  );
});

it("makes a plan of the candidate that is looked at", async () => {
  const { user, asked, router } = show({
    ...answers(),
    [`POST /api/v1/overlay-candidates/${BETTER}/plan`]: {
      status: 201,
      body: planDetail({ id: "new-plan" }),
    },
  });
  await user.click(await screen.findByRole("button", { name: "Make a plan" }));
  expect(await screen.findByText("elsewhere")).toBeVisible();
  expect(router.state.location.pathname).toBe("/plans/new-plan");
  expect(asked.find(({ method }) => method === "POST")?.body).toEqual({ title: "", objective: "" });
});

it("looks at another candidate on a click, and today's tree cannot be planned", async () => {
  const { user } = show(answers());
  await user.click(await screen.findByText("do nothing"));
  expect(await screen.findByText("the overlay as it is")).toBeVisible();
  expect(screen.getByRole("heading", { name: "Keep today\u2019s tree" })).toBeVisible();
  expect(screen.queryByRole("button", { name: "Make a plan" })).toBeNull();
});

it("shows progress while it runs and cancels", async () => {
  const running = evaluation({
    state: "running",
    progress: { done: 1, total: 4 },
    chosen: null,
    why: [],
    allowed_commands: ["cancel"],
  });
  const { user, asked } = show({
    ...answers(running, []),
    [`POST /api/v1/overlay-evaluations/${EVALUATION}/cancel`]: ok(running),
  });
  expect(await screen.findByText("1 of 4 plans compared")).toBeVisible();
  expect(screen.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "25");
  expect(await screen.findByText(/Candidates appear here/)).toBeVisible();
  await user.click(screen.getByRole("button", { name: "Cancel" }));
  expect(asked.some(({ path }) => path.endsWith("/cancel"))).toBe(true);
});

it.each([
  ["infeasible", "No candidate is possible: ams-1 is frozen"],
  ["failed", "The evaluation failed: ams-1 is frozen"],
] as const)("says why it is %s", async (state, words) => {
  show(answers(evaluation({ state, failure: "ams-1 is frozen", chosen: null, why: [] }), []));
  expect(await screen.findByText(words)).toBeVisible();
});

it("refuses plans of candidates that the model has left behind, and says so", async () => {
  show(answers(evaluation({ current: false }), [candidate({ allowed_commands: [] }), today()]));
  expect(
    await screen.findByText(/The model has changed since, so no plan can be made/),
  ).toBeVisible();
  expect(await screen.findByRole("button", { name: "Make a plan" })).toBeDisabled();
});

it("names what could not be loaded", async () => {
  show({
    [`GET /api/v1/overlay-evaluations/${EVALUATION}`]: problem(
      404,
      "not_found",
      "No such evaluation.",
    ),
  });
  expect(await screen.findByText(/This evaluation could not be loaded/)).toBeVisible();
});

it("gives sums in the unit that keeps them readable, and gaps only where there are any", () => {
  const scale = messageScale([3_179_519_600, -20_000, null]);
  expect([
    scaled(3_179_519_600, scale, true),
    scaled(-20_000, scale, true),
    scaled(null, scale),
  ]).toEqual(["+3,180", "\u00b10", "\u2013"]);
  expect(messageScale([500]).unit).toBe("link messages");
  expect(gapWords(12, 10)).toBe("\u2265 10, gap 20 %");
  expect(gapWords(10, 10)).toBe("proven fewest");
  expect(gapWords(3, null)).toBe("");
});

it("tells an unreachable tree from one that nobody found a way to", () => {
  const of = (change: Partial<Candidate>) => troubleOf(candidate(change));
  expect(of({ plan_status: "infeasible", reason: "frozen" })).toBe("cannot be reached: frozen");
  expect(of({ plan_status: "failed", reason: "out of memory" })).toBe(
    "no plan found: out of memory",
  );
  expect(of({ status: "infeasible", reason: "degree 2" })).toBe("no tree: degree 2");
  expect(of({ same_as: "today" })).toBe("the same links as today");
  expect(of({})).toBe("");
});

it("offers two ways where fewer steps cost more actions", () => {
  const point = candidate().frontier[0];
  if (!point) throw new Error("the sample has a plan");
  const frontier = [
    { ...point, actions: 6, steps_count: 4 },
    { ...point, actions: 7, steps_count: 3 },
    { ...point, actions: 9, steps_count: 2 },
  ];
  expect(endsOf({ frontier })).toMatchObject({
    actions: { actions: 6, steps_count: 4 },
    steps: { actions: 9, steps_count: 2 },
  });
  expect(endsOf({ frontier: frontier.slice(0, 1) })).toBeNull();
});
