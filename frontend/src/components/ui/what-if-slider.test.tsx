import { fireEvent, screen } from "@testing-library/react";
import { useState } from "react";

import { decimalsOf, niceStep, stepsAround, WhatIfSlider } from "./what-if-slider";

import { renderUi } from "@/testing/render";

describe("the steps of a slider", () => {
  it("are round numbers", () => {
    expect([1000, 1, 0.05, 0.96, 48, 730, 0.0301].map(niceStep)).toEqual([
      ...[1000, 1, 0.05, 0.5, 20, 500, 0.02],
    ]);
  });

  it("lead from where it begins to both ends, exactly", () => {
    expect(stepsAround(100_000, 40_000, 160_000, 1000)).toEqual({
      ...{ min: 40_000, max: 160_000, step: 1000 },
    });
    // What is stored need not be round.
    expect(stepsAround(10.3, 1, 30, 1)).toEqual({ min: 1.3, max: 29.3, step: 1 });
    expect(decimalsOf({ min: 1.3, max: 29.3, step: 1 })).toBe(1);
    expect(stepsAround(1, 0.3, 2, 0.05)).toEqual({ min: 0.3, max: 2, step: 0.05 });
    // Where it begins below its lower end, that is the end.
    expect(stepsAround(0.5, 1, 30, 1)).toMatchObject({ min: 0.5, max: 29.5 });
  });
});

function Held({ stored }: { stored: number | null }) {
  const [value, setValue] = useState(48);
  return (
    <WhatIfSlider
      label="Bucket"
      value={value}
      stored={stored}
      steps={{ min: 10, max: 240, step: 1 }}
      unit="tokens"
      onChange={setValue}
    />
  );
}

it("says its value with the unit, and marks what is stored once it has left it", () => {
  renderUi(<Held stored={48} />);
  const slider = screen.getByRole("slider", { name: "Bucket" });
  expect(slider).toHaveAttribute("aria-valuetext", "48 tokens");
  expect(screen.getByText("240 tokens")).toBeInTheDocument();
  expect(screen.queryByTitle("Stored: 48 tokens")).toBeNull();
  fireEvent.keyDown(slider, { key: "ArrowUp", shiftKey: true });
  expect(slider).toHaveValue("58");
  expect(screen.getByTitle("Stored: 48 tokens")).toBeInTheDocument();
  for (let times = 0; times < 20; times += 1) {
    fireEvent.keyDown(slider, { key: "ArrowRight", shiftKey: true });
  }
  expect(slider).toHaveValue("240");
});

it("names its ends and its tick in other words where steps are no amounts", () => {
  renderUi(
    <WhatIfSlider
      label="Flows to move"
      value={0}
      stored={2}
      steps={{ min: 0, max: 3, step: 1 }}
      unit=""
      text="0 of 7,300"
      storedText="Proposed: 1,840 of 7,300"
      ends={["0, keep the map", "5,400, map anew"]}
      onChange={() => undefined}
    />,
  );
  expect(screen.getByRole("slider")).toHaveAttribute("aria-valuetext", "0 of 7,300");
  expect(screen.getByText("0, keep the map")).toBeInTheDocument();
  expect(screen.getByText("5,400, map anew")).toBeInTheDocument();
  expect(screen.getByTitle("Proposed: 1,840 of 7,300")).toBeInTheDocument();
});
