/** Rounds of measuring and placing again: what they showed, and the command that makes the next. */
import { act, screen, waitFor, within } from "@testing-library/react";

import PlacementPage from "./placement-page";
import { Band, bandEnd } from "./round-brokers";

import { hear } from "@/api/live";
import type { Rounds } from "@/api/placements";
import {
  measured,
  measuredBroker,
  placementDetail,
  round,
  rounds,
} from "@/testing/placement-samples";
import { renderPage, renderUi } from "@/testing/render";
import { page, run, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const L4 = placementDetail({ allowed_commands: ["rerun", "what_if", "plan"] });
const MAY = placementDetail({ allowed_commands: [...L4.allowed_commands, "again"] });
const L3_ID = "aa111111-1111-4111-8111-111111111113";
const ROUNDS = `GET /api/v1/placements/${L4.id}/rounds`;
const AGAIN = `POST /api/v1/placements/${L4.id}/again`;
const STARTED = run({ kind: "placement", state: "queued", answer: null });

const FIRST = round({
  ...{ placement: L3_ID, name: "L-3", brokers: 2, moved: 0, predicted_p99_s: 0.00064 },
  measured: measured(
    measuredBroker({
      ...{ publishers: 500, p99_s: 0.00131, low_s: 0.00124, high_s: 0.00142 },
      ...{ processing_p99_s: 0.00118, verdict: "missed", cause: "processing" },
      ...{ speed_before_per_s: 80_000, speed_per_s: 71_240.3, fitted: true },
    }),
    measuredBroker({
      ...{ broker: "q-3", p99_s: 0.00112, low_s: 0.00104, high_s: 0.00121 },
      ...{ processing_p99_s: 0.00021, verdict: "missed", cause: "tokens" },
      ...{ speed_before_per_s: 80_000, speed_per_s: 80_000, fitted: false },
    }),
  ),
});
const SECOND = round({
  ...{ round: 2, is_in_force: true },
  measured: measured(
    measuredBroker({ seconds: 126 }),
    measuredBroker({
      ...{ broker: "q-8", seconds: 126, messages: 4_191_138, verdict: "inconclusive" },
      ...{ low_s: 0.00066, p99_s: 0.00072, high_s: null, processing_high_s: null },
    }),
  ),
});
const TWO = rounds({
  results: [FIRST, SECOND],
  ...{ can_place_again: true, because: "", measured_rounds: 2, search_rounds: 9 },
});
/** The second round ended it. */
const KEPT = {
  ...TWO,
  results: [FIRST, round({ round: 2, is_in_force: true, measured: measured(measuredBroker()) })],
};

const answers = (body: Rounds, placement: object = MAY) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ name: "Quarry" })),
  [`GET /api/v1/placements/${L4.id}`]: ok(placement),
  [`GET /api/v1/placements/${L4.id}/moves`]: ok(page([], 0)),
  [ROUNDS]: ok(body),
});
const open = () =>
  renderPage(
    <PlacementPage />,
    "/systems/:systemId/placements/:id",
    `/systems/${SYSTEM}/placements/${L4.id}`,
  );
const panel = async () =>
  within(await screen.findByRole("region", { name: "Measured and placed again" }));
const table = async (name: string) => within(await screen.findByRole("table", { name }));
const command = () => screen.findByRole("button", { name: "Place again by what was measured" });
/** What a row shows, by the head of its column. */
const cells = (of: Awaited<ReturnType<typeof table>>, name: RegExp) => {
  // The heads of its own: below an opened row stands a table, too.
  const [head = document.body] = of.getAllByRole("row");
  const titles = within(head)
    .getAllByRole("columnheader")
    .map(({ textContent }) => textContent);
  const row = within(of.getAllByRole("row", { name })[0] ?? document.body).getAllByRole("cell");
  return Object.fromEntries(titles.map((title, index) => [title, row[index]?.textContent]));
};
const count = (asked: readonly Asked[]) =>
  asked.filter(({ path }) => path.endsWith("/rounds")).length;

