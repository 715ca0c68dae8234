import { QueryClient } from "@tanstack/react-query";
import { act, screen, waitFor, within } from "@testing-library/react";

import { MappingHead } from "./mapping-head";
import MappingsPage from "./mappings-page";

import { hear } from "@/api/live";
import { keys } from "@/api/query-keys";
import { computationOf } from "@/lib/computations";
import {
  handOvers,
  mapInForce,
  mappable,
  mapping,
  mappingDetail,
  mappingMethod,
  mappingSettings,
} from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, run, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const STARTED = run({ kind: "mapping", state: "queued", answer: null });
const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ name: "Quarry" })),
  "GET /api/v1/mappings": ok(
    page([
      mapping(),
      mapping({
        id: "ee111111-1111-4111-8111-111111111112",
        ...{
          name: "M-6",
          number: 6,
          complete: false,
          former_cost: null,
          kept_cost: null,
          moved: 0,
        },
        ...{ method: "groups-first", asked_by: null },
      }),
      mapping({
        id: "ee111111-1111-4111-8111-111111111113",
        ...{ name: "M-5", number: 5, cost: 0, former_cost: 0, kept_cost: 0, random_cost: 0 },
      }),
      mapping({
        id: "ee111111-1111-4111-8111-111111111114",
        ...{ name: "M-4", number: 4, cost: 300, former_cost: 400, kept_cost: 200 },
      }),
    ]),
  ),
  "GET /api/v1/mappable": ok(mappable()),
  "GET /api/v1/filtering": ok({ because: "No agent of Quarry measured.", cells: [] }),
  "GET /api/v1/map-in-force": ok(mapInForce()),
  "GET /api/v1/hand-overs": ok(handOvers()),
  "GET /api/v1/mapping-settings": ok(page([mappingSettings()])),
  "GET /api/v1/mapping-methods": ok({
    results: [
      mappingMethod(),
      mappingMethod({ name: "flat", is_default: false, title: "Flat", parameters: [] }),
    ],
  }),
};
const open = (query = "") =>
  renderPage(
    <MappingsPage />,
    "/systems/:systemId/mappings",
    `/systems/${SYSTEM}/mappings${query}`,
  );

