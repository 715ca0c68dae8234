/** What the dialog says before a plan is made of a map, and what it sends. */
import { screen, waitFor, within } from "@testing-library/react";

import { MakePlan } from "./make-plan";

import type { MappingDetail } from "@/api/mappings";
import {
  mappingDetail,
  mapPoint,
  mappingOutcome,
  mappingSettings,
} from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const M7 = mappingDetail({ allowed_commands: ["rerun", "plan"] });
const PLAN = `POST /api/v1/mappings/${M7.id}/plan`;
const [KEEP = mapPoint()] = M7.outcome.points;
const ofPoints = (
  points: MappingDetail["outcome"]["points"],
  change: Partial<MappingDetail> = {},
) =>
  mappingDetail({
    allowed_commands: ["plan"],
    outcome: mappingOutcome({ points, proposed: points.length - 1 }),
    ...change,
  });

const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/mapping-settings": ok(page([mappingSettings()])),
  [PLAN]: { status: 201, body: { id: "p-1" } },
};

function show(mapping: MappingDetail, query = "", served: Parameters<typeof serve>[0] = answers) {
  const asked = serve(served);
  const view = renderPage(<MakePlan mapping={mapping} />, "/mapping", `/mapping${query}`);
  return { asked, ...view };
}

const button = () => screen.findByRole("button", { name: "Make a plan" });

async function open(...given: Parameters<typeof show>) {
  const view = show(...given);
  await view.user.click(await button());
  const box = within(await screen.findByRole("dialog", { name: "Make a plan of M-7" }));
  const text = (label: string) => [...box.getByLabelText(label).children].map((e) => e.textContent);
  const body = () => view.asked.find(({ method }) => method === "POST")?.body;
  return { ...view, box, text, body };
}

