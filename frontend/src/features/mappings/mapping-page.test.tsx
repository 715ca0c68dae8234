import { fireEvent, screen, waitFor, within } from "@testing-library/react";

import MappingPage from "./mapping-page";

import type { MappingDetail } from "@/api/mappings";
import {
  flowMove,
  mapHeat,
  handOvers,
  mapInForce,
  mapPoint,
  mappingDetail,
  mappingOutcome,
  mappingSettings,
  receiver,
  receiverDetail,
} from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const M7 = mappingDetail();
const HEAT = `GET /api/v1/mappings/${M7.id}/heat`;
/** What is filtered by the map in force, the proposed one and the cheapest. */
const HEATS: Readonly<Record<string, ReturnType<typeof mapHeat>>> = {
  in_force: mapHeat([
    [20, 1_800, 0, 0],
    [0, 1_400, 40, 300],
    [0, 0, 30, 120],
  ]),
  proposed: mapHeat(),
  "2": mapHeat([
    [20, 30, 0, 0],
    [0, 20, 40, 300],
    [0, 0, 30, 120],
  ]),
};
const answersOf = (mapping: MappingDetail) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ name: "Quarry" })),
  [`GET /api/v1/mappings/${mapping.id}`]: ok(mapping),
  [HEAT]: ({ query }: Asked) => ok(HEATS[query.get("map") ?? "proposed"] ?? mapHeat()),
  [`GET /api/v1/mappings/${mapping.id}/receivers`]: ok(page([receiver()], 500)),
  [`GET /api/v1/mappings/${mapping.id}/receivers/one`]: ok(receiverDetail()),
  [`GET /api/v1/mappings/${mapping.id}/moves`]: ok(page([flowMove()], 1_840)),
  "GET /api/v1/map-in-force": ok(mapInForce()),
  "GET /api/v1/hand-overs": ok(handOvers()),
  "GET /api/v1/topics": ok(page([])),
  "GET /api/v1/streams": ok(page([])),
  "GET /api/v1/mapping-settings": ok(page([mappingSettings()])),
});
const open = (query = "") =>
  renderPage(
    <MappingPage />,
    "/systems/:systemId/mappings/:id",
    `/systems/${SYSTEM}/mappings/${M7.id}${query}`,
  );
const panel = (name: string) => within(screen.getByRole("region", { name }));
const figure = (label: string) =>
  within(screen.getByText(label, { selector: "dt" }).parentElement ?? document.body);
const heatMap = () => screen.findByRole("grid", { name: /^What users filter/ });
const heatPanel = () => panel("Users against groups");
const curve = () => panel("How many moves are worth it?");
const slider = () => screen.getByRole("slider", { name: "Flows to move" });
const worth = (label: string) => curve().getByText(label, { selector: "dt" }).nextElementSibling;
const mapsAsked = (asked: readonly Asked[], rows: string) =>
  asked.filter(({ path }) => path.endsWith(rows)).map(({ query }) => query.get("map"));
const cells = (grid: HTMLElement, look: string) => grid.querySelectorAll(`rect.${look}`).length;

