import { screen } from "@testing-library/react";

import { PageHead } from "./page";

import { renderPage } from "@/testing/render";

const line = (waterline: number | null) => {
  renderPage(<PageHead title="Run R-1" waterline={waterline} />, "/", "/");
  const bar = screen.getByRole("progressbar", { name: "Progress" });
  return { bar, water: bar.querySelector("i") };
};

it("draws as much water as is done", () => {
  const { bar, water } = line(0.4);
  expect(bar).toHaveAttribute("aria-valuenow", "40");
  expect(water?.style.width).toBe("40%");
});

it("draws none before anything is reported", () => {
  const { bar, water } = line(null);
  expect(bar).not.toHaveAttribute("aria-valuenow");
  expect(water?.style.width).toBe("0%");
});
