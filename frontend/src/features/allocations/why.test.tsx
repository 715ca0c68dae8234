import { screen } from "@testing-library/react";

import { causeSentences } from "./causes";
import { conclusion, levers } from "./why";
import { WhyPanel } from "./why-panel";

import { renderPage } from "@/testing/render";
import {
  allocation,
  comparison,
  explained,
  modelChange,
  population,
  SYSTEM,
} from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const A = allocation();

describe("the words of an explanation", () => {
  it("says what would admit a refused class", () => {
    expect(levers(explained({ rate_at_margin_per_s: 2.5 }))).toEqual([
      { what: "Admitted when its weight is at least", value: "23.5", now: "10.0" },
      { what: "or the price at S1 falls to", value: "0.1257", now: "0.2953" },
      { what: "or the rate of f2 falls to", value: "2.50", now: "10.06" },
    ]);
  });

  it("says what would push an admitted class out", () => {
    const paid = explained({ verdict: "pays", admitted: 1500, value: 120, scale_at_margin: 4.7 });
    expect(levers(paid)[0]?.what).toBe("Stays in down to a weight of");
    expect(levers(paid)[1]?.what).toBe("or the price at S1 rises to");
  });

  it("names worth instead of a weight where the kind has none", () => {
    const drawn = explained({ scale_name: null, scale: 1, scale_at_margin: 2.3 });
    expect(levers(drawn)[0]).toEqual({
      what: "Admitted when one is worth at least",
      value: "56.44",
      now: "24.03",
    });
  });

  it("is honest where whole consumers leave the letter of the prices", () => {
    const lumpy = explained({
      verdict: "against_prices",
      value: 60,
      admitted: 3,
      given_up: 2.5,
    });
    expect(conclusion(lumpy)).toMatch(/no room left for one more whole consumer, so 3 of 1,500/);
    expect(conclusion(lumpy)).toMatch(/gives up 2.500 utility, within the 3.600 that this/);
    expect(levers(lumpy).map((lever) => lever.what)).toEqual([
      "cpu at S1 that the other 1,497 would take",
    ]);
    expect(conclusion({ ...lumpy, gap: null })).toMatch(/proves no bound/);
    expect(conclusion({ ...lumpy, has_prices: false })).toMatch(/gives no prices/);
  });

  it.each([
    ["nobody", {}, /Nobody wants/],
    ["worthless", {}, /adds nothing at this rate/],
    ["free", { admitted: 1 }, /Nothing that it takes is scarce, so all 1,500 are in/],
    ["margin", { admitted: 34 }, /at the margin: 34 of 1,500 fill/],
    ["margin", { admitted: 0 }, /the room went to others/],
    ["margin", { admitted: 1500 }, /brings just what it costs, and all 1,500 are in/],
  ] as const)("has a sentence for %s", (verdict, change, said) => {
    expect(conclusion(explained({ verdict, ...change }))).toMatch(said);
  });
});

describe("why a class was refused", () => {
  const path = `GET /api/v1/allocations/${A.id}/explanation`;
  const show = () =>
    renderPage(
      <WhyPanel allocation={A.id} system={SYSTEM} row={population()} />,
      "/allocations/:id",
      `/allocations/${A.id}`,
    );

  it("shows value, price and sentence", async () => {
    serve({ [path]: ok(explained()) });
    show();
    expect(
      screen.getByRole("img", { name: /value 24.03 against price 56.44/ }),
    ).toBeInTheDocument();
    expect(await screen.findByText(/takes 191.1 cpu unit\/s at S1, which are/)).toBeInTheDocument();
    expect(
      screen.getByText(/costs more than it brings, so all 1,500 stay out/),
    ).toBeInTheDocument();
    expect(screen.getByText("23.5")).toBeInTheDocument();
  });

  it("keeps value and price where the model is too large to read", async () => {
    serve({ [path]: problem(409, "too_large_to_explain", "The model of A-27 is too large.") });
    show();
    expect(await screen.findByText(/The model of A-27 is too large/)).toBeInTheDocument();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("offers to try again when it failed", async () => {
    serve({ [path]: problem(500, "server_error", "The server failed.") });
    show();
    expect(await screen.findByRole("button", { name: "Try again" })).toBeInTheDocument();
  });
});

describe("what made an allocation differ", () => {
  const says = (change: Parameters<typeof comparison>[0]) =>
    causeSentences(comparison(change), "lrgp");

  it("names each kind of change once", () => {
    const causes = [
      modelChange(),
      modelChange({ name: "S1", before: 1, after: 0.5 }),
      modelChange({ what: "class", name: "c1", field: "population_max", before: 5, after: 7 }),
      modelChange({
        what: "class",
        name: "c2",
        field: "utility",
        before_text: "log, weight 10",
        after_text: "log, weight 20",
      }),
      modelChange({ what: "flow", name: "f9", field: "added" }),
      modelChange({ what: "flow", name: "f1", field: "rate_max", before: 1000, after: 500 }),
    ];
    expect(says({ causes, causes_in_all: causes.length })).toBe(
      "Cause: cpu of S2 was raised from 780,000 to 900,000 unit/s, and 1 more like it. " +
        "7 consumers of c1 want in, 5 before. " +
        "The utility of c2 went from log, weight 10 to log, weight 20. " +
        "2 more kinds of change.",
    );
  });

  it("says when the model is the same, or too large to compare", () => {
    const none = { causes: [], causes_in_all: 0 };
    expect(says(none)).toBe("The same model: seed, parameters or start differ.");
    expect(says({ ...none, other_method: "greedy" })).toBe(
      "The same model: lrgp instead of greedy.",
    );
    expect(says({ ...none, causes_known: false })).toMatch(/too large/);
  });
});
