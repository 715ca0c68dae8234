import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";

import PlacementPage from "./placement-page";

import type { Outcome, PlacementDetail } from "@/api/placements";
import { noAdaptation } from "@/testing/adaptation-samples";
import { move, outcome, placementDetail, rounds, share } from "@/testing/placement-samples";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const L4 = placementDetail();
const WHAT_IF = `POST /api/v1/placements/${L4.id}/what-if`;
const MOVES = `GET /api/v1/placements/${L4.id}/moves`;
const answersOf = (placement: PlacementDetail) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ name: "Quarry" })),
  [`GET /api/v1/placements/${L4.id}`]: ok(placement),
  [`GET /api/v1/placements/${L4.id}/rounds`]: ok(rounds()),
  [`GET /api/v1/topics/${L4.topic ?? ""}/adaptation`]: ok(noAdaptation()),
  [MOVES]: ok(page([move(), move({ publisher: "md-0002", group: null, from_broker: null })], 334)),
});
const answers = answersOf(L4);
const open = (query = "") =>
  renderPage(
    <PlacementPage />,
    "/systems/:systemId/placements/:id",
    `/systems/${SYSTEM}/placements/${L4.id}${query}`,
  );
const panel = (name: string) => within(screen.getByRole("region", { name }));
const brokersTable = async () => within(await screen.findByRole("table", { name: "Brokers" }));
const figure = (label: string) => {
  const found = screen.getByText(label, { selector: "dt" }).parentElement;
  return within(found ?? document.body);
};
const slider = (name: RegExp) => screen.getByRole("slider", { name });
const bodies = (asked: readonly Asked[]) =>
  asked.filter(({ path }) => path.endsWith("/what-if")).map(({ body }) => body);