describe("rounds", () => {
  it("show of each the broker that decides it, against the objective", async () => {
    serve(answers(TWO));
    open();
    const all = await table("Rounds");
    expect(cells(all, /L-3/)).toMatchObject({
      ...{ Brokers: "2", "p99 predictedms": "0.65", measuredms: "1.31" },
      ...{ "95 % intervalms": "1.24 to 1.42", Verdict: "Missed at q-6, mostly processing" },
    });
    // The unclear broker decides, not the one with the interval that is known.
    expect(cells(all, /L-4/)).toMatchObject({
      ...{ measuredms: "0.72", "95 % intervalms": "from 0.66", Verdict: "Inconclusive at q-8" },
      ...{ Placement: "L-4 In force", When: "now for 2 min" },
    });
    expect(all.getByRole("link", { name: "L-3" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/placements/${L3_ID}`,
    );
    expect(
      all.getByRole("img", { name: "1.31 ms, 1.24 ms to 1.42 ms, SLO 1.00 ms" }),
    ).toBeInTheDocument();
    // It is not over yet.
    expect((await panel()).getByText(/2 rounds measured/)).toHaveTextContent(
      /^2 rounds measured\.$/,
    );
  });

  it("say what was saved once every broker keeps the objective", async () => {
    serve(answers(KEPT));
    open();
    expect(await (await panel()).findByText(/2 rounds measured/)).toHaveTextContent(
      "2 rounds measured. By the speeds fitted, the search by halves that the paper describes would measure 9 rounds: 7 saved.",
    );
  });

  it("say that more is sent than tokens flow in, or than the model says", async () => {
    const full = measuredBroker({
      ...{ verdict: "missed", cause: "rate", rate_per_s: 24, expected_rate_per_s: 24.5 },
      ...{ p99_s: 0.9, low_s: 0.8, high_s: null },
    });
    const other = measuredBroker({ broker: "q-8", rate_per_s: 15, expected_rate_per_s: 1 });
    const body = measured(full, other);
    serve(answers({ ...TWO, results: [round({ is_in_force: true, measured: body })] }));
    open();
    const shown = await panel();
    const advice = await shown.findByText(/Missed at q-6: more is sent than tokens flow in/);
    expect(advice).toHaveTextContent(
      "At q-8 15.00 msg/s were measured where the publishers' rates add up to 1.00 msg/s: correct these before the topic is placed again.",
    );
    expect(advice).not.toHaveTextContent(/At q-6 24/);
  });

  it("have the brokers of the one in force open, and others by keyboard", async () => {
    serve(answers(TWO));
    const { user } = open();
    const live = await table("Brokers under L-4");
    expect(cells(live, /q-8/)).toMatchObject({
      ...{ Publishers: "333", "Ratemsg/s": "33,263", Messages: "4,191,138 in 2 min" },
      ...{ "95 % intervalms": "from 0.66", processingms: "0.45", Verdict: "Inconclusive" },
    });
    expect(
      (await panel()).getByText("Inconclusive at q-8: measured for 2 min, measure longer."),
    ).toBeInTheDocument();
    expect(live.getByTitle("95 % interval: from 0.42 ms on, not bounded yet")).toBeInTheDocument();
    // Nothing is fitted before it is placed again.
    expect(live.queryByRole("columnheader", { name: /Processes/ })).toBeNull();
    const opener = screen.getByRole("button", { name: "Brokers under L-3" });
    expect(opener).toHaveAttribute("aria-expanded", "false");
    act(() => opener.focus());
    await user.keyboard("{Enter}");
    expect(opener).toHaveAttribute("aria-expanded", "true");
    const former = await table("Brokers under L-3");
    expect(cells(former, /q-6/)).toMatchObject({
      ...{ "Processesmsg/s": "80,000 \u2192 71,240", processingms: "1.18" },
    });
    expect(cells(former, /q-3/)).toMatchObject({ "Processesmsg/s": "80,000 stays" });
    const advice = (await panel()).getByText(/Missed at q-3/);
    expect(advice).toHaveTextContent(
      "Missed at q-3: most of it is the wait for tokens; a larger bucket or fewer brokers helps, a faster broker does not.",
    );
    expect(advice).toHaveTextContent(/Missed at q-6: most of it is processing/);
    await user.keyboard("{Enter}");
    expect(screen.queryByRole("table", { name: "Brokers under L-3" })).toBeNull();
  });

  it("show the mean of each broker where something is promised of it", async () => {
    const mean = { mean_s: 0.00062, mean_low_s: 0.00058, mean_high_s: 0.00066 };
    const one = round({
      ...{ is_in_force: true, slo_mean_s: 0.0005, predicted_mean_s: 0.00031 },
      measured: measured(
        measuredBroker({
          ...{ ...mean, predicted_mean_s: 0.0003, verdict: "missed", cause: "processing" },
        }),
        measuredBroker({
          ...{ broker: "q-8", mean_s: 0.0004, mean_low_s: 0.00038, mean_high_s: null },
          ...{ predicted_mean_s: 0.00032, p99_s: 0.0007, verdict: "inconclusive" },
        }),
      ),
    });
    serve(answers({ ...TWO, results: [one] }, { ...MAY, slo_mean_s: 0.0005 }));
    open();
    expect(cells(await table("Rounds"), /L-4/)).toMatchObject({
      ...{ "mean predictedms": "0.31", "mean measuredms": "0.62", measuredms: "0.69" },
      ...{ "95 % of the meanms": "0.58 to 0.66" },
      Verdict: "Missed at q-6 on average, mostly processing",
    });
    const brokers = await table("Brokers under L-4");
    expect(cells(brokers, /q-8/)).toMatchObject({
      ...{ "mean predictedms": "0.32", "mean measuredms": "0.40" },
      "95 % of the meanms": "from 0.38",
    });
    expect((await panel()).getByText(/SLO p99 1.00 ms, mean 0.50 ms$/)).toBeInTheDocument();
  });

  it("leave the mean out where nothing is promised of it", async () => {
    serve(answers(TWO));
    open();
    const all = await table("Rounds");
    expect(all.queryByRole("columnheader", { name: /mean/ })).toBeNull();
    expect(all.getByText("at q-6, mostly processing")).toBeInTheDocument();
  });

  it("say what to do while nothing is in force", async () => {
    const because = "L-4 is not in force. Plan it and execute the plan.";
    serve(answers(rounds({ because })));
    open();
    const here = await panel();
    expect(await here.findByText(because)).toBeVisible();
    expect(here.queryByRole("table")).toBeNull();
    expect(await command()).toBeDisabled();
    expect(screen.getByRole("button", { name: "Make a plan" })).toHaveClass("pri");
  });

  it("say why it cannot be placed again yet", async () => {
    const because = "No broker has measured for long enough, 12 s at most: measure longer.";
    serve(answers(rounds({ because, results: [round({ is_in_force: true })] })));
    open();
    expect(cells(await table("Rounds"), /L-4/)).toMatchObject({
      ...{ measuredms: "\u2013", Verdict: "not measured yet", When: "\u2013" },
    });
    expect((await panel()).getByText(because)).toBeInTheDocument();
    expect(await command()).toBeDisabled();
    expect(await command()).toHaveAttribute("title", because);
    expect((await panel()).queryByText(/rounds? measured/)).toBeNull();
  });

  it("measure on what is in force, also when the next is placed already", async () => {
    const third = round({ placement: STARTED.id, name: "L-5", round: 3 });
    serve(answers({ ...TWO, results: [FIRST, SECOND, third] }));
    open();
    const all = await table("Rounds");
    expect(cells(all, /L-4/)).toMatchObject({ When: "now for 2 min" });
    expect(cells(all, /L-3/).When).toMatch(/^\d+ d ago for 26 min$/);
    expect(cells(all, /L-5/)).toMatchObject({ Verdict: "not in force", When: "\u2013" });
  });

  it("count nothing as saved that the search would not measure either", async () => {
    const one = measuredBroker({ speed_before_per_s: 80_000, speed_per_s: 90_000, fitted: true });
    const only = { results: [round({ measured: measured(one) })], measured_rounds: 1 };
    serve(answers({ ...TWO, ...only, search_rounds: 1 }));
    const { unmount } = open();
    expect(await (await panel()).findByText(/1 round measured/)).toHaveTextContent(
      /would measure 1 round: none saved\.$/,
    );
    unmount();
    serve(answers({ ...TWO, ...only, search_rounds: null }));
    open();
    expect(await (await panel()).findByText(/1 round measured/)).toHaveTextContent(
      /^1 round measured\.$/,
    );
  });

  it("judge nothing without an objective", async () => {
    const plain = measured(measuredBroker({ verdict: null }));
    const one = round({ is_in_force: true, slo_p99_s: null, measured: { ...plain, meets: null } });
    serve(answers({ ...TWO, results: [one], search_rounds: 0 }, { ...MAY, slo_p99_s: null }));
    open();
    expect(cells(await table("Rounds"), /L-4/)).toMatchObject({
      Verdict: "no SLO",
    });
    const bands = await (
      await panel()
    ).findAllByRole("img", { name: "0.69 ms, 0.62 ms to 0.77 ms" });
    expect(bands).toHaveLength(2);
    expect((await panel()).queryByText(/search by halves/)).toBeNull();
  });

  it("are asked for again when agents report", async () => {
    const asked = serve(answers(TWO));
    const { queries } = open();
    await table("Rounds");
    const before = count(asked);
    act(() => hear(queries, { kind: "telemetry", system: SYSTEM, at: "2026-03-18T14:02:00Z" }));
    await waitFor(() => expect(count(asked)).toBeGreaterThan(before));
  });

  it("leave the rest of the page alone where they cannot be loaded", async () => {
    serve({ ...answers(TWO), [ROUNDS]: problem(500, "broken", "The server failed.") });
    open();
    expect(await (await panel()).findByRole("alert")).toHaveTextContent(
      "What was measured could not be loaded. The server failed.",
    );
    expect(screen.getByRole("table", { name: "Brokers" })).toBeInTheDocument();
  });
});

describe("the interval of a measured percentile", () => {
  /** From where to where each kind of ground reaches, on a line of 100 for 2 ms. */
  const grounds = (low: number, p99: number, high: number | null) => {
    const row = measuredBroker({ low_s: low / 1e3, p99_s: p99 / 1e3, high_s: high && high / 1e3 });
    const { container } = renderUi(<Band row={row} slo={0.001} end={0.002} width={100} />);
    const drawn = [...container.querySelectorAll("rect:not([class])")].map((rect) => {
      const [from, wide] = ["x", "width"].map((name) => Number(rect.getAttribute(name)));
      return [rect.getAttribute("fill") ?? "water", from ?? 0, (from ?? 0) + (wide ?? 0)] as const;
    });
    return drawn.filter(([, from, to]) => to > from);
  };

  it("is water below the objective and spill above it", () => {
    expect(grounds(0.6, 0.7, 0.8)).toEqual([["water", 30, 40]]);
    expect(grounds(0.8, 0.9, 1.4)).toEqual([
      ["water", 40, 50],
      ["url(#spill)", 50, 70],
    ]);
    expect(grounds(1.2, 1.4, 1.6)).toEqual([["url(#spill)", 60, 80]]);
  });

  it("is open to the end where nothing bounds it", () => {
    expect(grounds(0.6, 0.7, null)).toEqual([
      ["url(#ghosth)", 35, 100],
      ["water", 30, 35],
    ]);
  });

  it("has room for the objective, and not for all that exceeds it by far", () => {
    const of = (p99_s: number) => [measuredBroker({ p99_s, high_s: p99_s })];
    expect(bandEnd(of(0.0002), 0.001)).toBeCloseTo(0.0014);
    expect(bandEnd(of(0.002), 0.001)).toBeCloseTo(0.0022);
    expect(bandEnd(of(0.2), 0.001)).toBeCloseTo(0.003);
    expect(bandEnd(of(0.2), null)).toBeCloseTo(0.22);
  });
});

describe("placing again", () => {
  it("says what is frozen, and starts a run with the note", async () => {
    const asked = serve({ ...answers(TWO), [AGAIN]: { status: 202, body: STARTED } });
    const { user, router } = open();
    await user.click(await command());
    expect(await command()).toHaveClass("pri");
    expect(screen.getByRole("button", { name: "Make a plan" })).not.toHaveClass("pri");
    const dialog = within(await screen.findByRole("dialog", { name: /market.depth again/ }));
    expect(dialog.getByText(/^Measured:/)).toHaveTextContent(
      "Measured: 56,081,418 messages at 2 brokers, at each for 2 min or longer.",
    );
    expect(dialog.getByText(/too little to bound/)).toHaveTextContent(/^q-8 for 2 min:/);
    await user.type(dialog.getByRole("textbox", { name: /Note/ }), " second round ");
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STARTED.id}`));
    const sent = asked.find(({ path }) => path.endsWith("/again"));
    expect(sent?.body).toEqual({ note: "second round" });
    expect(sent?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("shows why it was refused, and what is there by now", async () => {
    let body = TWO;
    serve({
      ...answers(TWO),
      [ROUNDS]: () => ok(body),
      [AGAIN]: () => {
        body = rounds({
          results: [FIRST, { ...SECOND, is_in_force: false }],
          because: "L-5 is in force.",
        });
        return problem(409, "not_in_force", "The parts of L-4 are not in force any more.");
      },
    });
    const { user } = open();
    await user.click(await command());
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    expect(await dialog.findByRole("alert")).toHaveTextContent(
      "The parts of L-4 are not in force any more.",
    );
    expect(await screen.findByText("L-5 is in force.")).toBeInTheDocument();
  });

  it("is not offered to who may not start runs", async () => {
    serve(answers(TWO, L4));
    open();
    await table("Rounds");
    expect(screen.queryByRole("button", { name: /Place again/ })).toBeNull();
  });
});
