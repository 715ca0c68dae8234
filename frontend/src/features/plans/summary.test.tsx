/** What a plan promises, as its reviewer reads it. */
import { screen } from "@testing-library/react";

import { PromiseStrip } from "./summary";

import { renderPage } from "@/testing/render";

it("delays before and after share a unit, and less is better", () => {
  const name = "99th percentile of cranes, wait and processing";
  const promise = [{ name, unit: "s", before: 1.148, after: 0.575 }];
  renderPage(<PromiseStrip promise={promise} />, "/", "/");
  const figure = screen.getByTitle(`${name}: 1,148 now, 575 promised (ms)`);
  expect(figure).toHaveTextContent("575ms");
  expect(figure).toHaveTextContent("1,148 now −573");
});