describe("the mappings of a system", () => {
  it("stand with their cost against the map in force and a random one", async () => {
    serve(answers);
    open();
    const table = within(await screen.findByRole("table", { name: "Mappings" }));
    const cells = (name: RegExp) => {
      const titles = table.getAllByRole("columnheader").map(({ textContent }) => textContent);
      const row = within(table.getByRole("row", { name })).getAllByRole("cell");
      return Object.fromEntries(titles.map((title, index) => [title, row[index]?.textContent]));
    };
    expect(cells(/M-7/)).toMatchObject({
      Method: "Both layers at once",
      "Cost in forcework/s": "231,500",
      "Costwork/s": "182,900",
      "Against keeping": "\u221221.0 %",
      "Of random": "44 %",
      "Flows moved": "1,840 of 7,300",
      "Unwantedmsg/s": "124,700",
      "Asked by": "Ines Moreau",
    });
    expect(table.getByText("\u221221.0 %")).toHaveClass("up");
    expect(cells(/M-6/)).toMatchObject({
      Mapping: "M-6 Time limit",
      Method: "Groups first",
      "Cost in forcework/s": "\u2013",
      "Against keeping": "\u2013",
      "Flows moved": "all new",
      "Asked by": "Weir",
    });
    // Nothing is filtered, now as before: no ratio of nothing.
    expect(cells(/M-5/)).toMatchObject({ "Against keeping": "\u2013", "Of random": "\u2013" });
    // Less than in force, more than keeping it would cost.
    expect(cells(/M-4/)).toMatchObject({ "Cost in forcework/s": "400" });
    expect(table.getByText("+50.0 %")).toHaveClass("worse");
    expect(table.getByText("+50.0 %")).toHaveAttribute(
      "title",
      "To keep the map in force costs 200 work/s",
    );
  });

  it("begin with what there is to map", async () => {
    serve(answers);
    open();
    expect(await screen.findByText("7,300")).toBeInTheDocument();
    expect(screen.getByText("35,000 interests, 70 flows each")).toBeInTheDocument();
    expect(screen.getByText("99.7 % of what is wanted")).toBeInTheDocument();
    expect(screen.getByText("2 flows, 1 stream")).toBeInTheDocument();
  });

  it("say why nothing can be mapped, and lead to where it is added", async () => {
    const because = "No stream has the number 5; streams are numbered from 0 without gaps.";
    serve({
      ...answers,
      "GET /api/v1/mappings": ok(page([])),
      "GET /api/v1/mappable": ok(mappable({ because, interests: 0, users: 0, wanted_flows: 0 })),
    });
    const { user } = open("?ask=1");
    const dialog = within(await screen.findByRole("dialog", { name: "Map flows" }));
    expect(await dialog.findByText(/No stream has the number 5/)).toHaveTextContent(
      "Go to topics, subscribers, streams or groups, or import interests.",
    );
    expect(dialog.getByRole("link", { name: "import interests" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/subscribers?import=interests`,
    );
    expect(dialog.getByRole("link", { name: "streams" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/streams`,
    );
    const start = dialog.getByRole("button", { name: "Start run" });
    expect(start).toBeDisabled();
    expect(start).toHaveAttribute("title", because);
    await user.keyboard("{Escape}");
    expect(await screen.findByText(/This system has none yet/)).toBeInTheDocument();
    expect(screen.getByText("nobody wants anything")).toBeInTheDocument();
    // Where there would be maps, too.
    const list = within(screen.getByRole("region", { name: "Mappings" }));
    expect(list.getByRole("link", { name: "import interests" })).toBeInTheDocument();
  });

  it("show what fails beside what does not", async () => {
    serve({ ...answers, "GET /api/v1/mappable": problem(503, "busy", "The database is away.") });
    open();
    expect(await screen.findByRole("table", { name: "Mappings" })).toBeInTheDocument();
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "What there is to map could not be loaded. The database is away.",
    );
  });

  it("are made by nobody who may not start runs, and name the run that makes the next", async () => {
    serve({ ...answers, [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })) });
    const { queries } = open("?ask=1");
    expect(await screen.findByRole("table", { name: "Mappings" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Map flows" })).toBeNull();
    expect(screen.queryByRole("dialog")).toBeNull();
    const heard = (number: number, run_kind: string) => ({
      ...{ kind: "run", id: `heard-${number}`, number, system: SYSTEM, state: "running" },
      ...{ attempt: 1, method: "joint", progress: {}, cancel_requested: false, failure: "" },
      run_kind,
    });
    act(() => {
      hear(queries, heard(1, "mapping"));
      hear(queries, heard(2, "placement"));
    });
    expect(await screen.findByRole("link", { name: "R-1" })).toBeInTheDocument();
    expect(screen.queryByRole("link", { name: "R-2" })).toBeNull();
    act(() => hear(queries, { kind: "snapshot", runs: [] }));
  });
});

describe("the dialog", () => {
  const sentOf = (asked: ReturnType<typeof serve>, path: string, method = "POST") =>
    asked.find((one) => one.method === method && one.path.endsWith(path));

  it("says what is mapped by which weights, sends it, and leads to the run", async () => {
    const asked = serve({ ...answers, "POST /api/v1/mappings": { status: 202, body: STARTED } });
    const { user, router } = open("?ask=1");
    const dialog = within(await screen.findByRole("dialog", { name: "Map flows" }));
    expect(
      await dialog.findByText(
        "Wanted: 7,300 of 20,000 flows (500 users, 35,000 interests); they go into 200 streams in 20 groups; 2 flows and 1 stream pinned.",
      ),
    ).toBeInTheDocument();
    expect(await dialog.findByText(/transport 2, messaging 1, aggregation 8/)).toHaveTextContent(
      "A moved flow is charged 0.28 work/s: 1,000 work over 60 min.",
    );
    await user.click(dialog.getByRole("button", { name: /Show the 1 parameter/ }));
    const effort = dialog.getByRole("textbox", { name: "Effort" });
    await user.clear(effort);
    await user.type(effort, "50");
    await user.type(dialog.getByRole("textbox", { name: /Time limit/ }), "90");
    await user.type(dialog.getByRole("textbox", { name: /Note/ }), "New season");
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STARTED.id}`));
    const sent = sentOf(asked, "/mappings");
    expect(sent?.body).toEqual({
      ...{ system: SYSTEM, method: "joint", parameters: { effort: 50 } },
      ...{ seed: 0, time_limit_s: 90, note: "New season" },
    });
    expect(sent?.headers.get("Idempotency-Key")).toBeTruthy();
  });

  it("shows what is wrong at its field, before and after the server has seen it", async () => {
    const asked = serve({
      ...answers,
      "POST /api/v1/mappings": problem(400, "invalid", "Refused.", [
        { field: "parameters.effort", message: "At most 1,000." },
        { field: "time_limit_s", message: "Too short." },
        { field: "streams", message: "No stream has the number 5." },
      ]),
    });
    const { user } = open("?ask=1");
    const dialog = within(await screen.findByRole("dialog", { name: "Map flows" }));
    const limit = await dialog.findByRole("textbox", { name: /Time limit/ });
    const seed = dialog.getByRole("textbox", { name: "Seed" });
    await user.type(limit, "0.05");
    await user.clear(seed);
    await user.type(seed, "1.5");
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    expect(limit).toBeInvalid();
    expect(seed).toBeInvalid();
    expect(sentOf(asked, "/mappings")).toBeUndefined();
    await user.clear(limit);
    await user.clear(seed);
    await user.click(dialog.getByRole("button", { name: "Start run" }));
    expect(await dialog.findByText("Too short.")).toBeInTheDocument();
    // The parameters unfold where one of them is wrong.
    expect(dialog.getByRole("textbox", { name: "Effort" })).toBeInvalid();
    expect(dialog.getByRole("alert")).toHaveTextContent("No stream has the number 5.");
    expect(sentOf(asked, "/mappings")?.body).toMatchObject({ seed: 0, time_limit_s: null });
  });

  it("keeps what is typed while the weights are changed", async () => {
    let stored = mappingSettings();
    const asked = serve({
      ...answers,
      "GET /api/v1/mapping-settings": () => ok(page([stored])),
      [`PATCH /api/v1/mapping-settings/${stored.id}`]: ({ body }) => {
        stored = { ...stored, ...(body as object), version: 4 };
        return ok(stored);
      },
    });
    const { user } = open("?ask=1");
    const dialog = within(await screen.findByRole("dialog", { name: "Map flows" }));
    await user.type(await dialog.findByRole("textbox", { name: /Note/ }), "New season");
    await user.click(await dialog.findByRole("button", { name: "Change the weights" }));
    const horizon = await screen.findByRole("textbox", { name: "Horizon" });
    await user.clear(horizon);
    await user.type(horizon, "7200");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(await screen.findByText(/0.14 work\/s: 1,000 work over 2 h/)).toBeVisible();
    expect(screen.getByRole("textbox", { name: /Note/ })).toHaveValue("New season");
    const sent = sentOf(asked, `/mapping-settings/${stored.id}`, "PATCH");
    expect(sent?.body).toEqual({ horizon_s: 7200 });
    expect(sent?.headers.get("If-Match")).toBe('"3"');
  });
});

describe("the head of a mapping", () => {
  const show = (change: Parameters<typeof mappingDetail>[0] = {}) =>
    renderPage(
      <MappingHead mapping={mappingDetail(change)} />,
      "/systems/:systemId/mappings/:id",
      `/systems/${SYSTEM}/mappings/1`,
    );

  it("says what was mapped, by what and by whom, and computes it again", async () => {
    const asked = serve({
      ...answers,
      [`POST /api/v1/runs/${mapping().run}/rerun`]: { status: 202, body: STARTED },
    });
    const { user, router } = show();
    expect(screen.getByRole("heading", { name: "Mapping M-7" })).toBeInTheDocument();
    expect(screen.getByText("20,000 flows, 7,300 wanted")).toBeInTheDocument();
    expect(screen.getByText("500 users, 70 flows each")).toBeInTheDocument();
    expect(screen.getByText("200 streams in 20 groups")).toBeInTheDocument();
    expect(screen.getByText("transport 2, messaging 1, aggregation 8")).toBeInTheDocument();
    expect(screen.getByText(/Ines Moreau,/)).toBeInTheDocument();
    expect(screen.queryByText("Time limit")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Weights" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Weights" }));
    expect(await dialog.findByRole("textbox", { name: "Receiving a packet" })).toHaveValue("2");
    await user.keyboard("{Escape}");
    await user.click(screen.getByRole("button", { name: "Run again" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STARTED.id}`));
    expect(asked.some(({ path }) => path.endsWith("/rerun"))).toBe(true);
  });

  it("says where the search was stopped, and offers what may be done", async () => {
    serve({ ...answers, [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })) });
    const { outcome } = mappingDetail();
    show({
      ...{ complete: false, allowed_commands: [], users: 3, interests: 20, note: "Trial" },
      outcome: { ...outcome, unmapped: 20 },
    });
    expect(screen.getByText("Time limit")).toBeInTheDocument();
    expect(screen.getByText("3 users, 6.7 flows each")).toBeInTheDocument();
    expect(screen.getByText(/20 of them without a stream/)).toBeInTheDocument();
    expect(screen.getByText("Trial")).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Run again" })).toBeNull();
    await waitFor(() => expect(screen.queryByRole("link", { name: "Map flows" })).toBeNull());
  });

  it.each([
    [4, 4, "4 users, 1 flow each"],
    [4, 0, "4 users, 0 flows each"],
    [10, 13, "10 users, 1.3 flows each"],
    [1, 1, "1 user, 1 flow each"],
    [0, 0, "0 users, 0 flows each"],
  ])("counts of %d users %d interests in one or many", (users, interests, words) => {
    serve(answers);
    show({ users, interests });
    expect(screen.getByText(words)).toBeInTheDocument();
  });
});

