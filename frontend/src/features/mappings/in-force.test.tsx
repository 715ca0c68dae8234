/** What the map in force costs now, beside what a mapping promised. */
import { act, screen, waitFor, within } from "@testing-library/react";

import { InForceBesideNewest, InForcePanel } from "./in-force-panel";
import { useChosenMap } from "./use-chosen-map";

import { hear } from "@/api/live";
import type { MapInForce, MappingDetail } from "@/api/mappings";
import {
  costs,
  mapInForce,
  mapping,
  mappingDetail,
  mappingOutcome,
  mapPoint,
} from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const NOW = "GET /api/v1/map-in-force";
const M7 = mappingDetail();
const panel = () => within(screen.getByRole("region", { name: "In force now" }));
const bars = () => screen.findByRole("img");
const row = (label: string) => panel().getByText(label, { selector: "dt" }).nextElementSibling;

function Beside({ of }: { of: MappingDetail }) {
  return <InForcePanel system={SYSTEM} mapping={of} chosen={useChosenMap(of)} />;
}

const show = (of: MappingDetail, query = "") =>
  renderPage(<Beside of={of} />, "/mapping", `/mapping${query}`);

describe("what is in force", () => {
  it("stands with both layers beside what keeping and moving promised", async () => {
    const asked = serve({
      [NOW]: ok(mapInForce({ model_version: 45, costs: costs(60_000, 130_000) })),
    });
    show(M7);
    expect(await bars()).toHaveAccessibleName(
      [
        "Now: 190.0 k work/s, of it transport 60.0 and messaging 130.0",
        "Kept: 231.5 k work/s, of it transport 74.1 and messaging 157.4",
        "Proposed: 182.9 k work/s, of it transport 58.2 and messaging 124.7",
      ].join("; "),
    );
    expect(asked.map(({ query }) => query.get("system"))).toEqual([SYSTEM]);
    expect(panel().getByText("k work/s, beside what M-7 promised")).toBeInTheDocument();
    expect(row("Wanted flows in a stream with a group")).toHaveTextContent(/^7,280 of 7,300$/);
    expect(row("Handed to users that do not want it")).toHaveTextContent("130,000msg/s");
    expect(panel().getByText(/rates and weights of now, model v45/)).toHaveTextContent(
      "M-7 by those of model v42.",
    );
    expect(panel().getByRole("link", { name: "M-7" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/mappings/${M7.id}`,
    );
  });

  it.each([
    ["?map=2", ["Now", "Kept", "Proposed", "Chosen"]],
    ["?map=0", ["Now", "Kept", "Proposed"]],
    ["?map=1", ["Now", "Kept", "Proposed"]],
  ])("has a bar of each map once: %s", async (query, names) => {
    serve({ [NOW]: ok(mapInForce()) });
    show(M7, query);
    const said = (await bars()).getAttribute("aria-label") ?? "";
    expect(said.split("; ").map((part) => part.split(":")[0])).toEqual(names);
  });

  it.each([
    [
      "nothing was worth a move",
      mappingDetail({ outcome: mappingOutcome({ points: [mapPoint()], proposed: 0 }) }),
    ],
    [
      "no map was in force",
      mappingDetail({
        former_cost: null,
        outcome: mappingOutcome({ points: [mapPoint({ placed: 9 })], proposed: 0 }),
      }),
    ],
  ])("stands beside the proposed map alone where %s", async (_, of) => {
    serve({ [NOW]: ok(mapInForce()) });
    show(of);
    expect(await bars()).toHaveAccessibleName(/^Now: [^;]*; Proposed: [^;]*$/);
  });

  it.each([
    [20, /^20 flows that somebody wants are in no stream .* whoever wants them gets nothing/],
    [1, /^1 flow that somebody wants is in no stream .* whoever wants it gets nothing/],
  ])("warns of %d flows that are missing", async (missing_flows, words) => {
    serve({ [NOW]: ok(mapInForce({ missing_flows })) });
    show(M7);
    await bars();
    expect(panel().getByText(words).closest(".note")).toHaveClass("warn");
    expect(row("Flows that are wanted and in none")).toHaveTextContent(String(missing_flows));
  });

  it("warns of nothing where nothing is missing, and draws what costs nothing", async () => {
    serve({ [NOW]: ok(mapInForce({ missing_flows: 0, costs: costs(0, 0) })) });
    renderPage(<InForcePanel system={SYSTEM} />, "/", "/");
    expect(await bars()).toHaveAccessibleName(
      "Now: 0.00 work/s, of it transport 0.00 and messaging 0.00",
    );
    expect(
      [...(await bars()).querySelectorAll("rect")].map((one) => one.getAttribute("width")),
    ).not.toContain("NaN");
    expect(row("Flows that are wanted and in none")).toHaveTextContent(/^none$/);
    expect(document.querySelector(".note")).toBeNull();
    expect(panel().queryByText(/promised/)).toBeNull();
  });

  it("stands beside what agents measure, for each message that somebody wanted", async () => {
    const measured = { ...costs(80_000, 170_000), wanted_per_s: 50_000, seconds: 10 };
    serve({ [NOW]: ok(mapInForce({ measured })) });
    const promising = mappingDetail({ outcome: mappingOutcome({ wanted_per_s: 100_000 }) });
    show(promising, "?map=2");
    expect(await bars()).toHaveAccessibleName(
      /^Now: 231\.5 [^;]*; Measured: 250\.0 k work\/s, of it transport 80\.0 and messaging 170\.0; Kept/,
    );
    expect(row("Measured: wanted and received")).toHaveTextContent(/^50,000msg\/s$/);
    expect(row("Measured: filtered for each of these")).toHaveTextContent(/^5\.00work$/);
    expect(row("The chosen map: filtered for each")).toHaveTextContent(/^1\.66work$/);
    expect(panel().getByText(/rates that agents measured in the last 10 s/)).toBeInTheDocument();
  });

  it.each([
    ["nothing wanted is sent", 0, "–"],
    ["all that is sent is wanted", 4, "0.00"],
  ])("says what is filtered for each where %s", async (_, wanted_per_s, text) => {
    const measured = { ...costs(0, 0), wanted_per_s, seconds: 10 };
    serve({ [NOW]: ok(mapInForce({ measured })) });
    renderPage(<InForcePanel system={SYSTEM} />, "/", "/");
    await bars();
    expect(row("Measured: filtered for each of these")).toHaveTextContent(`${text}work`);
    expect(panel().queryByText(/map: filtered for each/)).toBeNull();
  });

  it("reads again and again what is measured, and only that", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    try {
      let measured: MapInForce["measured"] = { ...costs(0, 8), wanted_per_s: 4, seconds: 10 };
      const asked = serve({ [NOW]: () => ok(mapInForce({ measured })) });
      renderPage(<InForcePanel system={SYSTEM} />, "/", "/");
      await bars();
      measured = { ...costs(0, 2), wanted_per_s: 4, seconds: 10 };
      await act(() => vi.advanceTimersByTimeAsync(5_000));
      await waitFor(() =>
        expect(row("Measured: filtered for each of these")).toHaveTextContent("0.50work"),
      );
      measured = null;
      await act(() => vi.advanceTimersByTimeAsync(5_000));
      await waitFor(() => expect(panel().queryByText(/^Measured/)).toBeNull());
      const before = asked.length;
      await act(() => vi.advanceTimersByTimeAsync(60_000));
      expect(asked).toHaveLength(before);
    } finally {
      vi.useRealTimers();
    }
  });

  it("falls with every step of an execution, by the news of the system", async () => {
    const now = { cost: 231_500, model_version: 42 };
    serve({
      [NOW]: () => ok(mapInForce({ costs: costs(0, now.cost), model_version: now.model_version })),
    });
    const { queries } = show(M7);
    expect(await bars()).toHaveAccessibleName(/^Now: 231\.5/);
    const step = (model_version: number, cost: number) => {
      Object.assign(now, { model_version, cost });
      act(() => hear(queries, { kind: "system", id: SYSTEM, model_version }));
    };
    step(43, 214_000);
    await waitFor(async () => expect(await bars()).toHaveAccessibleName(/^Now: 214\.0/), {
      timeout: 20_000,
    });
    step(44, 182_900);
    // News come several a second; the last always counts.
    await waitFor(async () => expect(await bars()).toHaveAccessibleName(/^Now: 182\.9/), {
      timeout: 20_000,
    });
    expect(panel().getByText(/model v44/)).toBeInTheDocument();
  }, 60_000);
});

describe("where nothing can be shown", () => {
  it("says why, and what to do", async () => {
    const because = "No topic of Quarry is in a stream. Map flows and carry out a plan of it.";
    serve({ [NOW]: ok(mapInForce({ because, costs: null, mapped_flows: 0 })) });
    show(M7);
    expect(await screen.findByText(because)).toBeInTheDocument();
    expect(panel().queryByRole("img")).toBeNull();
  });

  it("keeps its place while it is computed, says what failed, and tries again", async () => {
    let answer: (given: ReturnType<typeof ok>) => void = () => undefined;
    serve({ [NOW]: () => new Promise((resolve) => (answer = resolve)) });
    const { user } = show(M7);
    expect(panel().getByRole("status", { name: "Loading what is in force" })).toBeInTheDocument();
    await waitFor(() => {
      answer(problem(503, "busy", "The database is away."));
      expect(panel().getByRole("alert")).toHaveTextContent(
        "What is in force could not be loaded. The database is away.",
      );
    });
    await user.click(panel().getByRole("button", { name: "Try again" }));
    await waitFor(() => {
      answer(ok(mapInForce()));
      expect(panel().getByRole("img")).toBeInTheDocument();
    });
  });
});

describe("above the list of mappings", () => {
  const newest = {
    [NOW]: ok(mapInForce()),
    "GET /api/v1/mappings": ok(page([mapping()])),
    [`GET /api/v1/mappings/${M7.id}`]: ok(M7),
  };

  it("stands beside what the newest of the system promised", async () => {
    const asked = serve(newest);
    renderPage(<InForceBesideNewest system={SYSTEM} />, "/", "/");
    await screen.findByText("k work/s, beside what M-7 promised");
    expect(await bars()).toHaveAccessibleName(/^Now: .*; Kept: .*; Proposed: .*$/);
    const listed = asked.find(({ path }) => path.endsWith("/mappings"));
    expect(Object.fromEntries(listed?.query ?? [])).toEqual({ system: SYSTEM, page_size: "1" });
  });

  it.each([
    ["there is none", { ...newest, "GET /api/v1/mappings": ok(page([])) }],
    ["it cannot be read", { ...newest, "GET /api/v1/mappings": problem(503, "busy", "Away.") }],
  ])("stands alone where %s", async (_, served) => {
    const asked = serve(served);
    renderPage(<InForceBesideNewest system={SYSTEM} />, "/", "/");
    expect(await bars()).toHaveAccessibleName(/^Now: [^;]*$/);
    expect(asked.map(({ path }) => path)).not.toContain(`/api/v1/mappings/${M7.id}`);
  });
});
