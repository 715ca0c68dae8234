import { act, screen, waitFor, within } from "@testing-library/react";

import { NoRoomPanel } from "./no-room-panel";
import PlacementsPage from "./placements-page";

import { hear } from "@/api/live";
import { placement, placementMethod } from "@/testing/placement-samples";
import { renderPage, renderUi } from "@/testing/render";
import { broker, page, run, runDetail, session, system, SYSTEM, topic } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const DEPTH = topic({ name: "market.depth", token_rate_per_s: 110_000, token_bucket: 48 });
const OTHER = "33333333-3333-4333-8333-333333333334";
const PLAIN = topic({ id: OTHER, name: "quotes.eu" });
const STARTED = run({ kind: "placement", state: "queued", answer: null });
const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/placements": ok(
    page([
      placement(),
      placement({
        id: "aa111111-1111-4111-8111-111111111112",
        ...{ name: "L-3", number: 3, meets: false, p99_s: null, penalty_s: null },
      }),
      placement({
        id: "aa111111-1111-4111-8111-111111111113",
        ...{ name: "L-2", number: 2, topic: null, meets: null, slo_p99_s: null },
      }),
    ]),
  ),
  "GET /api/v1/placement-methods": ok({
    results: [
      placementMethod({
        parameters: [
          {
            ...{ name: "stay", type: "boolean", unit: null, minimum: null, maximum: null },
            ...{ exclusive: false, help: "Leave publishers", required: false, default: true },
          },
        ],
      }),
      placementMethod({ name: "max_min", is_default: false, title: "Even parts (max-min)" }),
    ],
  }),
  "GET /api/v1/topics": ok(page([DEPTH, PLAIN])),
  [`GET /api/v1/topics/${DEPTH.id}`]: ok(DEPTH),
  "GET /api/v1/brokers": ok(
    page([
      broker({ name: "q-1", publish_rate_max_per_s: 80_000 }),
      broker({ id: "44444444-4444-4444-8444-444444444449", name: "relay" }),
    ]),
  ),
};
const open = (query = "") =>
  renderPage(
    <PlacementsPage />,
    "/systems/:systemId/placements",
    `/systems/${SYSTEM}/placements${query}`,
  );