describe("a mapping", () => {
  it("shows its figures against the map in force", async () => {
    serve(answersOf(M7));
    open();
    await heatMap();
    expect(screen.getByRole("heading", { name: "Mapping M-7" })).toBeInTheDocument();
    expect(figure("Cost in force").getByText("231.5")).toBeInTheDocument();
    expect(figure("Cost in force").getByText("56 % of a random map")).toBeInTheDocument();
    expect(figure("Cost proposed").getByText("182.9")).toBeInTheDocument();
    expect(figure("Cost proposed").getByText("\u221221.0 %")).toHaveClass("up");
    expect(figure("Cost proposed").getByText(/, transport 58\.2 k work\/s$/)).toBeInTheDocument();
    expect(figure("Unwanted messages").getByText("124.7")).toBeInTheDocument();
    expect(figure("Unwanted messages").getByText("157.4 k msg/s in force")).toBeInTheDocument();
    expect(figure("Flows moved").getByText("1,840")).toBeInTheDocument();
    expect(figure("Flows moved").getByText("25.2 % of wanted, 8 streams")).toBeInTheDocument();
    expect(figure("Time to move").getByText("40 flows/s, pays after 40 s")).toBeInTheDocument();
    for (const name of ["How much each user filters and why", "Flows that move", "Pins"]) {
      expect(screen.getByRole("region", { name })).toBeInTheDocument();
    }
  });

  it("counts against keeping the map where that is not what is in force", async () => {
    const [keep, ...others] = M7.outcome.points;
    const points = [mapPoint({ ...keep, cost: 240_000, placed: 120 }), ...others];
    const outcome = mappingOutcome({ points, unmapped: 120 });
    serve(answersOf(mappingDetail({ kept_cost: 240_000, outcome })));
    open();
    await heatMap();
    expect(
      figure("Cost in force").getByText("without 120 flows that it does not map"),
    ).toBeInTheDocument();
    expect(figure("Cost proposed").getByText("\u221223.8 %")).toBeInTheDocument();
    expect(figure("Cost proposed").getByText(/against keeping it/)).toBeInTheDocument();
  });

  it("counts against keeping the map also where nothing else was worth its moves", async () => {
    const points = [mapPoint({ cost: 240_000, moved: 3, pays_after_s: null, gain_share: null })];
    const outcome = mappingOutcome({ points, proposed: 0 });
    serve(answersOf(mappingDetail({ cost: 240_000, kept_cost: 240_000, outcome })));
    open();
    await heatMap();
    expect(figure("Cost proposed").getByText("\u00b10")).toBeInTheDocument();
    expect(worth("Pays for itself after")).toHaveTextContent(
      "nothing is moved beyond what must be",
    );
  });

  it("draws what users filter in steps, with thresholds of the map in force", async () => {
    const asked = serve(answersOf(M7));
    const { user } = open();
    const grid = await heatMap();
    expect(mapsAsked(asked, "/heat").sort()).toEqual(["in_force", null]);
    const heat = heatPanel();
    expect(heat.getByText("unwanted and dropped messages, 10 users a row")).toBeInTheDocument();
    // 2,700 msg/s is most of what is filtered in one cell in force.
    expect(heat.getByText("from 200, 800, 1,600, 2,400 msg/s")).toBeInTheDocument();
    expect(cells(grid, "apart")).toBe(5);
    expect(["w0", "w1", "w2", "w3", "w4"].map((look) => cells(grid, look))).toEqual([
      ...[4, 1, 2, 0, 0],
    ]);
    expect(
      heat.getByText(
        /Group 3 is the widest: joined by 11 of 30 users, 2,400 msg\/s filtered, 76 %/,
      ),
    ).toBeInTheDocument();
    await user.click(heat.getByRole("button", { name: "In force" }));
    expect(["w2", "w3", "w4"].map((look) => cells(grid, look))).toEqual([0, 1, 1]);
    expect(heat.getByText("from 200, 800, 1,600, 2,400 msg/s")).toBeInTheDocument();
    expect(heat.getByText(/4,800 msg\/s filtered, 86 % of all/)).toBeInTheDocument();
  });

  it("reads cells by arrow keys and by the pointer", async () => {
    serve(answersOf(M7));
    open();
    const grid = await heatMap();
    const press = (key: string, shiftKey = false) => fireEvent.keyDown(grid, { key, shiftKey });
    // Such keys are the browser's: it goes back, or to the end of the page.
    for (const held of ["altKey", "ctrlKey", "metaKey"]) {
      expect(fireEvent.keyDown(grid, { key: "ArrowLeft", [held]: true })).toBe(true);
    }
    expect(within(grid).queryByRole("gridcell")).toBeNull();
    expect(press("ArrowRight")).toBe(false);
    const chosen = () => within(grid).getByRole("gridcell", { selected: true });
    const first =
      "10 users, the first desk-001, the last desk-010, in group 5: 10 of them joined; ";
    expect(chosen()).toHaveAccessibleName(
      `${first}250 msg/s wanted, 20.00 msg/s unwanted, 10.00 msg/s dropped.`,
    );
    expect(heatPanel().getByText(new RegExp(`^${first}`))).toBeInTheDocument();
    press("ArrowRight");
    press("ArrowDown");
    expect(
      heatPanel().getByText(/desk-101, the last desk-110, in group 3: 7 of them/),
    ).toBeVisible();
    expect(grid).toHaveAttribute("aria-activedescendant", chosen().id);
    press("ArrowDown", true);
    press("End");
    expect(
      heatPanel().getByText(/desk-201, the last desk-210, in groups 7 and 12: joined 12/),
    ).toBeVisible();
    press("ArrowRight");
    press("ArrowUp", true);
    expect(
      heatPanel().getByText(/desk-001, the last desk-010, in groups 7 and 12: not/),
    ).toBeVisible();
    press("Escape");
    expect(heatPanel().getByText(/^Point at a cell to read it\. Group 3/)).toBeInTheDocument();
    const cell = grid.querySelector('[data-row="2"][data-column="2"]');
    fireEvent.pointerOver(cell ?? grid);
    expect(
      heatPanel().getByText(/desk-210, in group 0: 10 of them joined; .* 30.00 msg/),
    ).toBeVisible();
    fireEvent.pointerLeave(grid);
    expect(within(grid).queryByRole("gridcell")).toBeNull();
  });

  it("shows the same numbers as a table, the dearest cell first", async () => {
    serve(answersOf(M7));
    const { user } = open();
    await heatMap();
    const menu = "Numbers and files of Users against groups";
    await user.click(screen.getByRole("button", { name: menu }));
    await user.click(await screen.findByRole("menuitem", { name: "Show as table" }));
    const table = within(screen.getByRole("table", { name: "Users against groups as table" }));
    const rows = table.getAllByRole("row").map(({ textContent }) => textContent);
    expect(rows).toHaveLength(8);
    expect(rows[1]).toBe("10 users, the first desk-001, the last desk-010341009004501,350");
  });

  it("chooses another map: numbers, address and rows follow the slider", async () => {
    const asked = serve(answersOf(M7));
    const { user, router } = open();
    await heatMap();
    expect(slider()).toHaveValue("1");
    expect(slider()).toHaveAttribute("aria-valuetext", "1,840 of 7,300");
    expect(worth("Share of the possible gain")).toHaveTextContent("74 %");
    expect(curve().getByRole("button", { name: "Reset to the proposed" })).toBeDisabled();
    fireEvent.change(slider(), { target: { value: "2" } });
    expect(router.state.location.search).toBe("?map=2");
    expect(slider()).toHaveAttribute("aria-valuetext", "5,400 of 7,300");
    expect(worth("Streams to move")).toHaveTextContent("150");
    expect(worth("Cost after")).toHaveTextContent("165.8k work/s");
    expect(worth("Share of the possible gain")).toHaveTextContent("100 %");
    expect(worth("Time to move, 40 flows/s")).toHaveTextContent("2 min");
    expect(worth("Pays for itself after")).toHaveTextContent("2 min");
    expect(curve().getByTitle("Proposed: 1,840 of 7,300")).toBeInTheDocument();
    expect(figure("Cost chosen").getByText("\u221228.4 %")).toBeInTheDocument();
    expect(figure("Flows moved").getByText("74.0 % of wanted, 150 streams")).toBeInTheDocument();
    expect(await heatPanel().findByText(/Groups 7 and 12 are the widest/)).toBeInTheDocument();
    for (const rows of ["/heat", "/receivers", "/moves"]) {
      await waitFor(() => expect(mapsAsked(asked, rows)).toContain("2"));
      expect(mapsAsked(asked, rows)).toContain(null);
    }
    await user.click(curve().getByRole("button", { name: "Reset to the proposed" }));
    expect(router.state.location.search).toBe("");
    expect(figure("Cost proposed").getByText("\u221221.0 %")).toBeInTheDocument();
    expect(slider()).toHaveValue("1");
  });

  it("keeps the slider where the curve is shown as a table", async () => {
    serve(answersOf(M7));
    const { user } = open();
    await heatMap();
    await user.click(
      curve().getByRole("button", { name: "Numbers and files of How many moves are worth it?" }),
    );
    await user.click(await screen.findByRole("menuitem", { name: "Show as table" }));
    const name = "How many moves are worth it? as table";
    const rows = within(curve().getByRole("table", { name })).getAllByRole("row");
    expect(rows.map(({ textContent }) => textContent).slice(1)).toEqual([
      "0000231,50074,100157,4000.00.0\u2013",
      "11,84080182,90058,200124,70074.046.239.5",
      "25,4001500165,80049,000116,800100.0138.8105.0",
    ]);
    fireEvent.change(slider(), { target: { value: "2" } });
    expect(worth("Cost after")).toHaveTextContent("165.8k work/s");
  });

  it("opens at the map of the address, and forgets pages of another's rows", async () => {
    const asked = serve(answersOf(M7));
    const { router } = open("?map=0&m-cursor=abc&r-order=user");
    await heatMap();
    expect(mapsAsked(asked, "/heat").sort()).toEqual(["0", "in_force"]);
    expect(figure("Cost chosen").getByText("\u00b10")).toBeInTheDocument();
    expect(figure("Time to move").getByText("40 flows/s, nothing moves")).toBeInTheDocument();
    expect(worth("Pays for itself after")).toHaveTextContent(
      /^nothing is moved beyond what must be$/,
    );
    fireEvent.change(slider(), { target: { value: "2" } });
    expect(router.state.location.search).toBe("?map=2&r-order=user");
  });

  it.each(["?map=3", "?map=-1", "?map=in_force", "?map="])(
    "shows the proposed map at an address that names none of its maps: %s",
    async (query) => {
      serve(answersOf(M7));
      open(query);
      await heatMap();
      expect(slider()).toHaveValue("1");
      expect(screen.getByText("Cost proposed")).toBeInTheDocument();
    },
  );

  it("says of moves that save nothing that they never pay", async () => {
    const points = [
      ...M7.outcome.points.slice(0, 1),
      mapPoint({ cost: 240_000, pays_after_s: null }),
    ];
    serve(answersOf(mappingDetail({ outcome: mappingOutcome({ points }) })));
    open();
    await heatMap();
    expect(worth("Pays for itself after")).toHaveTextContent("never, it saves nothing");
    expect(figure("Cost proposed").getByText("+3.67 %")).toHaveClass("worse");
  });

  it("says of the kept map that moves more than nothing that only this must be", async () => {
    const [keep, ...others] = M7.outcome.points;
    const points = [mapPoint({ ...keep, moved: 3, duration_s: 0.075 }), ...others];
    serve(answersOf(mappingDetail({ outcome: mappingOutcome({ points }) })));
    open("?map=0");
    await heatMap();
    expect(figure("Time to move").getByText("40 flows/s, only what must move")).toBeVisible();
    expect(worth("Pays for itself after")).toHaveTextContent(
      "nothing is moved beyond what must be",
    );
  });

  it("promises no map made anew where the curve was not drawn to its end", async () => {
    const compared = M7.outcome.compared.filter(({ map }) => map !== "anew");
    serve(answersOf(mappingDetail({ complete: false, outcome: mappingOutcome({ compared }) })));
    open();
    await heatMap();
    expect(curve().getByText("cheapest seen 165.8")).toBeInTheDocument();
    expect(curve().getByText("5,400, cheapest seen")).toBeInTheDocument();
    expect(curve().getByRole("img")).toHaveAccessibleName(/, cheapest seen 165\.8 k work\/s$/);
    expect(worth("Share of the gain of the cheapest seen")).toHaveTextContent("74 %");
    expect(screen.queryByText(/anew|possible gain/i)).toBeNull();
    expect(panel("Cost by layer").getByRole("img")).toHaveAccessibleName(/; Proposed: [^;]*$/);
  });

  it("names the map made anew where the curve reaches it", async () => {
    serve(answersOf(M7));
    open();
    await heatMap();
    expect(curve().getByText("cheapest 165.8")).toBeInTheDocument();
    expect(curve().getByText("5,400, cheapest")).toBeInTheDocument();
    expect(screen.queryByText(/cheapest seen/)).toBeNull();
  });

  it("has no bar of a flat map for which nothing was left, and says so", async () => {
    const words = "Flat: not computed, no time or memory was left for it.";
    const compared = M7.outcome.compared.filter(({ map }) => map !== "flat");
    serve(answersOf(mappingDetail({ outcome: mappingOutcome({ compared }) })));
    const { unmount } = open();
    await heatMap();
    expect(panel("Cost by layer").getByText(words)).toBeInTheDocument();
    expect(panel("Cost by layer").getByRole("img")).toHaveAccessibleName(/^Random: .*; In force: /);
    expect(panel("Cost by layer").getByRole("img")).not.toHaveAccessibleName(/Flat/);
    unmount();
    serve(answersOf(M7));
    open();
    await heatMap();
    expect(screen.queryByText(words)).toBeNull();
  });

  it("lays the one map of another method beside the kept one", async () => {
    const [keep] = M7.outcome.points;
    const points = [
      mapPoint({ ...keep, gain_share: null }),
      mapPoint({ cost: 240_000, pays_after_s: null, gain_share: null }),
    ];
    const compared = M7.outcome.compared.filter(({ map }) => map !== "anew");
    const outcome = mappingOutcome({ points, compared });
    serve(answersOf(mappingDetail({ method: "it_search", cost: 240_000, outcome })));
    open();
    await heatMap();
    expect(
      curve().getByText(/^It search answers with one map, .* "Both layers at once" also says/),
    ).toBeInTheDocument();
    expect(slider()).toHaveValue("1");
    expect(slider()).toHaveAttribute("max", "1");
    // It is dearer than the kept map: the cheapest is not at the end.
    expect(curve().getByText("1,840")).toBeInTheDocument();
    expect(curve().getByText("cheapest seen 231.5")).toBeInTheDocument();
    expect(worth("Share of the gain of the cheapest seen")).toHaveTextContent("\u2013");
    expect(worth("Pays for itself after")).toHaveTextContent("never, it saves nothing");
  });

  it("gives the key of searches to the users alone", async () => {
    serve(answersOf(M7));
    const { user } = open();
    await heatMap();
    await screen.findByRole("searchbox", { name: "Flow" });
    await user.keyboard("/");
    expect(screen.getByRole("searchbox", { name: "User" })).toHaveFocus();
    expect(screen.getAllByText("/", { selector: "kbd" })).toHaveLength(1);
  });

  it("weighs both layers of five maps on one scale", async () => {
    serve(answersOf(M7));
    open();
    await heatMap();
    const bars = () => panel("Cost by layer").getByRole("img");
    expect(bars()).toHaveAccessibleName(
      [
        "Random: 412.3 k work/s, of it transport 120.0 and messaging 292.3",
        "Flat: 268.9 k work/s, of it transport 0.0 and messaging 268.9",
        "In force: 231.5 k work/s, of it transport 74.1 and messaging 157.4",
        "Proposed: 182.9 k work/s, of it transport 58.2 and messaging 124.7",
        "Cheapest: 165.8 k work/s, of it transport 49.0 and messaging 116.8",
      ].join("; "),
    );
    // Lengths of both parts and the gap between them are as the costs.
    const ends = [...bars().querySelectorAll("g")].map((bar) => {
      const last = [...bar.querySelectorAll("rect")].at(-1);
      return Number(last?.getAttribute("x")) + Number(last?.getAttribute("width")) - 78;
    });
    const [random = 1] = ends;
    [412.3, 268.9, 231.5, 182.9, 165.8].forEach((cost, at) =>
      expect(ends[at]).toBeCloseTo((random * cost) / 412.3),
    );
    fireEvent.change(slider(), { target: { value: "0" } });
    expect(bars()).toHaveAccessibleName(/; Chosen: 231\.5 k work\/s, of it transport 74\.1/);
  });
});

