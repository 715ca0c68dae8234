import { screen, within } from "@testing-library/react";

import { chartOf } from "./penalty";
import { PenaltyChart } from "./penalty-chart";
import { FreeBucket, Why } from "./sentences";

import type { Outcome } from "@/api/placements";
import { option, outcome } from "@/testing/placement-samples";
import { renderUi } from "@/testing/render";

const ms = (p99: number, processing = 0.4) => ({
  p99_s: p99 / 1e3,
  processing_p99_s: processing / 1e3,
  penalty_s: (p99 - processing) / 1e3,
});
const none = { p99_s: null, processing_p99_s: null, penalty_s: null };
const draw = (shown: Outcome) =>
  renderUi(<PenaltyChart name="L-4" outcome={shown} waits={false} />);

describe("the penalty chart", () => {
  it("tells chosen, meets, misses and what does not fit, in words and in a table", () => {
    const { container } = draw(outcome());
    expect(
      screen.getByRole("img", {
        name: /chosen: 3 brokers \(q-6, q-3, q-8\): 0.68 ms, of it 0.44 processing and 0.24 pen/,
      }),
    ).toBeInTheDocument();
    const texts = [...container.querySelectorAll("svg.chart text")].map((one) => one.textContent);
    expect(texts).toEqual(expect.arrayContaining(["does not fit", "0.84", "SLO 1.00", "2.12"]));
    expect(texts.filter((text) => text === "misses")).toHaveLength(6);
    expect(texts.filter((text) => text === "meets")).toHaveLength(1);
    expect(texts.filter((text) => text === "chosen")).toHaveLength(1);
    expect(container.querySelectorAll("rect.chosencol")).toHaveLength(1);
    const table = within(screen.getByRole("table", { name: "Delay by number of brokers" }));
    expect(table.getByRole("row", { name: /^1 q-6 – – – 0 does not fit$/ })).toBeInTheDocument();
    expect(
      table.getByRole("row", { name: /^3 q-6 q-3 q-8 0.44 0.24 0.68 334 chosen$/ }),
    ).toBeInTheDocument();
  });

  it("cuts what is far beyond the objective and writes its value, and says what has no bound", () => {
    const shown = outcome({
      curve: [
        option({ brokers: 1, meets: false, ...none, processing_p99_s: 0.0004 }),
        option({ brokers: 2, chosen: true, meets: true, ...ms(0.8) }),
        option({ brokers: 3, meets: false, ...ms(40) }),
      ],
    });
    const { bars, most } = chartOf(shown);
    expect(bars.map(({ kind, cut, label }) => [kind, cut, label])).toEqual([
      ["unbounded", true, "no bound"],
      ["delay", false, "0.80"],
      ["delay", true, "40.00"],
    ]);
    expect(most).toBeCloseTo(0.004);
    const { container } = draw(shown);
    expect(container.querySelectorAll("path.tear")).toHaveLength(2);
    const titles = [...container.querySelectorAll("title")].map((one) => one.textContent);
    expect(titles).toContain("1 broker (q-6): the delay grows without bound");
  });

  it("counts in microseconds where all is that fast", () => {
    const shown = outcome({
      contract: { ...outcome().contract, slo_p99_s: 0.00005 },
      curve: [option({ brokers: 1, chosen: true, meets: true, ...ms(0.042, 0.03) })],
    });
    expect(chartOf(shown).bars[0]?.label).toBe("42.0");
    expect(chartOf(shown).unit.unit).toBe("\u00b5s");
  });

  it("leaves words out where many brokers have no room for them", () => {
    const curve = Array.from({ length: 120 }, (_, at) =>
      option({ brokers: at + 1, chosen: at === 59, meets: true, ...ms(1 + at / 100) }),
    );
    const { container } = draw(outcome({ curve }));
    const texts = [...container.querySelectorAll("svg.chart text")].map((one) => one.textContent);
    expect(texts).toContain("60");
    expect(texts.filter((text) => text === "meets")).toEqual([]);
    expect(texts.length).toBeLessThan(50);
  });

  it("is empty where there is nothing to choose from", () => {
    draw(outcome({ curve: [], status: "infeasible", unassigned: 1, need_brokers: null }));
    expect(screen.getByText(/1 publisher finds no room. Further brokers alone/)).toBeVisible();
  });
});

describe("the sentences", () => {
  const why = (change: Partial<Outcome>) => {
    const { container, unmount } = renderUi(
      <p>
        <Why outcome={outcome(change)} />
      </p>,
    );
    const text = container.querySelector("p")?.textContent ?? "";
    unmount();
    return text;
  };
  const chosen = (brokers: number, p99: number, meets: boolean | null) =>
    option({ brokers, chosen: true, meets, ...ms(p99) });

  it("say why this number of brokers is taken", () => {
    expect(why({ curve: [chosen(1, 0.4, true)] })).toBe(
      "1 broker is the fewest that stays under 1.00 ms: 0.40 ms processing and 0.00 ms penalty.",
    );
    expect(
      why({ curve: [option({ brokers: 2, meets: false, ...ms(3) }), chosen(4, 2, false)] }),
    ).toBe(
      "Fewer brokers wait on processing, more brokers wait on tokens. No number of brokers stays under 1.00 ms; 4 brokers come closest with 0.40 ms processing and 1.60 ms penalty.",
    );
    const better = option({ brokers: 2, meets: true, ...ms(0.8) });
    expect(why({ curve: [better, chosen(9, 2, false)] })).toMatch(
      /9 brokers miss 1.00 ms with .*; 2 brokers would meet it\.$/,
    );
    expect(why({ curve: [better, chosen(3, 0.9, true)] })).toMatch(
      /stay under .*, as 2 brokers would/,
    );
    expect(why({ curve: [better, { ...chosen(3, 0.9, true), moved: 0 }] })).toMatch(
      /stay under 1.00 ms and no publisher has to move/,
    );
    expect(
      why({
        contract: { ...outcome().contract, slo_p99_s: null },
        curve: [chosen(2, 0.9, null)],
      }),
    ).toMatch(/^2 brokers are the fewest that have room/);
    expect(why({ curve: [{ ...chosen(2, 1, false), ...none }] })).toBe(
      "With 2 brokers the delay grows without bound.",
    );
  });

  it("say from which bucket on the split is free", () => {
    const tip = (change: Partial<Outcome>) => {
      const { container, unmount } = renderUi(
        <p>
          <FreeBucket outcome={outcome(change)} />
        </p>,
      );
      const text = container.querySelector("p")?.textContent ?? "";
      unmount();
      return text;
    };
    const contract = { ...outcome().contract, bucket: 96 };
    expect(tip({ contract })).toMatch(/^A bucket of 75 tokens is enough/);
    expect(tip({ meets: false })).toMatch(
      /^No split meets the SLO. Raise .* A bucket of 75 tokens/,
    );
    expect(tip({ curve: [option({ chosen: true, free_bucket: null })] })).toBe(
      "No bucket makes 3 brokers free of penalty.",
    );
  });
});
