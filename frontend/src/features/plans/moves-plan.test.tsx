/** A plan that moves flows and streams in the map: thousands of actions, no broker. */
import { render, screen, waitFor, within } from "@testing-library/react";

import { ActionTitle, undoWords } from "./action-title";
import { ChangesPanel } from "./changes-panel";
import PlanPage from "./plan-page";
import { PromiseStrip } from "./summary";

import type { Execution, PlanAction, PlanChange, PlanDetail } from "@/api/plans";
import { answers, executionPath, planPath } from "@/testing/plan-answers";
import { EXECUTION, execution, executionAction, PLAN, planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { problem, serve } from "@/testing/server";

const flow = (n: number) => `fx.F${String(n).padStart(4, "0")}`;

const moveFlow = (n: number, change: Partial<PlanAction> = {}): PlanAction => ({
  index: n,
  kind: "move_flow",
  title: `Move ${flow(n)} from stream s-3 to s-7`,
  undo_title: `Move ${flow(n)} from stream s-7 to s-3`,
  brokers: [],
  target: { flow: flow(n) },
  before: { stream: "s-3" },
  after: { stream: "s-7" },
  effect: "Saves receivers 1,240 work/s.",
  publishers: null,
  ...change,
});

const moveStream = (change: Partial<PlanAction> = {}): PlanAction => ({
  ...moveFlow(0),
  kind: "move_stream",
  title: "Move stream s-3 from group g-1 to g-2",
  target: { stream: "s-3" },
  before: { group: "g-1" },
  after: { group: "g-2" },
  ...change,
});

const changeOf = (n: number, step: number, change: Partial<PlanChange> = {}): PlanChange => ({
  kind: "move_flow",
  label: flow(n),
  ...{ unit: "", before: null, after: null, step },
  ...{ was: "stream s-3", becomes: "stream s-7", measured: null },
  reason: "Saves receivers 1,240 work/s.",
  ...change,
});

/** So many flows, so many a step. */
function movesPlan(moves: number, perStep: number, change: Partial<PlanDetail> = {}): PlanDetail {
  const all = Array.from({ length: moves }, (_, n) => n);
  const steps = Array.from({ length: Math.ceil(moves / perStep) }, (_, index) => ({
    index,
    actions: all
      .slice(index * perStep, (index + 1) * perStep)
      .map((n) => moveFlow(n, { index: n % perStep })),
  }));
  return planDetail({
    kind: "mapping",
    title: `Move ${moves} flows as M-7 has it`,
    source: { kind: "mapping", id: "ee111111-1111-4111-8111-111111111111", name: "M-7" },
    steps,
    changes: all.map((n) => changeOf(n, Math.floor(n / perStep))),
    promise: [
      { name: "Cost of unwanted traffic", unit: "work/s", before: 231_500, after: 182_900 },
    ],
    hurt: {
      sentence: "No consumer is disconnected: no broker changes.",
      ...{ connected: 0, disconnected: 0, classes: [], unmeasured: [] },
    },
    blast_radius: {
      ...planDetail().blast_radius,
      ...{ brokers: 0, brokers_total: 0, topics: moves, topics_total: 20_000, actions: moves },
      ...{ consumers_admitted: 0, consumers_released: 0 },
    },
    ...change,
  });
}

const open = async (plan: PlanDetail, more: object = {}, running?: Execution) => {
  const asked = serve({ ...answers(plan, running), ...more });
  const view = renderPage(<PlanPage />, "/plans/:id", `/plans/${PLAN}`);
  await screen.findByRole("heading", { name: /P-118/ });
  return { asked, ...view };
};

const words = (action: PlanAction) => render(<ActionTitle action={action} />).container.textContent;

describe("a move in words", () => {
  it.each([
    [moveFlow(1), "Move fx.F0001 from stream s-3 to s-7", "back to stream s-3"],
    [moveFlow(1, { before: null }), "Put fx.F0001 into stream s-7", "out again"],
    [moveFlow(1, { after: null }), "Take fx.F0001 out of stream s-3", "back to stream s-3"],
    [moveStream(), "Move stream s-3 from group g-1 to g-2", "back to group g-1"],
    [moveStream({ before: null }), "Put stream s-3 into group g-2", "out again"],
    [moveStream({ after: null }), "Take stream s-3 out of group g-1", "back to group g-1"],
  ])("names what moves and where from and to", (action, title, undo) => {
    expect(words(action)).toBe(title);
    expect(undoWords(action)).toBe(undo);
  });

  it("keeps names that look like signs, and says what the server says of what it cannot read", () => {
    const odd = moveFlow(1, { target: { flow: "a -1" }, before: { stream: "-3" } });
    expect(words(odd)).toBe("Move a -1 from stream -3 to s-7");
    const other = moveFlow(1, { target: {}, title: "Move something", undo_title: "Move it back" });
    expect(words(other)).toBe("Move something");
    expect(undoWords(other)).toBe("Move it back");
  });
});

describe("what stands before and after", () => {
  const show = (changes: PlanChange[]) =>
    renderPage(<ChangesPanel plan={planDetail({ changes })} kept={[]} />, "/", "/");
  const cells = (name: RegExp) =>
    within(screen.getByRole("row", { name }))
      .getAllByRole("cell")
      .map(({ textContent }) => textContent);

  it("is a stream or a group, in the order of the moves", () => {
    show([
      changeOf(9, 0),
      changeOf(10, 0, { was: "", becomes: "stream s-1" }),
      changeOf(2, 1, { becomes: "" }),
      changeOf(1, 1, { kind: "move_stream", label: "s-3", was: "group g-1", becomes: "group g-2" }),
    ]);
    const why = "Saves receivers 1,240 work/s.";
    expect(cells(/F0009/)).toEqual([
      ...[flow(9), "", "stream s-3", "stream s-7", "changes", "1", why],
    ]);
    expect(cells(/F0010/).slice(2, 5)).toEqual(["none", "stream s-1", "new"]);
    expect(cells(/F0002/).slice(2, 5)).toEqual(["stream s-3", "none", "ends"]);
    expect(cells(/^s-3/).slice(2, 5)).toEqual(["group g-1", "group g-2", "changes"]);
    const heads = [...document.querySelectorAll("tr.sec th:first-child")];
    expect(heads.map(({ textContent }) => textContent)).toEqual(["Flows moved", "Streams moved"]);
    const names = screen.getAllByRole("row").map((row) => row.querySelector(".name")?.textContent);
    // A flow of a later step comes after, whatever its name.
    expect(names.filter(Boolean)).toEqual([flow(9), flow(10), flow(2), "s-3"]);
  });

  it("is drawn a page at a time where it is long, and every row is on one of them", async () => {
    const { user } = show(Array.from({ length: 250 }, (_, n) => changeOf(n, n)));
    const names = () =>
      [...document.querySelectorAll("td .name")].map(({ textContent }) => textContent);
    expect(names()).toHaveLength(10);
    expect(screen.queryByRole("button", { name: "Everything" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Show the rest, 100 a page" }));
    const seen = names();
    for (const count of [100, 50]) {
      await user.click(screen.getByRole("button", { name: "Next" }));
      expect(names()).toHaveLength(count);
      seen.push(...names());
    }
    expect(seen).toEqual(Array.from({ length: 250 }, (_, n) => flow(n)));
    expect(screen.getByRole("button", { name: "Next" })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Show fewer" }));
    expect(names()).toHaveLength(10);
  });

  it("folds each quantity to its largest, so that a short one is not lost behind a long one", () => {
    const stream = changeOf(0, 60, { kind: "move_stream", label: "s-3" });
    show([...Array.from({ length: 200 }, (_, n) => changeOf(n, n)), stream]);
    expect(cells(/^s-3/)[5]).toBe("61");
    expect(screen.getByText(/11 of 201 rows\./)).toBeInTheDocument();
  });
});

it("promises cost in one unit, and less of it is better", () => {
  const promise = [
    { name: "Cost of unwanted traffic", unit: "work/s", before: 231_500, after: 182_900 },
  ];
  renderPage(<PromiseStrip promise={promise} />, "/", "/");
  const figure = screen.getByTitle(/231\.5 now, 182\.9 promised \(k work\/s\)/);
  expect(figure).toHaveTextContent("Cost of unwanted traffic182.9k work/s231.5 now \u221248.6");
  expect(within(figure).getByText("\u221248.6")).toHaveClass("up");
});

describe("a plan of two thousand moves", () => {
  it("shows some of each step, and the rest of one a page at a time", async () => {
    const plan = movesPlan(2_000, 500);
    const { user, asked } = await open(plan);
    const steps = within(screen.getByRole("region", { name: "Steps" }));
    expect(steps.getAllByRole("listitem")).toHaveLength(4);
    expect(steps.getAllByText(/^undo:/)).toHaveLength(4 * 8);
    expect(document.querySelectorAll("td .name")).toHaveLength(10);
    const [first = document.body] = steps.getAllByRole("listitem");
    expect(first).toHaveTextContent("8 of 500 actions.");
    await user.click(within(first).getByRole("button", { name: "Show the rest, 100 a page" }));
    expect(within(first).getAllByText(/^undo:/)).toHaveLength(100);
    await user.click(within(first).getByRole("button", { name: "Next" }));
    expect(first).toHaveTextContent("101 to 200 of 500 actions.");
    expect(within(first).getByText(flow(100))).toBeInTheDocument();
    expect(steps.getAllByText(/^undo:/)).toHaveLength(100 + 3 * 8);
    // Nobody asks for levels of brokers that it does not touch.
    expect(asked.map(({ path }) => path)).not.toContain(`${planPath}/levels`);
  });

  it("folds many short steps", async () => {
    const { user } = await open(movesPlan(2_000, 1));
    const steps = within(screen.getByRole("region", { name: "Steps" }));
    expect(steps.getAllByRole("listitem")).toHaveLength(30);
    await user.click(steps.getByRole("button", { name: "Show the rest, 100 a page" }));
    expect(steps.getAllByRole("listitem")).toHaveLength(100);
  });

  it("draws no map of brokers, and says whom it hurts, where from it is and what it touches", async () => {
    await open(movesPlan(114, 40));
    expect(screen.queryByRole("region", { name: "Overlay" })).toBeNull();
    const hurt = within(screen.getByRole("region", { name: "Who is hurt" }));
    expect(hurt.getByText(/No consumer is disconnected/)).toBeInTheDocument();
    expect(hurt.queryByRole("table")).toBeNull();
    expect(screen.getByText(/^Mapping,/)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "M-7" })).toHaveAttribute(
      "href",
      expect.stringMatching(/\/mappings\/ee111111/),
    );
    const radius = within(screen.getByRole("region", { name: "Blast radius" }));
    expect(radius.getByText("Brokers touched").nextElementSibling).toHaveTextContent("none");
    expect(radius.getByText("114 of 20,000")).toBeInTheDocument();
  });

  it("says before it is executed that no broker changes", async () => {
    const approved = movesPlan(114, 40, { state: "approved", allowed_commands: ["execute"] });
    const { user } = await open(approved);
    await user.click(screen.getByRole("button", { name: "Execute" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Execute P-118" }));
    expect(
      dialog.getByText(/^114 actions in 3 steps: no broker changes, and no consumer is/),
    ).toBeInTheDocument();
  });

  it("leads from a stale plan to another mapping", async () => {
    await open(movesPlan(3, 1, { state: "stale", stale_because: "The model moved." }));
    const again = await screen.findByRole("link", { name: "Make another mapping" });
    expect(again).toHaveAttribute("href", expect.stringMatching(/\/mappings\?ask=1$/));
  });
});

describe("its execution", () => {
  const MOVES = 400;
  const running = (done: number) =>
    execution({
      ...{ actions_total: MOVES, actions_done: done, pace_s: 10 },
      allowed_commands: ["roll_back"],
      steps: [0, 1].map((index) => ({
        index,
        direction: "forward" as const,
        state: index === 0 ? ("in_progress" as const) : ("pending" as const),
        started_at: index === 0 ? "2026-03-18T14:06:00Z" : null,
        ended_at: null,
        actions: Array.from({ length: MOVES / 2 }, (_, n) => {
          const { kind, title, target, before, after } = moveFlow(index * 200 + n);
          return executionAction({
            id: `a${index}-${n}`,
            ...{ index: n, kind, title, target, before, after, brokers: [] },
            state: index === 0 && n < done ? "done" : "pending",
          });
        }),
      })),
    });
  const executing = movesPlan(MOVES, 200, {
    state: "executing",
    execution: { ...planDetail().execution, id: EXECUTION } as PlanDetail["execution"],
  });

  it("shows what is not done first, a page of each step, and no agents", async () => {
    const { user } = await open(executing, {}, running(195));
    const list = await screen.findByRole("list", { name: "Steps of the execution" });
    const acts = () => list.querySelectorAll(".act");
    expect(acts()).toHaveLength(24);
    // Five of the first step are left.
    expect(within(list).getByText(flow(199))).toBeInTheDocument();
    expect(list).toHaveTextContent("195 of 200");
    for (const name of ["Delivery and agents", "Measured against promised", "Overlay"]) {
      expect(screen.queryByRole("region", { name })).toBeNull();
    }
    const [rest = document.body] = within(list).getAllByRole("button", { name: /^Show the rest/ });
    await user.click(rest);
    expect(acts()).toHaveLength(112);
    expect(within(list).getByText(flow(0))).toBeInTheDocument();
  });

  it("lists what a rollback takes back a page at a time, the last first", async () => {
    const { user } = await open(executing, {}, running(120));
    await screen.findByRole("list", { name: "Steps of the execution" });
    await user.click(screen.getByRole("button", { name: "Roll back" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Roll back P-118" }));
    expect(dialog.getByText(/120 actions are undone/)).toHaveTextContent(
      "Afterwards all is as it was before P-118, and the plan is stale.",
    );
    const list = dialog.getByRole("list", { name: "What is undone" });
    expect(within(list).getAllByRole("listitem")).toHaveLength(50);
    expect(within(list).getAllByRole("listitem")[0]).toHaveTextContent(`Move ${flow(119)} from`);
    await user.click(dialog.getByRole("button", { name: "Show the rest, 100 a page" }));
    await user.click(dialog.getByRole("button", { name: "Next" }));
    expect(within(list).getAllByRole("listitem")).toHaveLength(20);
    expect(list).toHaveAttribute("start", "101");
  });

  it("keeps the page where the execution cannot be read", async () => {
    await open(executing, { [`GET ${executionPath}`]: problem(503, "busy", "Away.") });
    await waitFor(() => expect(screen.getByText(/The execution could not be/)).toBeVisible());
    expect(screen.getByRole("table", { name: "Before and after" })).toBeInTheDocument();
  });
});
