/** The list of analyses and the dialog that asks for the next. */
import { screen, waitFor, within } from "@testing-library/react";

import AnalysesPage from "./analyses-page";

import { analysis, publisherTimes, TOPIC } from "@/testing/correlation-samples";
import { renderPage } from "@/testing/render";
import { page, run, session, system, SYSTEM, topic } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const DEPTH = topic({ name: "market.depth" });
const TIMES = `GET /api/v1/topics/${TOPIC}/publisher-times`;
const POST = "POST /api/v1/correlation-analyses";
const STARTED = { ...run({ state: "queued", answer: null }), kind: "correlation" };
const answers = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/correlation-analyses": ok(page([analysis()])),
  "GET /api/v1/topics": ok(page([DEPTH])),
  [`GET /api/v1/topics/${TOPIC}`]: ok(DEPTH),
  [TIMES]: ok(publisherTimes()),
  "GET /api/v1/recordings": ok({
    results: [{ name: "monday.parquet", bytes: 12_340_000, modified_at: "2026-03-16T08:00:00Z" }],
  }),
};
const open = (query = "") =>
  renderPage(
    <AnalysesPage />,
    "/systems/:systemId/correlation",
    `/systems/${SYSTEM}/correlation${query}`,
  );
const dialog = async () =>
  within(await screen.findByRole("dialog", { name: "Look for publishers that burst together" }));

describe("the analyses of a system", () => {
  it("stand with who was judged and what was found, and ask for the next", async () => {
    serve(answers);
    const { user } = open();
    const table = within(await screen.findByRole("table", { name: "Analyses" }));
    const row = table.getByRole("row", { name: /C-7/ });
    expect(row).toHaveTextContent("market.depthmeasured by agents21,00094032050.0");
    await user.click(screen.getByRole("button", { name: "Look for bursts" }));
    expect(await screen.findByRole("dialog")).toBeInTheDocument();
  });

  it("say what belongs there while there is none, and what failed to load", async () => {
    serve({ ...answers, "GET /api/v1/correlation-analyses": ok(page([])) });
    const { unmount } = open();
    expect(await screen.findByText(/This system has none yet/)).toBeInTheDocument();
    unmount();
    serve({ ...answers, "GET /api/v1/correlation-analyses": problem(500, "broken", "It broke.") });
    open();
    expect(await screen.findByText(/Analyses could not be loaded/)).toBeInTheDocument();
  });

  it("are asked for by nobody who may not start runs", async () => {
    serve({ ...answers, [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })) });
    open("?look=1");
    expect(await screen.findByRole("table", { name: "Analyses" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Look for bursts" })).toBeNull();
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});

describe("the dialog", () => {
  it("says what is measured of the topic, and sends seconds and shares", async () => {
    const asked = serve({ ...answers, [POST]: { status: 202, body: STARTED } });
    const { user, router } = open(`?look=1&topic=${TOPIC}`);
    const form = await dialog();
    expect(
      await form.findByText(/38 of 40 publishers heard, 30 with moments that can be told apart/),
    ).toHaveTextContent(
      /since 14:02, 18 Mar UTC: 1,234 messages\. 8 others send too often for that\./,
    );
    const within_ms = form.getByRole("textbox", { name: "Together within" });
    await user.clear(within_ms);
    await user.type(within_ms, "20.5");
    await user.click(form.getByRole("button", { name: "Start run" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STARTED.id}`));
    expect(asked.find(({ method }) => method === "POST")?.body).toEqual({
      ...{ system: SYSTEM, topic: TOPIC, source: "measured", minutes: 30, recording: "" },
      ...{ within_s: 0.0205, least_share: 0.5, smallest_group: 2, note: "" },
    });
  });

  it("takes a recording as a whole", async () => {
    const asked = serve({ ...answers, [POST]: { status: 202, body: STARTED } });
    const { user } = open(`?look=1&topic=${TOPIC}`);
    const form = await dialog();
    await user.click(form.getByRole("button", { name: "A recording" }));
    expect(form.queryByRole("textbox", { name: "Of the last" })).toBeNull();
    await user.click(await form.findByRole("combobox", { name: "Recording" }));
    await user.click(await screen.findByRole("option", { name: /monday.parquet, 12.3 MB/ }));
    await user.click(form.getByRole("button", { name: "Start run" }));
    await waitFor(() =>
      expect(asked.find(({ method }) => method === "POST")?.body).toMatchObject({
        ...{ source: "recording", recording: "monday.parquet" },
      }),
    );
  });

  it("says at each field what it takes, and sends nothing before", async () => {
    const asked = serve(answers);
    const { user } = open("?look=1");
    const form = await dialog();
    for (const [name, text] of [
      ["Of the last", "31"],
      ["Together within", "0"],
      ["Least share", "10"],
      ["Smallest group", "2.5"],
    ] as const) {
      const field = form.getByRole("textbox", { name });
      await user.clear(field);
      await user.type(field, text);
    }
    await user.click(form.getByRole("button", { name: "Start run" }));
    for (const message of [
      "Choose a topic.",
      "A number from 1 to 30 min.",
      "A number from 1 to 60,000 ms.",
      "A number from 20 to 100 %.",
      "A whole number from 2 to 1,000 publishers.",
    ])
      expect(form.getByText(message)).toBeInTheDocument();
    expect(form.getByRole("textbox", { name: "Smallest group" })).toBeInvalid();
    expect(asked.filter(({ method }) => method === "POST")).toEqual([]);
  });

  it("warns where nothing is measured, and shows why the server refuses", async () => {
    serve({
      ...answers,
      [TIMES]: ok(publisherTimes({ heard: 0, timed: 0, since: null, until: null, messages: 0 })),
      [POST]: problem(409, "not_measured", "No agent names a publisher of market.depth."),
    });
    const { user } = open(`?look=1&topic=${TOPIC}`);
    const form = await dialog();
    expect(
      await form.findByText(/no agent reported a message of the 40 publishers of this topic/),
    ).toBeInTheDocument();
    await user.click(form.getByRole("button", { name: "Start run" }));
    expect(await form.findByRole("alert")).toHaveTextContent(
      "No agent names a publisher of market.depth.",
    );
  });
});
