/** Plans and executions that change who may publish where. */
import { screen, within } from "@testing-library/react";

import { ChangesPanel } from "./changes-panel";
import { PublisherNames } from "./publisher-names";
import { settingsAt } from "./step-view";
import { StepsPanel } from "./steps-panel";

import type { PlanAction, PlanDetail } from "@/api/plans";
import { planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `md-${String(from + index).padStart(4, "0")}`);
const counted = (list: readonly string[] | null) =>
  list === null ? null : { publishers: list.length };
const changed = (
  before: readonly string[] | null,
  after: readonly string[] | null,
): PlanAction["publishers"] => {
  if (after === null) return null;
  const released = (before ?? []).filter((name) => !after.includes(name));
  const letIn = after.filter((name) => !before?.includes(name));
  return {
    released: released.length,
    released_names: released.slice(0, 50),
    let_in: letIn.length,
    let_in_names: letIn.slice(0, 50),
    is_first: before === null,
  };
};
const assigning = (
  before: readonly string[] | null,
  after: readonly string[] | null,
): PlanAction => ({
  index: 0,
  kind: "assign_publishers",
  title: "Release 80 publishers of depth from q-6 (40 then)",
  undo_title: "Let 80 more publishers of depth in at q-6 (120 then)",
  brokers: ["q-6"],
  target: { flow: "depth", broker: "q-6" },
  before: counted(before),
  after: counted(after),
  publishers: changed(before, after),
  effect: "",
});
const planOf = (action: PlanAction): PlanDetail =>
  planDetail({ steps: [{ index: 0, actions: [action] }] });
const show = (before: readonly string[] | null, after: readonly string[] | null) =>
  renderPage(<PublisherNames action={assigning(before, after)} />, "/", "/");

describe("the names of publishers", () => {
  it("are shown on demand: the first fifty, and how many more", async () => {
    const { user } = show(names(0, 120), [...names(80, 120), "zz-1", "zz-2"]);
    expect(screen.queryByText(/md-/)).toBeNull();
    const button = screen.getByRole("button", { name: "Show the 82 publishers" });
    expect(button).toHaveAttribute("aria-expanded", "false");
    await user.click(button);
    expect(screen.getByText("Released, 80").nextSibling).toHaveTextContent(
      /^md-0000, .*, md-0049 and 30 more$/,
    );
    expect(screen.getByText("Let in, 2").nextSibling).toHaveTextContent(/^zz-1, zz-2$/);
    await user.click(screen.getByRole("button", { name: "Hide the 82 publishers" }));
    expect(screen.queryByText(/md-/)).toBeNull();
  });

  it("are all there where they are few", async () => {
    const { user } = show(names(0, 1), names(0, 51));
    await user.click(screen.getByRole("button", { name: "Show the 50 publishers" }));
    expect(screen.getByText("Let in, 50").nextSibling).toHaveTextContent(/md-0050$/);
    expect(screen.queryByText(/^Released/)).toBeNull();
  });

  it("say that everybody else is released by a first list", async () => {
    const { user } = show(null, names(0, 2));
    await user.click(screen.getByRole("button", { name: "Show the 2 publishers" }));
    expect(screen.getByText("Let in, 2").nextSibling).toHaveTextContent("md-0000, md-0001");
    expect(screen.getByText("Released").nextSibling).toHaveTextContent(/^everybody else/);
  });

  it.each([
    ["a list ends", names(0, 2), null],
    ["nobody is named", null, []],
  ] as const)("are not offered where %s", (_, before, after) => {
    show(before, after);
    expect(screen.queryByRole("button")).toBeNull();
  });

  it("are not offered for what is no list", () => {
    const action = { ...assigning(null, names(0, 2)), publishers: null };
    renderPage(<PublisherNames action={action} />, "/", "/");
    expect(screen.queryByRole("button")).toBeNull();
  });
});

it("a step says the title, and who it is about on demand", async () => {
  const plan = planOf(assigning(names(0, 120), names(80, 120)));
  const { user } = renderPage(<StepsPanel plan={plan} />, "/", "/");
  expect(screen.getByText("Release 80 publishers of depth from q-6 (40 then)")).toBeInTheDocument();
  expect(screen.getByText(/^undo: Let 80 more publishers of depth in/)).toBeInTheDocument();
  expect(document.body).not.toHaveTextContent("md-0000");
  await user.click(screen.getByRole("button", { name: "Show the 80 publishers" }));
  expect(document.body).toHaveTextContent(/Released, 80.*md-0000/);
});

it("before and after are counts in words", () => {
  const change = {
    ...{ kind: "assign_publishers", label: "depth at q-6", unit: "", step: 0 },
    ...{ before: null, after: null, was: "120 publishers", becomes: "40 publishers" },
    ...{ reason: "", measured: null },
  };
  renderPage(<ChangesPanel plan={planDetail({ changes: [change] })} kept={[]} />, "/", "/");
  expect(screen.getByRole("columnheader", { name: "Publishers let in" })).toBeInTheDocument();
  const row = within(screen.getByRole("row", { name: /depth at q-6/ }));
  const cells = row.getAllByRole("cell").map((cell) => cell.textContent);
  expect(cells.slice(2, 5)).toEqual(["120 publishers", "40 publishers", "changes"]);
});

it("a stop of the scrubber counts those whom the broker lets in", () => {
  const [first] = settingsAt(planOf(assigning(null, names(0, 3))), 0, "q-6");
  expect(first).toMatchObject({ name: "depth", value: null, absent: "every publisher" });
  const [then] = settingsAt(planOf(assigning(null, names(0, 3))), 1, "q-6");
  expect(then).toMatchObject({ value: 3, unit: "publishers", changed: true, step: 0 });
});