describe("a placement", () => {
  it("shows the contract, the figures and why it takes this many brokers", async () => {
    serve(answers);
    open();
    expect(
      await screen.findByRole("heading", { name: "Placement of market.depth" }),
    ).toBeInTheDocument();
    expect(screen.getByText("100,000 msg/s from 1,000 publishers")).toBeInTheDocument();
    expect(screen.getByText("110,000 tokens/s, bucket 48 tokens")).toBeInTheDocument();
    expect(screen.getByText("today on 2 brokers, 1.15 ms")).toBeInTheDocument();
    expect(figure("Brokers").getByText("3")).toBeInTheDocument();
    expect(
      figure("Brokers").getByText("2 today; the fewest that meet the SLO"),
    ).toBeInTheDocument();
    expect(figure("p99, predicted").getByText("0.68")).toBeInTheDocument();
    expect(
      figure("Penalty of the split").getByText("3 buckets of 16 tokens, not one of 48"),
    ).toBeInTheDocument();
    expect(figure("Publishers that move").getByText("all to q-8")).toBeInTheDocument();
    const chart = panel("Delay at p99 against number of brokers");
    expect(
      chart.getByText(/are the fewest that stay under 1.00 ms: 0.44 ms processing and 0.24 ms pen/),
    ).toBeInTheDocument();
    expect(
      panel("What if").getByText("A bucket of 75 tokens makes 3 brokers free of penalty."),
    ).toBeInTheDocument();
    expect(
      panel("What if").getByText(/Each share needs 24.9 tokens at 10 % above the topic rate/),
    ).toBeInTheDocument();
    expect(screen.queryByText("What if", { selector: ".badge" })).toBeNull();
  });

  it("shows what is promised of the mean, alone or beside the percentile", async () => {
    const { contract } = outcome();
    const promised = (slo_p99_s: number | null) => {
      const both = { slo_p99_s, slo_mean_s: 0.0005 };
      const change = { mean_s: 0.00021, contract: { ...contract, ...both } };
      return answersOf(placementDetail({ ...both, outcome: outcome(change) }));
    };
    serve(promised(null));
    const { unmount } = open();
    expect(await screen.findByText("SLO mean 0.50 ms")).toBeInTheDocument();
    const chart = () => panel("Delay at p99 against number of brokers");
    expect(chart().getByText(/are the fewest that stay under 0.50 ms on average: /)).toBeVisible();
    expect(
      figure("p99, predicted").getByText("mean 0.21 ms; SLO 0.50 ms on average"),
    ).toBeInTheDocument();
    unmount();
    serve(promised(0.001));
    open();
    expect(await screen.findByText("SLO p99 1.00 ms, mean 0.50 ms")).toBeInTheDocument();
    expect(
      chart().getByText(/are the fewest that stay under 1.00 ms and 0.50 ms on average: /),
    ).toBeVisible();
  });

  it("adds up the brokers' parts, and names who waits for whole tokens", async () => {
    const { shares } = outcome();
    const thin = shares.map((one) =>
      one.broker === "q-3" ? { ...one, bucket: 0.8, below_one_token: true } : one,
    );
    serve(
      answersOf(
        placementDetail({
          drained_brokers: ["q-9"],
          outcome: outcome({
            shares: [...thin, share({ broker: "q-10", drained: true, max_rate_per_s: 40_000 })],
          }),
        }),
      ),
    );
    open();
    const table = await brokersTable();
    const sum = within(table.getByRole("row", { name: /^Sum/ }));
    expect(sum.getByText("100,000")).toBeInTheDocument();
    expect(sum.getByText("110,000")).toBeInTheDocument();
    expect(sum.getByText("32.82")).toBeInTheDocument();
    expect(sum.getByText("0.68")).toBeInTheDocument();
    const row = within(table.getByRole("row", { name: /^q-6/ }));
    expect(row.getByText("chosen")).toBeInTheDocument();
    expect(row.getByText("36,630")).toBeInTheDocument();
    expect(row.getByRole("img", { name: "68.4 % of capacity, before 89.3 %" })).toBeInTheDocument();
    expect(table.getByRole("row", { name: /^q-1 not used/ })).toBeInTheDocument();
    expect(table.getByRole("row", { name: /^q-10 drained/ })).toBeInTheDocument();
    const brokers = panel("Brokers");
    expect(brokers.getByText(/The most that one publisher can get: 36,740 msg\/s/)).toBeVisible();
    expect(brokers.getByText(/The bucket of q-3 is below one token/)).toBeInTheDocument();
    // Their largest rates differ, so each has its own.
    expect(table.getByRole("columnheader", { name: /^Max/ })).toBeInTheDocument();
  });

  it("shows what brokers process where measuring showed another speed", async () => {
    const { shares } = outcome();
    const speeds: Readonly<Record<string, number>> = { "q-6": 71_240.3, "q-1": 75_413 };
    const shown = (fast: boolean) =>
      shares.map((one) => ({
        ...one,
        speed_per_s: (fast ? undefined : speeds[one.broker]) ?? one.max_rate_per_s,
      }));
    serve(answersOf(placementDetail({ outcome: outcome({ shares: shown(false) }) })));
    const { unmount } = open();
    const table = await brokersTable();
    const titles = table.getAllByRole("columnheader").map(({ textContent }) => textContent);
    const at = titles.indexOf("Processesmsg/s");
    const cell = (name: RegExp) =>
      within(table.getByRole("row", { name })).getAllByRole("cell")[at];
    expect(cell(/^q-6/)).toHaveTextContent(/^71,240$/);
    expect(cell(/^q-1/)).toHaveTextContent(/^75,413$/);
    expect(cell(/^q-3/)).toHaveTextContent(/^80,000$/);
    unmount();
    serve(answersOf(placementDetail({ outcome: outcome({ shares: shown(true) }) })));
    open();
    const plain = await brokersTable();
    expect(plain.queryByRole("columnheader", { name: /Processes/ })).toBeNull();
  });

  it("says by what was measured under which placement it was made", async () => {
    const former = { id: "aa111111-1111-4111-8111-111111111113", name: "L-3" };
    serve(answersOf(placementDetail({ round: 2, based_on: former })));
    open();
    expect(await screen.findByText(/round 2, by what was measured under/)).toHaveTextContent("L-3");
    expect(screen.getByRole("link", { name: "L-3" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/placements/${former.id}`,
    );
  });

  it("spreads groups over the brokers, and folds the small ones", async () => {
    const small = Array.from({ length: 9 }, (_, at) => ({
      ...{ name: `g${at}`, publishers: 20 - at, within_one: at !== 3 },
      by_broker: { "q-6": 20 - at },
    }));
    serve(answersOf(placementDetail({ outcome: outcome({ groups: small }) })));
    const { user } = open();
    const title = "Publishers that burst together";
    const table = within(await screen.findByRole("table", { name: title }));
    expect(table.getByRole("row", { name: /^g0 20 0 0 20$/ })).toBeInTheDocument();
    expect(table.getByRole("row", { name: /^3 other groups 39 0 0 39$/ })).toBeInTheDocument();
    expect(panel(title).getByText(/1 group is further than one .*: g3\./)).toBeInTheDocument();
    await user.click(panel(title).getByRole("button", { name: "Show all 9 groups" }));
    expect(table.getByRole("row", { name: /^g8/ })).toBeInTheDocument();
  });

  it("says so where no publisher has a group", async () => {
    const alone = { name: null, publishers: 1000, by_broker: { "q-6": 1000 }, within_one: true };
    serve(answersOf(placementDetail({ outcome: outcome({ groups: [alone] }) })));
    open();
    expect(await screen.findByText(/has a correlation key, so none is known/)).toBeInTheDocument();
    expect(screen.queryByRole("slider", { name: /Group size/ })).toBeNull();
    expect(
      screen.getByRole("link", { name: "Look for publishers that burst together" }),
    ).toHaveAttribute("href", `/systems/${SYSTEM}/correlation?topic=${L4.topic ?? ""}&look=1`);
  });

  it("leads who may start no run to the groups that were found", async () => {
    serve(answersOf(placementDetail({ allowed_commands: [] })));
    open();
    expect(
      await screen.findByRole("link", { name: "Groups found in what was sent" }),
    ).toHaveAttribute("href", `/systems/${SYSTEM}/correlation`);
  });

  it("lists who moves, narrowed by the server", async () => {
    const asked = serve(answers);
    const { user } = open();
    const table = within(await screen.findByRole("table", { name: "Publishers that move" }));
    expect(table.getByRole("row", { name: /md-0001 feed-A 100 q-6 → q-8/ })).toBeInTheDocument();
    expect(table.getByRole("row", { name: /md-0002 – 100 no broker → q-8/ })).toBeInTheDocument();
    await user.selectOptions(screen.getByRole("combobox", { name: "To" }), "q-8");
    await waitFor(() =>
      expect(
        asked
          .filter(({ path }) => path.endsWith("/moves"))
          .at(-1)
          ?.query.get("to_broker"),
      ).toBe("q-8"),
    );
  });

  it("says what each move is worth: the delay if that publisher stayed", async () => {
    const moves = [
      move(),
      move({ publisher: "md-0002", must_move: true, p99_without_s: null }),
      move({ publisher: "md-0003", p99_without_s: null }),
      move({ publisher: "md-0004", p99_without_s: 0.00068 }),
    ];
    serve({ ...answers, [MOVES]: ok(page(moves, 4)) });
    open();
    const table = within(await screen.findByRole("table", { name: "Publishers that move" }));
    expect(
      table.getByRole("columnheader", { name: "99th percentile if it stayed" }),
    ).toBeInTheDocument();
    const last = (name: RegExp) =>
      within(table.getByRole("row", { name })).getAllByRole("cell").at(-1)?.textContent;
    expect(last(/md-0001/)).toBe("0.71 ms against 0.68 ms");
    expect(last(/md-0002/)).toBe("cannot stay");
    expect(last(/md-0003/)).toBe("without bound against 0.68 ms");
    expect(last(/md-0004/)).toBe("0.68 ms against 0.68 ms");
  });

  it("asks for no moves where nobody moves", async () => {
    serve(answersOf(placementDetail({ moved: 0, outcome: outcome({ moved: 0 }) })));
    open();
    expect(await screen.findByText(/None: every publisher stays/)).toBeInTheDocument();
    expect(figure("Publishers that move").getByText("all stay where they are")).toBeVisible();
  });

  it("says which placement could not be loaded", async () => {
    serve({
      ...answers,
      [`GET /api/v1/placements/${L4.id}`]: problem(404, "not_found", "There is no such placement."),
    });
    open();
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "This placement could not be loaded. There is no such placement.",
    );
  });
});

const CHANGED: Outcome = outcome({
  contract: { ...outcome().contract, bucket: 96 },
  ...{ p99_s: 0.00044, penalty_s: 0, moved: 0 },
});

describe("what if", () => {
  it("asks for what the sliders say, shows the answer against what is stored, and resets", async () => {
    const asked = serve({ ...answers, [WHAT_IF]: ok(CHANGED) });
    const { user } = open();
    await screen.findByRole("table", { name: "Brokers" });
    fireEvent.change(slider(/^Bucket/), { target: { value: "96" } });
    expect(slider(/^Bucket$/)).toHaveAttribute("aria-valuetext", "96 tokens");
    await waitFor(() => expect(figure("p99, predicted").getByText("0.44")).toBeInTheDocument());
    expect(figure("p99, predicted").getByText("\u22120.24")).toBeInTheDocument();
    expect(figure("Publishers that move").getByText("\u2212334")).toBeInTheDocument();
    expect(screen.getAllByText("What if", { selector: ".badge" })).toHaveLength(1);
    expect(panel("Publishers that move").getByText("of L-4 as stored, 334")).toBeInTheDocument();
    fireEvent.change(slider(/^Topic rate/), { target: { value: "120000" } });
    fireEvent.change(slider(/^SLO/), { target: { value: "0.5" } });
    await waitFor(() => expect(bodies(asked)).toHaveLength(2));
    expect(bodies(asked)).toEqual([
      { added_brokers: 0, bucket: 96 },
      {
        ...{ added_brokers: 0, bucket: 96, slo_p99_s: 0.0005 },
        // The tokens stay a tenth above the rate.
        ...{ rate_per_s: 120_000, token_rate_per_s: 132_000 },
      },
    ]);
    await user.click(panel("What if").getByRole("button", { name: "Reset" }));
    expect(figure("p99, predicted").getByText("0.68")).toBeInTheDocument();
    expect(screen.queryByText("What if", { selector: ".badge" })).toBeNull();
  });

  it("says what bucket was recorded, and of a change that nothing was", async () => {
    const recorded = (of: Outcome, bucket: number): Outcome => ({
      ...of,
      contract: { ...of.contract, recorded_bucket: bucket },
    });
    const placement = placementDetail({ outcome: recorded(L4.outcome, 30.42) });
    serve({ ...answersOf(placement), [WHAT_IF]: ok(recorded(CHANGED, 35.1)) });
    open();
    const tokens = "110,000 tokens/s, bucket 48 tokens";
    expect(await screen.findByText(`${tokens}, recorded: 30.4 messages`)).toBeInTheDocument();
    fireEvent.change(slider(/^Bucket/), { target: { value: "96" } });
    expect(await screen.findByText(/tokens, as bursty as recorded$/)).toBeInTheDocument();
    expect(screen.queryByText(/recorded: /)).toBeNull();
  });

  it("moves a slider by one unit, with Shift by ten, and not beyond its ends", async () => {
    const asked = serve({ ...answers, [WHAT_IF]: ok(CHANGED) });
    open();
    await screen.findByRole("table", { name: "Brokers" });
    const bucket = slider(/^Bucket/);
    fireEvent.keyDown(bucket, { key: "ArrowRight", shiftKey: true });
    expect(bucket).toHaveValue("58");
    for (let step = 0; step < 6; step += 1) {
      fireEvent.keyDown(bucket, { key: "ArrowDown", shiftKey: true });
    }
    expect(bucket).toHaveValue(bucket.getAttribute("min"));
    fireEvent.change(bucket, { target: { value: "48" } });
    expect(screen.getByRole("button", { name: "Reset" })).toBeDisabled();
    await act(() => new Promise((resolve) => setTimeout(resolve, 200)));
    expect(bodies(asked)).toEqual([]);
  });

  it("drains a broker, adds one and takes it back", async () => {
    const more = outcome({ shares: [...outcome().shares, share({ broker: "new-1" })] });
    const asked = serve({
      ...answers,
      [WHAT_IF]: ({ body }) =>
        ok((body as { added_brokers?: number }).added_brokers ? more : outcome()),
    });
    const { user } = open();
    const table = await brokersTable();
    await user.click(table.getByRole("button", { name: "Drain q-6" }));
    await user.click(screen.getByRole("button", { name: "Try one more" }));
    expect(await table.findByRole("row", { name: /^new-1/ })).toBeInTheDocument();
    expect(bodies(asked).at(-1)).toEqual({ drained_brokers: ["q-6"], added_brokers: 1 });
    expect(
      panel("What if").getByText("Also changed: 1 broker more; drained: q-6."),
    ).toBeInTheDocument();
    await user.click(table.getByRole("button", { name: "Remove new-1" }));
    await waitFor(() => expect(table.queryByRole("row", { name: /^new-1/ })).toBeNull());
    expect(bodies(asked).at(-1)).toEqual({ drained_brokers: ["q-6"], added_brokers: 0 });
  });

  it("keeps the former picture and the server's words where a change is refused", async () => {
    let busy = 2;
    serve({
      ...answers,
      [WHAT_IF]: ({ body }) => {
        if ((body as { batch?: number }).batch === 2) {
          return problem(400, "invalid", "Refused.", [
            { field: "batch", message: "A batch of 2 needs a bucket of 2." },
          ]);
        }
        busy -= 1;
        return busy >= 0 ? problem(429, "busy", "Another is being computed.") : ok(CHANGED);
      },
    });
    open();
    await screen.findByRole("table", { name: "Brokers" });
    fireEvent.change(slider(/^Bucket/), { target: { value: "96" } });
    // Twice another one is computed; it asks again by itself.
    await waitFor(() => expect(figure("p99, predicted").getByText("0.44")).toBeInTheDocument());
    fireEvent.change(slider(/^Batch/), { target: { value: "2" } });
    expect(await panel("What if").findByRole("alert")).toHaveTextContent(
      "A batch of 2 needs a bucket of 2. What is shown is the answer before.",
    );
    expect(figure("p99, predicted").getByText("0.44")).toBeInTheDocument();
    expect(panel("What if").getByRole("button", { name: "Try again" })).toBeInTheDocument();
  });

  it("tells who finds no room under the changes", async () => {
    const full = outcome({
      ...{ status: "infeasible", unassigned: 40, need_brokers: 1, meets: null },
      ...{ p99_s: null, processing_p99_s: null, penalty_s: null },
      curve: outcome().curve.map((one) => ({ ...one, fits: false, chosen: false, p99_s: null })),
    });
    serve({ ...answers, [WHAT_IF]: ok(full) });
    open();
    await screen.findByRole("table", { name: "Brokers" });
    fireEvent.change(slider(/^Topic rate/), { target: { value: "160000" } });
    expect(
      (
        await screen.findAllByText(
          /40 publishers find no room. 1 further broker as large as the largest would hold them/,
        )
      ).length,
    ).toBeGreaterThan(1);
    expect(figure("p99, predicted").getByText("–")).toBeInTheDocument();
  });

  it("is not offered to who may not start runs", async () => {
    serve(answersOf(placementDetail({ allowed_commands: [] })));
    open();
    await screen.findByRole("table", { name: "Brokers" });
    expect(slider(/^Bucket/)).toBeDisabled();
    expect(screen.queryByRole("button", { name: "Try one more" })).toBeNull();
    expect(screen.queryByRole("button", { name: /^Drain/ })).toBeNull();
  });
});
