import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";

import PlacementPage from "./placement-page";

import type { Part } from "@/api/placements";
import { noAdaptation } from "@/testing/adaptation-samples";
import { placementDetail, rounds } from "@/testing/placement-samples";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const L4 = placementDetail({ allowed_commands: ["rerun", "what_if", "plan"] });
const PLAN = `POST /api/v1/placements/${L4.id}/plan`;
const part = (more: Partial<Part>): Part => ({
  broker: "q-6",
  rate_per_s: 36_630,
  size: 15.98,
  mode: "enforce",
  passed_per_s: 33_300,
  waiting: 0,
  messages: null,
  held: null,
  p99_s: null,
  longest_s: null,
  wait_messages: null,
  wait_p99_s: null,
  publishers: null,
  ...more,
});
const answers = (parts: readonly Part[], rate = 110_000) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ name: "Quarry" })),
  [`GET /api/v1/placements/${L4.id}`]: ok(L4),
  [`GET /api/v1/placements/${L4.id}/moves`]: ok(page([], 0)),
  [`GET /api/v1/placements/${L4.id}/rounds`]: ok(rounds()),
  [`GET /api/v1/topics/${L4.topic ?? ""}/adaptation`]: ok(noAdaptation()),
  [`GET /api/v1/placements/${L4.id}/parts`]: ok({
    results: parts,
    token_rate_per_s: rate,
    bucket: 48,
    wait_messages: parts.reduce((sum, one) => sum + (one.wait_messages ?? 0), 0),
    largest_wait_p99_s: parts.reduce<number | null>(
      (most, { wait_p99_s: one }) => (one === null ? most : Math.max(most ?? 0, one)),
      null,
    ),
    ...{ unlisted: null, unlisted_names: [] as string[] },
  }),
});
const open = () =>
  renderPage(
    <PlacementPage />,
    "/systems/:systemId/placements/:id",
    `/systems/${SYSTEM}/placements/${L4.id}`,
  );

describe("parts in force", () => {
  it("shows what a counted part would hold, and what is closed", async () => {
    serve(
      answers([
        part({ mode: "count", messages: 2_000, held: 30, p99_s: 0.0042, longest_s: 0.02 }),
        part({ broker: "q-3", rate_per_s: 0, size: 0, passed_per_s: 0 }),
      ]),
    );
    open();
    const table = within(await screen.findByRole("table", { name: "Parts in force" }));
    const counted = within(table.getByRole("row", { name: /q-6/ }));
    expect(counted.getByText("only counted")).toBeInTheDocument();
    expect(counted.getByTitle("30 of 2,000 messages")).toHaveTextContent("1.50 %");
    expect(counted.getByText("4.20 ms")).toBeInTheDocument();
    expect(table.getByRole("row", { name: /q-3/ })).toHaveTextContent("closed");
    expect(screen.queryByText(/add up to/)).toBeNull();
  });

  it("lays the measured wait beside the predicted one, and what it rests on", async () => {
    const [first, second] = L4.outcome.shares;
    if (!first || !second) throw new Error("the sample has shares");
    const of = ({ broker, token_rate_per_s: rate, bucket }: typeof first) =>
      part({ broker, rate_per_s: rate ?? 0, size: bucket ?? 0 });
    serve(
      answers([
        { ...of(first), wait_p99_s: 0.0003, wait_messages: 1_980_000, publishers: 333 },
        { ...of(second), wait_p99_s: 0.0021, wait_messages: 99 },
        part({ broker: "q-8", publishers: 0 }),
        part({ broker: "q-1", rate_per_s: 0, size: 0, publishers: 0 }),
      ]),
    );
    open();
    const table = within(await screen.findByRole("table", { name: "Parts in force" }));
    const cells = (name: RegExp) => {
      const titles = table.getAllByRole("columnheader").map(({ textContent }) => textContent);
      const row = within(table.getByRole("row", { name })).getAllByRole("cell");
      return Object.fromEntries(titles.map((title, index) => [title, row[index]?.textContent]));
    };
    const measured = "p99 wait, measured";
    expect(cells(/q-6/)).toMatchObject({
      [measured]: "0.30 ms",
      Predicted: "0.31 ms",
      "Ofmsg, last minute": "1,980,000",
      Publishers: "333",
    });
    expect(cells(/q-3/)).toMatchObject({ [measured]: "2.10 ms of few", Publishers: "any" });
    expect(table.getByTitle(/Rests on 99 messages/)).toBeInTheDocument();
    // Its part is another than this placement's, which predicts nothing of it.
    expect(cells(/q-8/)).toMatchObject({
      [measured]: "not measured yet",
      Predicted: "\u2013",
    });
    expect(cells(/q-1/)).toMatchObject({ [measured]: "\u2013", Publishers: "0" });
    expect(table.queryByRole("columnheader", { name: /would/i })).toBeNull();
    expect(screen.getByText(/SLO: 99 % within 1.00 ms/)).toHaveTextContent(
      /99 % of 1,980,099 messages waited at most 2.10 ms.*the wait alone exceeds the SLO/,
    );
  });

  it("names the publishers that are let in nowhere", async () => {
    const some = answers([part({ publishers: 331 })]);
    const address = `GET /api/v1/placements/${L4.id}/parts` as const;
    const { body } = some[address] as { body: object };
    serve({ ...some, [address]: ok({ ...body, unlisted: 5, unlisted_names: ["a", "b", "c"] }) });
    open();
    expect(await screen.findByText(/5 publishers of the topic/)).toHaveTextContent(
      "5 publishers of the topic are in no list and let in nowhere: a, b, c and 2 more. Place the topic again, or roll back the plan that released them.",
    );
  });

  it("keeps what is only counted apart from what is measured", async () => {
    serve(answers([part({ mode: "count", messages: 2_000, held: 30, p99_s: 0.0042 })]));
    open();
    const table = within(await screen.findByRole("table", { name: "Parts in force" }));
    expect(table.getByRole("columnheader", { name: /p99 would wait/ })).toBeInTheDocument();
    expect(table.queryByRole("columnheader", { name: /measured/ })).toBeNull();
    expect(screen.queryByText(/SLO: 99 %/)).toBeNull();
  });

  it("says that parts exceed a contract that was lowered", async () => {
    serve(answers([part({})], 30_000));
    open();
    expect(await screen.findByText(/The parts add up to 36,630 tokens\/s/)).toHaveTextContent(
      "place it again",
    );
  });

  it("says nothing where the bucket is not split", async () => {
    serve(answers([]));
    open();
    await screen.findByRole("heading", { name: "Placement of market.depth" });
    expect(screen.queryByText("In force at brokers")).toBeNull();
  });
});

describe("a plan of a placement", () => {
  it("asks whether to hold or to count, and shows why it was refused", async () => {
    const user = userEvent.setup();
    const asked = serve({
      ...answers([]),
      [PLAN]: problem(409, "enforced_already", "Parts are enforced."),
    });
    open();
    await user.click(await screen.findByRole("button", { name: "Make a plan" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/334 publishers have to connect elsewhere/)).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Only count it" }));
    await user.click(dialog.getByRole("button", { name: "Make a plan" }));
    expect(await dialog.findByText("Parts are enforced.")).toBeInTheDocument();
    expect(asked.find(({ path }) => path.endsWith("/plan"))?.body).toEqual({
      title: "",
      mode: "count",
    });
  });
});