describe("a mapping whose model has moved", () => {
  it("says that no plan can be made of it, and still shows all of it", async () => {
    serve({
      ...answersOf(M7),
      [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ model_version: 44 })),
    });
    open();
    await heatMap();
    expect(
      screen.getByText(/^The model is v44 now, and this mapping is of v42: no plan/),
    ).toBeVisible();
    expect(screen.getByRole("button", { name: "Make a plan" })).toBeDisabled();
    expect(screen.getByRole("region", { name: "In force now" })).toBeInTheDocument();
  });

  it("says nothing of it while the model stands", async () => {
    serve(answersOf(mappingDetail({ allowed_commands: ["plan"] })));
    open();
    await heatMap();
    expect(screen.getByRole("button", { name: "Make a plan" })).toBeEnabled();
    expect(screen.queryByText(/no plan can be made/)).toBeNull();
  });
});

describe("a mapping without a map in force", () => {
  const first = mapPoint({ moved: 0, moved_streams: 0, placed: 7_300, gain_share: null });
  const alone = mappingDetail({
    former_cost: null,
    ...{ moved: 0, moved_streams: 0 },
    outcome: mappingOutcome({
      points: [mapPoint({ ...first, duration_s: 182.5, pays_after_s: null })],
      proposed: 0,
      unmapped: 7_300,
      compared: M7.outcome.compared.filter(({ map }) => map !== "in_force" && map !== "anew"),
    }),
  });

  it("says that there is none, and why there is no curve", async () => {
    const asked = serve(answersOf(alone));
    open();
    await heatMap();
    expect(figure("Cost in force").getByText("no map in force")).toBeInTheDocument();
    expect(figure("Cost proposed").getByText("44 % of a random map")).toBeInTheDocument();
    expect(figure("Unwanted messages").getByText("232.8 k msg/s dropped whole")).toBeVisible();
    expect(figure("Flows placed").getByText("7,300")).toBeInTheDocument();
    expect(figure("Time to place").getByText("40 flows/s, nothing to pay back")).toBeVisible();
    expect(curve().getByText(/^No map was in force, so there is none to keep/)).toBeVisible();
    expect(worth("Flows that get their first stream")).toHaveTextContent("7,300");
    expect(screen.queryByRole("slider")).toBeNull();
    expect(screen.queryByText("Pays for itself after")).toBeNull();
    expect(screen.queryByRole("button", { name: "In force" })).toBeNull();
    expect(mapsAsked(asked, "/heat")).toEqual([null]);
    expect(panel("Cost by layer").getByRole("img")).toHaveAccessibleName(
      /^Random: .*; Flat: .*; Proposed: [^;]*$/,
    );
  });

  it.each([
    [true, /^Nothing is worth a move/],
    [false, /^The search was stopped by its time limit before it had weighed/],
  ])("says of one map why there is nothing to weigh, complete: %s", async (complete, words) => {
    // What pins tear away moves in the kept map, too.
    const point = mapPoint({ moved: 5, moved_streams: 0, gain_share: null, pays_after_s: null });
    const outcome = mappingOutcome({ points: [point], proposed: 0 });
    serve(answersOf(mappingDetail({ complete, outcome })));
    open();
    await heatMap();
    expect(curve().getByText(words)).toBeInTheDocument();
  });
});

