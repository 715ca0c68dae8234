import { screen } from "@testing-library/react";

import { Gantt, shapeOf } from "./gantt";
import { busiest, ganttRows } from "./gantt-rows";
import { placeLabels, type Wanted } from "./labels";
import type { Move } from "./timeline";

import { renderUi } from "@/testing/render";

const steps: Move[][] = [
  [
    { op: "shift", broker: "p", source: "a", to: "b" },
    { op: "append", broker: "n", to: "c" },
  ],
  [{ op: "shift", broker: "p", source: "b", to: "c" }],
  [{ op: "detach", broker: "p", source: "c" }],
];

it("has a row per broker that takes part, first needed first, and says what it does", () => {
  const rows = ganttRows(steps);
  expect(
    rows.map(({ broker, cells }) => [broker, cells.map(({ step, part }) => `${step} ${part}`)]),
  ).toEqual([
    ["a", ["0 gives"]],
    ["b", ["0 takes", "1 gives"]],
    ["c", ["0 takes", "1 takes", "2 gives"]],
    ["n", ["0 joins"]],
    ["p", ["0 moves", "1 moves", "2 leaves"]],
  ]);
  expect(busiest(rows)?.broker).toBe("c");
  expect(rows[4]?.cells[0]?.title).toBe("Shift p from a to b");
});

it("says what of a broker's several parts in one step counts most", () => {
  const rows = ganttRows([
    [
      { op: "shift", broker: "x", source: "a", to: "b" },
      { op: "shift", broker: "y", source: "x", to: "a" },
    ],
  ]);
  const x = rows.find(({ broker }) => broker === "x")?.cells;
  expect(x).toEqual([
    { step: 0, part: "moves", title: "Shift x from a to b; Shift y from x to a" },
  ]);
});

it("keeps columns wide enough to tell apart and scrolls what does not fit", () => {
  expect(shapeOf(5, 4, 800).width).toBe(800);
  expect(shapeOf(900, 400, 800)).toEqual({ column: 7, width: 132 + 2800 + 8, height: 24 + 18_000 });
});

it("shows the same as a table, with the proven bound beside its title", async () => {
  const { user } = renderUi(
    <Gantt steps={steps} at={0} onStop={() => undefined} bound={3} name="P-1" />,
  );
  expect(
    screen.getByText(/5 brokers take part; c in 3 steps; at least 3 steps are needed/),
  ).toBeVisible();
  expect(screen.getByRole("img", { name: /5 brokers against 3 steps/ })).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: /Numbers and files/ }));
  await user.click(await screen.findByRole("menuitem", { name: "Show as table" }));
  expect(
    await screen.findByRole("table", { name: "Steps against brokers as table" }),
  ).toBeVisible();
  expect(screen.getByRole("row", { name: "n 1 joins Append n to c" })).toBeVisible();
});

describe("names on the map", () => {
  const one = (id: string, x: number, always = false): Wanted => ({
    id,
    at: { x, y: 100 },
    width: 60,
    vessel: { width: 26, height: 36 },
    always,
  });
  const bounds = { width: 800, height: 400 };

  it("stand below, and above where a link goes down", () => {
    expect(placeLabels([one("a", 200)], [], bounds)[0]).toMatchObject({ y: 130, align: "center" });
    const down = [
      [
        { x: 200, y: 100 },
        { x: 200, y: 300 },
      ],
    ] as const;
    expect(placeLabels([one("a", 200)], down, bounds)[0]).toMatchObject({ y: 70, align: "center" });
  });

  it("are left out where there is no room, unless they must be read", () => {
    const crowd = Array.from({ length: 12 }, (_, i) => one(`b${i}`, 200 + i * 4));
    const placed = placeLabels(crowd, [], bounds);
    expect(placed.length).toBeLessThan(crowd.length);
    expect(
      placeLabels(
        crowd.map((label) => ({ ...label, always: true })),
        [],
        bounds,
      ),
    ).toHaveLength(12);
  });
});