describe("the placements of a system", () => {
  it("stand with their delay against the objective", async () => {
    serve(answers);
    open();
    const table = within(await screen.findByRole("table", { name: "Placements" }));
    const rowOf = (name: string) => within(table.getByRole("row", { name: new RegExp(name) }));
    expect(rowOf("L-4").getByText("0.68")).toBeInTheDocument();
    expect(rowOf("L-4").getByText("1.00")).toBeInTheDocument();
    expect(rowOf("L-4").getByText("Meets")).toBeInTheDocument();
    expect(rowOf("L-4").getByText("0.24")).toBeInTheDocument();
    expect(rowOf("L-4").getByText("of 1,000")).toBeInTheDocument();
    expect(rowOf("L-4").getByRole("link", { name: "market.depth" })).toBeInTheDocument();
    expect(rowOf("L-3").getByText("no bound")).toBeInTheDocument();
    expect(rowOf("L-3").getByText("Misses")).toBeInTheDocument();
    expect(rowOf("L-2").getByText("no SLO")).toBeInTheDocument();
    // Its topic was deleted since.
    expect(rowOf("L-2").queryByRole("link", { name: "market.depth" })).toBeNull();
  });

  it("say what belongs there while there is none, and who computes one now", async () => {
    serve({ ...answers, "GET /api/v1/placements": ok(page([])) });
    const { queries, user } = open();
    expect(await screen.findByText(/This system has none yet/)).toBeInTheDocument();
    const told = (number: number, run_kind: string) => ({
      ...{ kind: "run", id: `told-${number}`, number, system: SYSTEM, state: "running" },
      ...{ attempt: 1, method: "srtm", progress: {}, cancel_requested: false, failure: "" },
      run_kind,
    });
    act(() => {
      hear(queries, told(1, "placement"));
      hear(queries, told(2, "allocation"));
    });
    expect(await screen.findByRole("link", { name: "R-1" })).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "R-2" })).toBeNull();
    act(() => hear(queries, { kind: "snapshot", runs: [] }));
    const [command] = screen.getAllByRole("button", { name: "Place a topic" });
    if (command) await user.click(command);
    expect(await screen.findByRole("dialog", { name: "Place a topic" })).toBeInTheDocument();
  });

  it("are made by nobody who may not start runs", async () => {
    serve({ ...answers, [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })) });
    open("?place=1");
    expect(await screen.findByRole("table", { name: "Placements" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Place a topic" })).toBeNull();
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});

describe("the dialog", () => {
  it("sends topic, brokers to drain, method with parameters, and leads to the run", async () => {
    const asked = serve({
      ...answers,
      "POST /api/v1/placements": { status: 202, body: STARTED },
    });
    const { user, router } = open("?place=1");
    const dialog = within(await screen.findByRole("dialog", { name: "Place a topic" }));
    await user.click(await dialog.findByRole("combobox", { name: "Topic" }));
    const plain = await screen.findByRole("option", { name: /quotes.eu: no token bucket/ });
    expect(plain).toHaveAttribute("data-combobox-disabled");
    await user.click(screen.getByRole("option", { name: /market.depth, 110,000 tokens/ }));
    await user.click(dialog.getByRole("combobox", { name: /Brokers to drain/ }));
    expect(screen.queryByRole("option", { name: "relay" })).toBeNull();
    await user.click(await screen.findByRole("option", { name: "q-1" }));
    await user.click(dialog.getByRole("button", { name: /Show the 1 parameter/ }));
    await user.click(dialog.getByRole("checkbox", { name: /Stay/ }));
    await user.type(dialog.getByRole("textbox", { name: /Note/ }), "Before the quarter");
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STARTED.id}`));
    const sent = asked.find(
      ({ method, path }) => method === "POST" && path.endsWith("/placements"),
    );
    expect(sent?.body).toEqual({
      ...{ system: SYSTEM, topic: DEPTH.id, method: "srtm", parameters: { stay: false } },
      ...{ drained_brokers: [broker().id], seed: 0, note: "Before the quarter" },
    });
    expect(sent?.headers.get("Idempotency-Key")).toBeTruthy();
  });

  it("shows what the server refuses at the field, and asks first for what is missing", async () => {
    serve({
      ...answers,
      "POST /api/v1/placements": problem(400, "invalid", "Refused.", [
        { field: "topic", message: "market.depth has no publishers." },
        { field: "drained_brokers[0]", message: "md-1 is pinned to q-1." },
        { field: "", message: "The system is busy." },
      ]),
    });
    const { user } = open("?place=1");
    const dialog = within(await screen.findByRole("dialog", { name: "Place a topic" }));
    await user.click(await dialog.findByRole("button", { name: "Start run" }));
    expect(dialog.getByText("Choose a topic.")).toBeInTheDocument();
    await user.click(dialog.getByRole("combobox", { name: "Topic" }));
    await user.click(await screen.findByRole("option", { name: /market.depth/ }));
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    expect(await dialog.findByText("market.depth has no publishers.")).toBeInTheDocument();
    expect(dialog.getByRole("combobox", { name: "Topic" })).toBeInvalid();
    expect(dialog.getByText("md-1 is pinned to q-1.")).toBeInTheDocument();
    expect(dialog.getByRole("alert")).toHaveTextContent("The system is busy.");
  });

  it("begins with the topic that it was asked about", async () => {
    serve(answers);
    open(`?place=1&topic=${DEPTH.id}`);
    const dialog = within(await screen.findByRole("dialog", { name: "Place a topic" }));
    await waitFor(() =>
      expect(dialog.getByRole("combobox", { name: "Topic" })).toHaveDisplayValue(/market.depth/),
    );
  });
});

it("says who found no room, what each broker takes, and what would help", () => {
  renderUi(
    <NoRoomPanel
      run={runDetail({
        state: "infeasible",
        infeasibility: {
          topic: "market.depth",
          sentence: "2 publishers of market.depth with 300 msg/s find no room.",
          next_moves: ["Add 1 broker that takes 80,000 msg/s.", "Unpin md-7, or make room at q-1."],
          ...{ publishers: 2, rate_per_s: 300, need_brokers: 1 },
          without_room: [{ name: "md-7", rate_per_s: 200, group: null, pinned_to: "q-1" }],
          rooms: [
            {
              ...{ broker: "q-1", drained: true, max_rate_per_s: 80_000 },
              ...{ allocated_rate_per_s: 60_000, rate_per_s: 0, room_per_s: 0 },
            },
          ],
        },
      })}
    />,
  );
  expect(screen.getByText("Unpin md-7, or make room at q-1.")).toBeInTheDocument();
  const lost = within(screen.getByRole("table", { name: "Who has no room" }));
  expect(lost.getByRole("row", { name: /md-7.*200.*q-1/ })).toBeInTheDocument();
  expect(screen.getByText("The largest 1 of 2.")).toBeInTheDocument();
  const rooms = within(screen.getByRole("table", { name: "What each broker takes" }));
  expect(rooms.getByRole("img", { name: "75.0 % of capacity" })).toBeInTheDocument();
  expect(rooms.getByText("drained")).toBeInTheDocument();
});