describe("news", () => {
  const { id } = mapping();
  const { mappings: of } = keys;
  const KNOWN = {
    list: of.list({ system: SYSTEM }),
    one: of.one(id),
    heat: of.heat(id, "", 50, 40),
    receivers: of.receivers(id, "", {}),
    moves: of.moves(id, "2", {}),
    mappable: of.mappable(SYSTEM),
    "mappable of another": of.mappable("another"),
    "in force": of.inForce(SYSTEM),
    "in force in another": of.inForce("another"),
    settings: of.settings(SYSTEM),
    "settings of another": of.settings("another"),
  };
  const freshened = (news: Parameters<typeof hear>[1]) => {
    const queries = new QueryClient();
    for (const key of Object.values(KNOWN)) queries.setQueryData(key, {});
    act(() => hear(queries, news));
    return Object.entries(KNOWN)
      .filter(([, key]) => queries.getQueryState(key)?.isInvalidated)
      .map(([name]) => name);
  };

  it("of a stored mapping freshen lists and what there is to map, and no map that stands", () => {
    expect(freshened({ kind: "mapping", id, system: SYSTEM })).toEqual(["list", "mappable"]);
    const ended = { kind: "run", id: "ended", number: 9, system: SYSTEM, state: "succeeded" };
    const rest = { method: "joint", attempt: 1, progress: {}, cancel_requested: false };
    expect(freshened({ ...ended, ...rest, failure: "", run_kind: "mapping" })).toEqual(["list"]);
  });

  it("of weights, which name no mapping, freshen those of their system", () => {
    // Weights are what the map in force is priced by.
    const known = freshened({ kind: "mapping", system: SYSTEM });
    expect(known).toEqual(["in force", "settings"]);
  });

  it("of a system, whose catalog or map has moved, freshen what is mapped and what it costs", () => {
    expect(freshened({ kind: "system", id: SYSTEM, model_version: 43 })).toEqual([
      ...["mappable", "mappable of another", "in force", "in force in another"],
    ]);
  });
});

it("show what is in force now beside what the newest promised", async () => {
  serve({ ...answers, [`GET /api/v1/mappings/${mapping().id}`]: ok(mappingDetail()) });
  open();
  const sub = await screen.findByText("k work/s, beside what M-7 promised");
  expect(screen.getByRole("region", { name: "In force now" })).toContainElement(sub);
});

it("are computed again by the methods that the installation has, and become plans", async () => {
  serve(answers);
  const recomputed = computationOf("mapping")?.recomputed;
  const methods = await recomputed?.methods(new QueryClient());
  expect(methods?.map(({ name }) => name)).toEqual(["joint", "flat"]);
  expect(recomputed?.about).toContain("a plan moves them");
});
