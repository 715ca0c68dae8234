/** What the panel of an adaptation shows in each state, and what stop and resume say and send. */
import { screen, waitFor, within } from "@testing-library/react";

import { historyOf } from "./adaptation";
import { AdaptationPanel } from "./adaptation-panel";
import { PartsPanel } from "./parts-panel";

import type { Adaptation } from "@/api/adaptation";
import { adaptation, adaptedPart, decision, noAdaptation } from "@/testing/adaptation-samples";
import { placementDetail } from "@/testing/placement-samples";
import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const PLACEMENT = placementDetail({ allowed_commands: ["plan"] });
const AT = `/api/v1/topics/${PLACEMENT.topic ?? ""}/adaptation`;

function open(answer: Adaptation | ReturnType<typeof problem>, more = {}) {
  const asked = serve({
    "GET /api/v1/session": ok(session()),
    [`GET ${AT}`]: "status" in answer ? answer : ok(answer),
    ...more,
  });
  return { asked, ...renderPage(<AdaptationPanel placement={PLACEMENT} />, "/", "/") };
}
const panel = async () => within(await screen.findByRole("region", { name: "Adapted to traffic" }));
const table = async () => within(await screen.findByRole("table", { name: "Adapted parts" }));

async function cells(name: RegExp) {
  const parts = await table();
  const titles = parts.getAllByRole("columnheader").map(({ textContent }) => textContent);
  const row = within(parts.getByRole("row", { name })).getAllByRole("cell");
  return Object.fromEntries(titles.map((title, at) => [title, row[at]?.textContent.trim()]));
}