describe("a plan of a map", () => {
  it("says what moves, what that saves and how long it takes, and opens the draft", async () => {
    const { user, box, text, body, router } = await open(M7);
    expect(await box.findByLabelText("Map")).toHaveTextContent(/^proposed$/);
    expect(text("What moves")).toEqual([
      ...["Flows that change their stream", "1,840"],
      ...["Streams that change their group", "8"],
    ]);
    expect(text("What it costs")).toEqual([
      ...["Cost now", "231.5k work/s"],
      ...["Cost afterwards", "182.9k work/s"],
      ...["Saving", "48.6k work/s, 21.0 %"],
    ]);
    expect(box.getByLabelText("Moves per step")).toHaveValue("40");
    // 1,848 moves are 46 steps of 40 and a last one of 8.
    expect(text("How long it takes")).toEqual([
      ...["Steps", "47"],
      ...["Pause between steps", "1.0 s"],
      ...["Whole duration", "at least 46 s"],
    ]);
    await user.click(box.getByRole("button", { name: "Make a plan" }));
    await waitFor(() => expect(router.state.location.pathname).toBe("/plans/p-1"));
    expect(body()).toEqual({ map: "1", title: "", moves_per_step: 40 });
  });

  it("is of the map that the slider chose, in steps and with a title of one's own", async () => {
    const third = mapPoint({ moved: 1_900, moved_streams: 50 });
    const { user, box, text, body } = await open(
      mappingDetail({
        allowed_commands: ["plan"],
        outcome: mappingOutcome({ points: [KEEP, mapPoint(), third], proposed: 1 }),
      }),
      "?map=2",
    );
    const field = await box.findByLabelText("Moves per step");
    expect(box.getByLabelText("Map")).toHaveTextContent(
      "3 of 3 on the slider, not the proposed one",
    );
    expect(text("What moves")).toEqual([
      ...["Flows that change their stream", "1,900"],
      ...["Streams that change their group", "50"],
    ]);
    await user.clear(field);
    await user.type(field, "500");
    expect(text("How long it takes")).toEqual([
      ...["Steps", "4"],
      ...["Pause between steps", "13 s"],
      ...["Whole duration", "at least 38 s"],
    ]);
    await user.type(box.getByLabelText(/^Title/), " New season ");
    await user.click(box.getByRole("button", { name: "Make a plan" }));
    await screen.findByText("elsewhere");
    expect(body()).toEqual({ map: "2", title: "New season", moves_per_step: 500 });
  });

  it.each(["0", "501", "2.5", "many", " "])(
    "is not asked for with %j moves per step",
    async (typed) => {
      const { user, box, body } = await open(M7);
      const field = await box.findByLabelText("Moves per step");
      await user.clear(field);
      await user.type(field, typed);
      expect(box.queryByLabelText("How long it takes")).toBeNull();
      await user.click(box.getByRole("button", { name: "Make a plan" }));
      expect(field).toHaveAccessibleDescription(/Give a whole number from 1 to 500\./);
      expect(body()).toBeUndefined();
    },
  );

  it("keeps the pace of now, not that of when the map was computed", async () => {
    const slow = mappingSettings({ flows_per_s: 0.5 });
    const { box, text } = await open(
      ofPoints([KEEP, mapPoint({ moved: 3, moved_streams: 0 })]),
      "",
      {
        ...answers,
        "GET /api/v1/mapping-settings": ok(page([slow])),
      },
    );
    expect(await box.findByLabelText("Moves per step")).toHaveValue("1");
    expect(text("How long it takes")).toEqual([
      ...["Steps", "3"],
      ...["Pause between steps", "2.0 s"],
      ...["Whole duration", "at least 4.0 s"],
    ]);
  });

  it("of a single move needs no pause", async () => {
    const { box, text } = await open(ofPoints([KEEP, mapPoint({ moved: 1, moved_streams: 0 })]));
    await box.findByLabelText("Moves per step");
    expect(text("How long it takes")).toEqual([
      ...["Steps", "1"],
      ...["Pause between steps", "none"],
      ...["Whole duration", "that of one step"],
    ]);
  });

  it("says where it costs more, as flows that were missing reach somebody", async () => {
    const kept = mapPoint({ ...KEEP, cost: 240_000, placed: 120, retired: 4 });
    const after = mapPoint({ cost: 235_000, placed: 120, retired: 4 });
    const { box, text } = await open(ofPoints([kept, after]));
    await box.findByLabelText("Moves per step");
    expect(text("What moves")).toEqual([
      ...["Flows that change their stream", "1,840"],
      ...["Streams that change their group", "8"],
      ...["Flows that get their first stream", "120"],
      ...["Flows taken out, as nobody wants them", "4"],
    ]);
    expect(text("What it costs")).toEqual([
      ...["Cost now", "231.5k work/s"],
      ...["Cost of keeping the map, with every flow that is wanted", "240.0k work/s"],
      ...["Cost afterwards", "235.0k work/s"],
      ...["Costs more by", "3.5k work/s, 1.5 %"],
    ]);
    expect(text("How long it takes")[1]).toBe("50");
  });

  it("shows refusals at their fields, and others at its head", async () => {
    const refusals = [
      problem(422, "invalid", "Refused.", [
        { field: "map", message: "It moves 2,310 flows and streams; a plan moves 2,000 at most." },
        { field: "moves_per_step", message: "Too many at once." },
        { field: "title", message: "A plan of this title stands." },
        { field: "system", message: "An execution moves flows now." },
      ]),
      problem(409, "stale", "The model is now version 43; map flows again."),
    ];
    const { user, box, router } = await open(M7, "", {
      ...answers,
      [PLAN]: () => refusals.shift() ?? ok({ id: "p-1" }),
    });
    const field = await box.findByLabelText("Moves per step");
    const make = box.getByRole("button", { name: "Make a plan" });
    await user.click(make);
    expect(await box.findByRole("alert")).toHaveTextContent(/^An execution moves flows now\.$/);
    expect(box.getByLabelText("Map")).toHaveAccessibleDescription(/moves 2,000 at most/);
    expect(field).toHaveAccessibleDescription(/Too many at once/);
    expect(box.getByLabelText(/^Title/)).toBeInvalid();
    await user.click(make);
    await waitFor(() =>
      expect(box.getByRole("alert")).toHaveTextContent("The model is now version 43"),
    );
    expect(field).toBeValid();
    await user.click(make);
    await waitFor(() => expect(router.state.location.pathname).toBe("/plans/p-1"));
  });

  it("says where the pace cannot be read, and reads it again", async () => {
    let isDown = true;
    const { user, box } = await open(M7, "", {
      ...answers,
      "GET /api/v1/mapping-settings": () =>
        isDown ? problem(503, "busy", "No database.") : ok(page([mappingSettings()])),
    });
    expect(await box.findByRole("alert")).toHaveTextContent(
      "The pace of moves could not be loaded. No database.",
    );
    isDown = false;
    await user.click(box.getByRole("button", { name: "Try again" }));
    expect(await box.findByLabelText("Moves per step")).toHaveValue("40");
  });
});

