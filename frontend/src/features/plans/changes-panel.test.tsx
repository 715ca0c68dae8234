/** What stands before and after a plan, in numbers or in words. */
import { screen, within } from "@testing-library/react";

import { ChangesPanel } from "./changes-panel";

import type { PlanChange } from "@/api/plans";
import { planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";

const limit = (change: Partial<PlanChange>): PlanChange => ({
  kind: "set_population",
  label: "gulls at c",
  unit: "consumers",
  before: null,
  after: 10,
  step: 0,
  was: "",
  becomes: "",
  reason: "",
  measured: null,
  ...change,
});

function cellsOf(change: Partial<PlanChange>) {
  const changes = [limit(change)];
  renderPage(<ChangesPanel plan={planDetail({ changes })} kept={[]} />, "/", "/");
  const cells = within(screen.getByRole("row", { name: /gulls/ })).getAllByRole("cell");
  return cells.slice(2, 5).map((cell) => cell.textContent);
}

it("says that nothing limited a class that was served, and who is connected", () => {
  expect(cellsOf({ measured: 36 })).toEqual(["no limit36 connected now", "10", "now limited"]);
});

it("says that a class was not served instead of calling it without a limit", () => {
  expect(cellsOf({ was: "not served" })).toEqual(["not served", "10", "new"]);
});

it("says that a class is no longer served instead of calling it freed", () => {
  const ends = { before: 40, after: null, becomes: "not served" };
  expect(cellsOf(ends)).toEqual(["40", "not served", "ends"]);
});

it("says what passes a gate now", () => {
  expect(cellsOf({ kind: "set_flow_rate", unit: "msg/s", after: 40, measured: 33 })).toEqual([
    "no limit33.00 passes now",
    "40.00",
    "now limited",
  ]);
});