describe("the panel", () => {
  it("shows each part in force, what is asked now, and by how much it differs", async () => {
    open(adaptation());
    expect(await cells(/q-6/)).toMatchObject({
      State: "confirmed",
      "r in forcetokens/s": "36,630",
      "r nowtokens/s": "49,500",
      "Change\u00a0of\u00a0r": "+12,870 more",
      "Change\u00a0of\u00a0b": "+5.62 more",
      "Unfinished work, peakmsg": "17.8",
    });
    expect(await cells(/q-8/)).toMatchObject({ "Change\u00a0of\u00a0r": "\u22129,240 less" });
    const all = await panel();
    expect(all.getByText("Running")).toBeInTheDocument();
    expect(all.getByText(/every 1 s by the last 10 s; an idle broker keeps 2 %/)).toHaveTextContent(
      /since 14:05, 18 Mar/,
    );
    expect(
      all.getByText(/add up to 110,000 tokens\/s and 48.00 tokens, the contract/),
    ).toBeVisible();
  });

  it("says who has not confirmed, who is silent, and that the rest waits for them", async () => {
    const [first, second, third] = adaptation().parts;
    if (!first || !second || !third) throw new Error("the sample has parts");
    const gives = { ...third, rate_per_s: 25_000, is_confirmed: false };
    const silent = { ...second, is_silent: true, offered_per_s: null, work_peak: null };
    open(adaptation({ parts: [first, silent, gives] }));
    expect(await cells(/q-3/)).toMatchObject({ State: "silent", "Offeredmsg/s": "\u2013" });
    expect(await cells(/q-8/)).toMatchObject({ State: "waiting for confirmation" });
    expect(
      screen.getByText(/add up to 107,500 tokens\/s and 48.00 tokens of 110,000/),
    ).toBeVisible();
  });

  it("alarms where parts exceed the contract", async () => {
    open(adaptation({ parts: [adaptedPart({ rate_per_s: 120_000 })] }));
    expect(await screen.findByText(/120,000 tokens\/s.*more than the contract/)).toBeVisible();
  });

  it("says why it is held", async () => {
    const because = "An execution is under way: P-12.";
    open(adaptation({ state: "held", because, allowed_commands: [] }));
    expect(await screen.findByText(`Held: ${because}`)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
  });

  it("says what it would do where it is off, and leads to the plan", async () => {
    const { user } = open(noAdaptation());
    expect(await screen.findByText(/A plan that is approved turns it on/)).toBeInTheDocument();
    expect(screen.queryByRole("region", { name: "Decisions" })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Plan the adaptation" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByLabelText(/Adapt the parts to traffic/)).toBeChecked();
  });

  it("shows parts that still come back after the order has ended", async () => {
    open(adaptation({ state: "off", allowed_commands: [] }));
    expect(await screen.findByText(/The order has ended/)).toBeInTheDocument();
    expect(await cells(/q-6/)).toMatchObject({ "r nowtokens/s": "49,500" });
  });

  it("says in each state what the server says parts wait for, and never that they come back", async () => {
    const because = "Waits for q-8 to confirm.";
    for (const state of ["running", "held", "stopped", "off"] as const) {
      const { unmount } = open(adaptation({ state, because }));
      expect(await (await panel()).findByText(new RegExp(because))).toBeVisible();
      expect(screen.queryByText(/coming back/)).toBeNull();
      unmount();
    }
    const still = noAdaptation({ because });
    open(still);
    expect(await (await panel()).findByText(new RegExp(because))).toBeVisible();
  });

  it("says why parts add up to less than the contract", async () => {
    const parts = [adaptedPart({ rate_per_s: 30_000 })];
    const { unmount } = open(adaptation({ parts }));
    expect(await screen.findByText(/No broker gets more before/)).toBeVisible();
    unmount();
    const because = "The window is closed until 18:00.";
    open(adaptation({ parts, state: "off", because }));
    const sums = await screen.findByText(/The parts add up to 30,000/);
    expect(sums).toHaveTextContent(because);
    expect(screen.queryByText(/No broker gets more/)).toBeNull();
  });

  it.each([
    ["may move", adaptation()],
    ["come back after a stop", adaptation({ state: "stopped", decisions: [] })],
    [
      "are not confirmed",
      adaptation({
        ...{ state: "stopped", decisions: [] },
        parts: [adaptedPart({ is_confirmed: false })],
      }),
    ],
  ])("is read again every second while parts %s", async (_, answer) => {
    const { asked } = open(answer);
    await waitFor(() => expect(asked.filter(({ path }) => path === AT).length).toBeGreaterThan(1), {
      timeout: 3000,
    });
  });

  it("says what failed where it cannot be read", async () => {
    open(problem(500, "internal", "The server failed."));
    expect(await screen.findByText("The adaptation could not be loaded.")).toBeInTheDocument();
  });
});

describe("decisions", () => {
  it("say why, what moved, how long it took and why one was given up; details on demand", async () => {
    const { user } = open(adaptation());
    const list = within(await screen.findByRole("table", { name: "Decisions" }));
    const newest = list.getByRole("row", { name: /Rates follow the traffic of q-6.*Done/ });
    expect(newest).toHaveTextContent("q-6 +9,500/s, q-8 \u22129,500/s");
    expect(newest).toHaveTextContent("500 ms shrink, 300 ms grow");
    const failed = list.getByRole("row", { name: /Given up/ });
    expect(failed).toHaveTextContent("q-8 did not confirm within 5 s.");
    expect(failed).toHaveTextContent("after 5.0 s");
    await user.click(within(newest).getByRole("button", { name: /Moves of 14:08:12/ }));
    expect(list.getByText("40,000 to 49,500")).toBeInTheDocument();
    expect(list.getByText("16.20 to 12.00")).toBeInTheDocument();
  });

  it("show sizes where bursts moved and rates stayed", async () => {
    const moves = decision().moves.map((move) => ({
      ...move,
      after: { ...move.after, rate_per_s: move.before.rate_per_s },
    }));
    open(adaptation({ decisions: [decision({ cause: "bursts", moves })] }));
    expect(await screen.findByText("q-6 +4.20 tokens, q-8 \u22124.20 tokens")).toBeInTheDocument();
  });

  it("are counted as drawn: those of an order before are not", async () => {
    open(adaptation({ since: "2026-03-18T14:07:00Z" }));
    expect(await screen.findByRole("img", { name: /Shares of the rate/ })).toHaveAccessibleName(
      /^Shares of the rate over 2 decisions\./,
    );
    expect(screen.getByText(/^over 2 decisions, UTC/)).toBeInTheDocument();
  });

  it("draw shares that always add up to the whole rate, in words, too", async () => {
    const now = Date.parse("2026-03-18T14:09:00Z");
    const history = historyOf(adaptation(), now);
    expect(history.map(({ rates }) => rates["q-6"])).toEqual([
      ...[36_630, 40_000, 40_000, 49_500, 49_500],
    ]);
    for (const { rates } of history)
      expect(Object.values(rates).reduce((sum, one) => sum + one, 0)).toBe(110_000);
    open(adaptation());
    expect(await screen.findByRole("img", { name: /Shares of the rate/ })).toHaveAccessibleName(
      "Shares of the rate over 3 decisions. Now: q-6 45 %, q-3 30 %, q-8 25 %. In force: q-6 33 %, q-3 33 %, q-8 33 %.",
    );
  });
});

describe("stop and resume", () => {
  const stopped = adaptation({
    ...{ state: "stopped", stopped_by: "Ines Moreau", stopped_at: "2026-03-18T14:09:00Z" },
    ...{ note: "Campaign ended", allowed_commands: ["resume"] },
  });

  it("shows which parts come back before it stops, and sends the note", async () => {
    const { asked, user } = open(adaptation(), { [`POST ${AT}/stop`]: ok(stopped) });
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    const dialog = within(
      await screen.findByRole("dialog", { name: "Stop adapting market.depth" }),
    );
    expect(
      dialog.getByText(/come back to those in force, at once and without a plan/),
    ).toBeVisible();
    expect(dialog.getByText("3 parts change:")).toBeInTheDocument();
    expect(dialog.getByRole("row", { name: /q-6/ })).toHaveTextContent(
      /49,500 to 36,630.*\u221212,870 less/,
    );
    await user.type(dialog.getByLabelText(/Note/), " Campaign ended ");
    await user.click(dialog.getByRole("button", { name: "Stop" }));
    expect(await screen.findByText(/Stopped by Ines Moreau/)).toHaveTextContent(
      /Campaign ended\. Parts are coming back to those in force/,
    );
    expect(asked.find(({ method }) => method === "POST")?.body).toEqual({ note: "Campaign ended" });
  });

  it("says that nothing changes where no part has moved, and shows a refusal", async () => {
    const still = adaptation({ parts: noAdaptation().parts });
    const refusal = problem(409, "stopped_already", "It was stopped by Tom Reed at 14:08.");
    const { user } = open(still, { [`POST ${AT}/stop`]: refusal });
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/none will change/)).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Stop" }));
    expect(await dialog.findByText("It was stopped by Tom Reed at 14:08.")).toBeInTheDocument();
  });

  it("resumes, and closes its dialog with Escape", async () => {
    const { asked, user } = open(stopped, { [`POST ${AT}/resume`]: ok(adaptation()) });
    await user.click(await screen.findByRole("button", { name: "Resume" }));
    const dialog = await screen.findByRole("dialog");
    expect(within(dialog).getByText(/sums stay 110,000 tokens\/s and 48.00 tokens/)).toBeVisible();
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    await user.click(screen.getByRole("button", { name: "Resume" }));
    await user.click(
      within(await screen.findByRole("dialog")).getByRole("button", { name: "Resume" }),
    );
    expect(await screen.findByText("Running")).toBeInTheDocument();
    expect(asked.find(({ method }) => method === "POST")?.body).toEqual({ note: "" });
  });
});

it("marks parts in force that are another now, so that both panels agree", async () => {
  const part = {
    ...{ broker: "q-6", rate_per_s: 36_630, size: 15.98, mode: "enforce" },
    ...{ passed_per_s: 33_300, waiting: 0, messages: null, held: null, p99_s: null },
    ...{ longest_s: null, wait_messages: null, wait_p99_s: null, publishers: null },
  };
  serve({
    [`GET /api/v1/placements/${PLACEMENT.id}/parts`]: ok({
      results: [part],
      ...{ token_rate_per_s: 110_000, bucket: 48, wait_messages: 0, largest_wait_p99_s: null },
      ...{ unlisted: null, unlisted_names: [] },
    }),
    [`GET ${AT}`]: ok(adaptation()),
  });
  renderPage(<PartsPanel placement={PLACEMENT} />, "/", "/");
  expect(
    await screen.findByTitle("In force; adapted to traffic, 49,500 tokens/s now."),
  ).toHaveTextContent("36,630");
  expect(screen.getByTitle("In force; adapted to traffic, 21.60 tokens now.")).toBeInTheDocument();
});