describe("a first map", () => {
  it("saves nothing that could be counted, and places every flow", async () => {
    const first = mapPoint({
      ...{ moved: 0, moved_streams: 0, placed: 730, opened_streams: 200, gain_share: null },
    });
    const { box, text } = await open(ofPoints([first], { former_cost: null, kept_cost: null }));
    await box.findByLabelText("Moves per step");
    expect(box.getByLabelText("Map")).toHaveTextContent(/^proposed$/);
    expect(text("What moves")).toEqual([
      ...["Flows that get their first stream", "730"],
      ...["Streams that get their first group", "200"],
    ]);
    expect(text("What it costs")).toEqual([
      ...["Cost now", "\u2013 no map is in force"],
      ...["Cost afterwards", "182.9k work/s"],
    ]);
    expect(text("How long it takes")[1]).toBe("24");
  });
});

describe("a map that moves nothing", () => {
  it.each([
    ["the one in force, chosen", M7, "?map=0", /^The map in force is chosen.* Choose a map with/],
    ["proposed", ofPoints([KEEP]), "", /^No move is worth its work: .* nothing to plan\.$/],
    [
      "as dear as the kept one",
      ofPoints([KEEP, mapPoint({ moved: 0, moved_streams: 0 })]),
      "",
      /^This map moves nothing: there is nothing to plan\.$/,
    ],
  ])("makes no plan: %s", async (_, mapping, query, words) => {
    const { user, box, body } = await open(mapping, query);
    expect(box.getByText(words)).toBeInTheDocument();
    expect(box.queryByRole("button", { name: "Make a plan" })).toBeNull();
    expect(box.queryByLabelText("Moves per step")).toBeNull();
    await user.click(box.getAllByRole("button", { name: "Close" }).at(-1) ?? document.body);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(body()).toBeUndefined();
  });

  it("makes one where pins or missing flows move in the kept map", async () => {
    const torn = mapPoint({ ...KEEP, moved: 3 });
    const { box, text } = await open(ofPoints([torn, mapPoint()]), "?map=0");
    await box.findByLabelText("Moves per step");
    expect(box.getByLabelText("Map")).toHaveTextContent(
      "the map in force: only what must move does",
    );
    expect(text("What it costs").slice(-2)).toEqual(["Saving", "none"]);
  });
});

describe("the command", () => {
  const moved = ok(system({ model_version: 43, allowed_commands: ["optimize"] }));
  const at = `GET /api/v1/systems/${SYSTEM}`;

  it("waits for another mapping where the model has moved, whatever was allowed before", async () => {
    for (const allowed_commands of [["rerun"], ["rerun", "plan"]] as const) {
      const mapping = { ...M7, allowed_commands: [...allowed_commands] };
      const { unmount } = show(mapping, "", { ...answers, [at]: moved });
      await waitFor(async () => expect(await button()).toBeDisabled());
      expect(await button()).toHaveAttribute(
        "title",
        "The model has moved since this mapping. Map flows again.",
      );
      unmount();
    }
  });

  it("is not there for whom may make no plans", async () => {
    const { asked } = show(mappingDetail({ allowed_commands: [] }), "", {
      ...answers,
      [at]: ok(system({ model_version: 43, allowed_commands: [] })),
    });
    await waitFor(() => expect(asked.some(({ path }) => path.includes("/systems/"))).toBe(true));
    expect(screen.queryByRole("button", { name: "Make a plan" })).toBeNull();
  });
});
