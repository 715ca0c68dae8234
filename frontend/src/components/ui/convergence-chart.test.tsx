import { screen } from "@testing-library/react";

import { axisWindow, ConvergenceChart, pointsOf } from "./convergence-chart";

import { renderUi } from "@/testing/render";

it("keeps the best so far and the true iteration numbers", () => {
  expect(pointsOf([1, 3, 2])).toEqual([
    { iteration: 1, utility: 1, best: 1 },
    { iteration: 2, utility: 3, best: 3 },
    { iteration: 3, utility: 2, best: 3 },
  ]);
});

it("zooms past a first leap but never hides the settling", () => {
  const trace = [0, ...Array.from({ length: 30 }, (_, i) => 1000 + i)];
  const [low, high] = axisWindow(trace);
  expect(low).toBeGreaterThan(900);
  expect(high).toBeGreaterThan(1029);
  expect(axisWindow([5, 5])[0]).toBeLessThan(5);
});

it("shows the same numbers as a table", async () => {
  const { user } = renderUi(
    <ConvergenceChart
      convergence={{ name: "A-27", points: pointsOf([10.5, 9]), upperBound: 12 }}
    />,
  );
  await user.click(screen.getByRole("button", { name: "Numbers and files of Convergence" }));
  await user.click(await screen.findByRole("menuitem", { name: "Show as table" }));
  const cells = screen.getAllByRole("cell").map((cell) => cell.textContent);
  expect(cells).toEqual(["1", "10.5", "10.5", "2", "9.0", "10.5"]);
});

it("puts the bound of each iteration beside it", async () => {
  const { user } = renderUi(
    <ConvergenceChart
      convergence={{ name: "A-27", points: pointsOf([10.5, 9], [20, 12]), upperBound: 12 }}
    />,
  );
  await user.click(screen.getByRole("button", { name: "Numbers and files of Convergence" }));
  await user.click(await screen.findByRole("menuitem", { name: "Show as table" }));
  expect(screen.getByRole("columnheader", { name: "Upper bound" })).toBeInTheDocument();
  const cells = screen.getAllByRole("cell").map((cell) => cell.textContent);
  expect(cells).toEqual(["1", "10.5", "10.5", "20.0", "2", "9.0", "10.5", "12.0"]);
});
