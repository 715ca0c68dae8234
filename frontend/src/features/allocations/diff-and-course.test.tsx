import { screen, within } from "@testing-library/react";

import { AgainstPanel } from "./against-panel";
import { ChangesPanel } from "./changes-panel";
import { axisAround, courseOf } from "./course";
import { levers, trialSentence } from "./why";

import { PageFoot, usePaged } from "@/components/ui/paged";
import { renderPage } from "@/testing/render";
import { allocation, comparison, explained } from "@/testing/samples";

describe("the diff", () => {
  it("shows the largest change first, by kind, with its causes", async () => {
    const { user } = renderPage(
      <ChangesPanel comparison={comparison()} number={27} method="lrgp" />,
      "/",
      "/",
    );
    const rows = () =>
      within(screen.getByRole("table", { name: "What changed since A-26" })).getAllByRole("row");
    expect(rows()[1]).toHaveTextContent("Price of cpu at S1");
    expect(rows()[1]).toHaveTextContent("+29.9 %");
    expect(screen.getByText(/cpu of S2 was raised from 780,000 to 900,000/)).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Rates 1" }));
    expect(rows()).toHaveLength(2);
    expect(rows()[1]).toHaveTextContent("Rate of f2");
    await user.click(screen.getByRole("button", { name: "Admitted 0" }));
    expect(screen.getByText("None of these changed.")).toBeInTheDocument();
  });
});

describe("utility across edited functions", () => {
  const changeOf = (name: string) =>
    screen.getByRole("cell", { name }).closest("tr")?.lastElementChild?.textContent;
  const pair = (before: number | null, after: number) => ({ name: "utility", before, after });
  const show = (change: Parameters<typeof comparison>[0]) =>
    renderPage(
      <AgainstPanel
        comparison={comparison(change)}
        allocation={allocation()}
        loads={[]}
        others={[]}
        onOther={() => undefined}
      />,
      "/",
      "/",
    );

  it("is compared by each set of functions", () => {
    show({ utility: pair(2000, 2000), utility_by_other: pair(1000, 990) });
    expect(changeOf("Total utility, by the functions of A-27")).toBe("\u00b10");
    expect(changeOf("Total utility, by the functions of A-26")).toBe("\u22121.00 %");
    expect(screen.queryByRole("cell", { name: "Total utility" })).toBeNull();
  });

  it("is not compared where the models are too large to read", () => {
    show({ utility: pair(null, 2000), utility_by_other: null });
    expect(changeOf("Total utility")).toBe("\u2013");
  });
});

describe("what was tried", () => {
  const why = explained().explanation;
  it("says what it did, also where it did nothing", () => {
    const worth = {
      lever: "worth",
      resource: "",
      before: 1,
      after: 2.4,
      admitted: 72,
      utility: 140,
    } as const;
    expect(trialSentence(why, worth, 100)).toBe(
      "With a weight of 24.0 instead of 10.0, 72 of 1,500 are in, total utility +40.0.",
    );
    const room = {
      ...worth,
      lever: "capacity",
      resource: "cpu",
      before: 900_000,
      after: 3_600_000,
      admitted: 0,
    } as const;
    expect(trialSentence(why, room, 100)).toMatch(/3,600,000 cpu unit\/s .* still none is in/);
  });

  it("names the room that a class in part would take", () => {
    const part = explained({ verdict: "margin", admitted: 500 });
    const [lever] = levers(part);
    expect(lever?.what).toBe("cpu at S1 that the other 1,000 would take");
  });
});

describe("the course of an answer", () => {
  const timed = (change: Parameters<typeof allocation>[0]) => courseOf(allocation(change));
  it("is the best so far at the moments that were told", () => {
    const course = timed({
      trace: [5, 3, 9],
      bounds: [20, 15, 12],
      moments: [
        [1, 0.1],
        [3, 0.4],
      ],
      utility: 10,
    });
    expect(course.points).toEqual([
      { at_s: 0.1, best: 5, bound: 20 },
      { at_s: 0.4, best: 10, bound: 12 },
    ]);
    expect(timed({ trace: [5], moments: [] }).points).toEqual([]);
  });

  it("is drawn around the answers that come near the best", () => {
    const at = (best: number) => ({ method: "m", points: [{ at_s: 1, best }] });
    const [low, high] = axisAround([at(1000), at(990), at(300)]);
    expect(low).toBeGreaterThan(900);
    expect(high).toBeGreaterThan(1000);
  });
});

function Long({ count }: { count: number }) {
  const paged = usePaged(
    Array.from({ length: count }, (_, i) => i),
    10,
    "all",
  );
  return (
    <>
      <ul>
        {paged.visible.map((row) => (
          <li key={row}>{row}</li>
        ))}
      </ul>
      <PageFoot paged={paged} what="rows" />
    </>
  );
}

describe("thousands of rows", () => {
  it("are a hundred at a time in the document", async () => {
    const { user } = renderPage(<Long count={5000} />, "/", "/");
    expect(screen.getAllByRole("listitem")).toHaveLength(10);
    await user.click(screen.getByRole("button", { name: /Show the rest/ }));
    expect(screen.getAllByRole("listitem")).toHaveLength(100);
    await user.click(screen.getByRole("button", { name: "Next" }));
    expect(screen.getAllByRole("listitem")[0]).toHaveTextContent("100");
    expect(screen.getByText(/101 to 200 of 5,000 rows/)).toBeInTheDocument();
  });
});