describe("what cannot be shown", () => {
  it("keeps the other panels where cells cannot be loaded, and tries again", async () => {
    let isDown = true;
    serve({
      ...answersOf(M7),
      [HEAT]: () => (isDown ? problem(409, "not_computed", "The run was deleted.") : ok(mapHeat())),
    });
    const { user } = open();
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "What users filter could not be loaded. The run was deleted.",
    );
    expect(figure("Cost proposed").getByText("182.9")).toBeInTheDocument();
    isDown = false;
    await user.click(heatPanel().getByRole("button", { name: "Try again" }));
    expect(await heatMap()).toBeInTheDocument();
  });

  it("keeps its place while cells are read, and says that nobody joined where there are none", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const empty = { ...mapHeat(), groups: [], rows: [] };
    serve({
      ...answersOf(M7),
      [HEAT]: async () => {
        await answered;
        return ok(empty);
      },
    });
    open();
    const waiting = await screen.findByRole("status", { name: "Loading what users filter" });
    // Fifty rows of users, as they will be.
    expect(waiting.firstElementChild).toHaveStyle({ height: "683px" });
    answer();
    expect(await screen.findByText(/^No user joined a group of this map/)).toBeVisible();
  });

  it("says which mapping could not be loaded", async () => {
    serve({
      ...answersOf(M7),
      [`GET /api/v1/mappings/${M7.id}`]: problem(404, "not_found", "There is no such mapping."),
    });
    open();
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "This mapping could not be loaded. There is no such mapping.",
    );
  });
});
