/** What the page of an analysis says, and what its commands say and send. */
import { screen, waitFor, within } from "@testing-library/react";

import AnalysisPage from "./analysis-page";

import type { Suggestion } from "@/api/correlation";
import {
  analysisDetail,
  inPhase,
  member,
  outcome,
  suggestion,
  TOPIC,
} from "@/testing/correlation-samples";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const ONE = analysisDetail();
const AT = `/api/v1/correlation-analyses/${ONE.id}`;
const OF = (id: string, command: string) => `/api/v1/correlation-suggestions/${id}/${command}`;

function open(suggestions: Suggestion[], more = {}) {
  const asked = serve({
    "GET /api/v1/session": ok(session()),
    [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
    [`GET ${AT}`]: ok(ONE),
    [`GET ${AT}/suggestions`]: ok(page(suggestions)),
    ...more,
  });
  const at = `/systems/${SYSTEM}/correlation/${ONE.id}`;
  return { asked, ...renderPage(<AnalysisPage />, "/systems/:systemId/correlation/:id", at) };
}
const row = async (name: RegExp) => within(await screen.findByRole("article", { name }));
const dialog = async (name: string) => within(await screen.findByRole("dialog", { name }));

describe("what was found", () => {
  it("counts who was judged, and says who was not and why", async () => {
    open([]);
    expect(
      await screen.findByText("280 publishers send every 60 s, at different phases: not together."),
    ).toBeInTheDocument();
    for (const sentence of [
      /40 publishers send every 250 ms: 25 share their phase with others, 15 do not/,
      /60 publishers sent too seldom for a coincidence to mean anything/,
      /12 publishers sent too often for single moments to be told apart/,
    ])
      expect(screen.getByText(sentence)).toBeInTheDocument();
    const judged = screen.getByText("Judged").closest(".fig");
    expect(judged).toHaveTextContent("940of 1,00060 sent too seldom");
    expect(screen.getByText(/30 min until 14:32, 18 Mar UTC/)).toBeInTheDocument();
  });

  it("gives the evidence of each suggestion, against chance and in a picture", async () => {
    open([suggestion(), inPhase()]);
    const event = await row(/51 publishers send together/);
    expect(event.getByText(/92 % of their moments/)).toHaveTextContent(
      "92 % of their moments lie within 50 ms of a moment of quay-01, half of these within 12 ms; chance would have 1 %. 47 bursts had at least half of them.",
    );
    expect(
      event.getByText(
        "In the catalogue: 26 without a key, 12 with quay. 13 others of the 51 are not in it and can get no key.",
      ),
    ).toBeInTheDocument();
    expect(
      event.getByRole("img", {
        name: "Moments of 4 publishers over 100\u00a0s from 14:02:00 UTC, 18 Mar 2026 on; 2 bursts had at least half of them.",
      }),
    ).toBeInTheDocument();
    const period = await row(/25 publishers send every 250\s+ms at the same phase/);
    expect(
      period.getByText(/Over 99 % of their moments.*; about 2 of them have that phase by chance/),
    ).toBeVisible();
    expect(period.queryByRole("checkbox")).toBeNull();
  });

  it("shows the picture as a table that tells bursts from the rest", async () => {
    const { user } = open([suggestion()]);
    const event = await row(/51 publishers/);
    await user.click(event.getByRole("button", { name: "Show as table" }));
    const table = within(event.getByRole("table", { name: "Moments of suggestion 1" }));
    expect(table.getByRole("row", { name: "quay-01 3 2" })).toBeInTheDocument();
    expect(table.getByRole("row", { name: "quay-03 2 1" })).toBeInTheDocument();
    // Exactly at the border of 50 ms is within it.
    expect(table.getByRole("row", { name: "quay-04 1 1" })).toBeInTheDocument();
  });

  it("says that nothing is suggested, and what failed to load", async () => {
    const none = { ...ONE, groups: 0, open: 0, outcome: outcome({ periods: [] }) };
    const { unmount } = open([], { [`GET ${AT}`]: ok(none) });
    expect(await screen.findByText(/nothing is suggested/)).toBeInTheDocument();
    unmount();
    const second = open([], { [`GET ${AT}`]: problem(404, "not_found", "It is gone.") });
    expect(screen.getByRole("status", { name: /Loading this analysis/ })).toBeInTheDocument();
    expect(await screen.findByText(/This analysis could not be loaded/)).toBeInTheDocument();
    second.unmount();
    open([], { [`GET ${AT}/suggestions`]: problem(500, "broken", "It broke.") });
    expect(await screen.findByText(/The suggestions could not be loaded/)).toBeInTheDocument();
    expect(screen.getByText("Judged")).toBeInTheDocument();
  });

  it("says what was not searched of what is measured", async () => {
    const left_out = { wrong_clock: 1, unreported: 95_000, shortened: true };
    open([], { [`GET ${AT}`]: ok({ ...ONE, left_out }) });
    expect(
      await screen.findByText(/1 publisher is at brokers whose clocks are wrong/),
    ).toBeVisible();
    expect(
      screen.getByText(/agents report 5,000 publishers at most: 95,000 connections/),
    ).toBeVisible();
    expect(screen.getByText(/the oldest were left out/)).toBeVisible();
  });

  it("lists one state at a time", async () => {
    const { asked, user } = open([suggestion()]);
    await user.click(await screen.findByRole("button", { name: "Open 2" }));
    await waitFor(() => expect(asked.at(-1)?.query.get("state")).toBe("open"));
  });
});

describe("accepting", () => {
  it("says first who gets the key and who keeps another, then sends it", async () => {
    const first = suggestion();
    const accepted = { ...first, effect: "26 publishers got quay-3; 12 kept another key." };
    const { asked, user } = open([first], { [`POST ${OF(first.id, "accept")}`]: ok(accepted) });
    const event = await row(/51 publishers/);
    await user.click(event.getByRole("button", { name: "Accept" }));
    const asks = await dialog("Accept suggestion 1");
    expect(asks.getByText("26 publishers get").closest("p")).toHaveTextContent("the key quay-3");
    expect(asks.getByText("Others stay as they are: 12 keep quay.")).toBeInTheDocument();
    expect(asks.getByText(/13 members are not in the catalogue/)).toBeInTheDocument();
    await user.type(asks.getByRole("textbox", { name: /Note/ }), "One shelf");
    await user.click(asks.getByRole("button", { name: "Accept" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(asked.find(({ method }) => method === "POST")?.body).toEqual({
      ...{ name: "quay-3", replace: false, note: "One shelf", model_version: 42 },
    });
    expect(screen.getByText("Accepted suggestion 1")).toBeInTheDocument();
    expect(screen.getByText(accepted.effect)).toBeInTheDocument();
  });

  it("names the keys that are lost where keys are replaced, and takes another name", async () => {
    const first = suggestion({
      keys_now: [
        { name: "quay", publishers: 9 },
        { name: "dock", publishers: 3 },
      ],
    });
    const { asked, user } = open([first], { [`POST ${OF(first.id, "accept")}`]: ok(first) });
    const event = await row(/51 publishers/);
    await user.click(event.getByRole("checkbox", { name: /Replace keys of 12/ }));
    const name = event.getByRole("textbox", { name: "Name of the key" });
    await user.clear(name);
    expect(event.getByText("Give the key a name.")).toBeInTheDocument();
    expect(event.getByRole("button", { name: "Accept" })).toBeDisabled();
    await user.type(name, "dock");
    expect(event.getByRole("checkbox", { name: /Replace keys of 9/ })).toBeChecked();
    await user.click(event.getByRole("button", { name: "Accept" }));
    const asks = await dialog("Accept suggestion 1");
    expect(asks.getByText("35 publishers get")).toBeInTheDocument();
    expect(asks.getByText("Of these, 9 lose quay.")).toBeInTheDocument();
    expect(asks.getByText("3 publishers carry dock already.")).toBeInTheDocument();
    await user.click(asks.getByRole("button", { name: "Accept" }));
    await waitFor(() =>
      expect(asked.find(({ method }) => method === "POST")?.body).toEqual({
        ...{ name: "dock", replace: true, note: "", model_version: 42 },
      }),
    );
  });

  it("shows what the server refuses, and keeps it at the field", async () => {
    const first = suggestion();
    const { user } = open([first], {
      [`POST ${OF(first.id, "accept")}`]: problem(400, "invalid", "The name is refused.", [
        { field: "name", message: "A key has at most 200 letters." },
      ]),
    });
    const event = await row(/51 publishers/);
    await user.click(event.getByRole("button", { name: "Accept" }));
    const asks = await dialog("Accept suggestion 1");
    await user.click(asks.getByRole("button", { name: "Accept" }));
    expect(await asks.findByRole("alert")).toHaveTextContent("The name is refused.");
    await user.click(asks.getByRole("button", { name: "Cancel" }));
    expect(await event.findByText("A key has at most 200 letters.")).toBeInTheDocument();
  });

  it("is answered as before where the answer was lost and it is given again", async () => {
    const first = suggestion();
    const sent: (string | null)[] = [];
    const { user } = open([first], {
      [`POST ${OF(first.id, "accept")}`]: ({ headers }: { headers: Headers }) => {
        sent.push(headers.get("Idempotency-Key"));
        return sent.length === 1 ? problem(502, "lost", "No answer came.") : ok(first);
      },
    });
    const event = await row(/51 publishers/);
    await user.click(event.getByRole("button", { name: "Accept" }));
    const asks = await dialog("Accept suggestion 1");
    await user.click(asks.getByRole("button", { name: "Accept" }));
    expect(await asks.findByRole("alert")).toHaveTextContent("No answer came.");
    await user.click(asks.getByRole("button", { name: "Accept" }));
    await waitFor(() => expect(sent).toHaveLength(2));
    expect(sent[0]).toBeTruthy();
    expect(sent[1]).toBe(sent[0]);
  });

  it("says so where somebody else was first, and shows that decision", async () => {
    const first = suggestion();
    const theirs = suggestion({
      ...{ state: "rejected", decided_by: "Lars Holm", allowed_commands: ["undo"] },
      decided_at: "2026-03-18T14:40:00Z",
    });
    let now = first;
    const { user } = open([first], {
      [`GET ${AT}/suggestions`]: () => ok(page([now])),
      [`POST ${OF(first.id, "accept")}`]: () => {
        now = theirs;
        return problem(409, "decided_already", "Lars Holm rejected it.");
      },
    });
    const event = await row(/51 publishers/);
    await user.click(event.getByRole("button", { name: "Accept" }));
    await user.click((await dialog("Accept suggestion 1")).getByRole("button", { name: "Accept" }));
    expect(await screen.findByText(/Rejected by Lars Holm/)).toBeInTheDocument();
    expect(screen.getByText("Lars Holm rejected it.")).toBeInTheDocument();
  });

  it("is not possible where nobody would change, which it explains", async () => {
    open([
      suggestion({
        ...{ same_as_key: "quay", keys_now: [{ name: "quay", publishers: 38 }], without_key: 0 },
      }),
      inPhase({ in_catalogue: 0, without_key: 0 }),
    ]);
    const event = await row(/51 publishers/);
    expect(event.getByText(/carry the key/)).toHaveTextContent("quay already: nothing is left");
    expect(event.getByRole("button", { name: "Accept" })).toBeDisabled();
    const strangers = await row(/25 publishers/);
    expect(strangers.getByText(/None of them is a publisher of the topic/)).toBeInTheDocument();
    expect(strangers.queryByRole("textbox", { name: "Name of the key" })).toBeNull();
    expect(strangers.getByRole("button", { name: "Accept" })).toBeDisabled();
    expect(strangers.getByRole("button", { name: "Reject" })).toBeEnabled();
  });

  it("is offered to nobody who may not edit the model", async () => {
    open([suggestion({ allowed_commands: [] })]);
    const event = await row(/51 publishers/);
    for (const name of ["Accept", "Reject", "Undo"])
      expect(event.queryByRole("button", { name })).toBeNull();
  });
});

describe("other decisions", () => {
  it("reject with a note, and say that it was rejected before", async () => {
    const before = {
      ...{ id: suggestion().id, analysis_id: "cc111111-1111-4111-8111-111111111113" },
      analysis: "C-3",
      at: "2026-03-17T09:00:00Z",
      by: "Lars Holm",
      note: "By hand.",
    };
    const first = suggestion({ rejected_before: before });
    const { asked, user } = open([first], { [`POST ${OF(first.id, "reject")}`]: ok(first) });
    const event = await row(/51 publishers/);
    expect(event.getByText(/Lars Holm rejected nearly the same publishers/)).toHaveTextContent(
      "publishers in C-3, 09:00, 17 Mar UTC: \u201cBy hand.\u201d",
    );
    expect(event.getByRole("link", { name: "C-3" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/correlation/${before.analysis_id}`,
    );
    await user.click(event.getByRole("button", { name: "Reject" }));
    const asks = await dialog("Reject suggestion 1");
    await user.type(asks.getByRole("textbox", { name: /Note/ }), "Chance");
    await user.click(asks.getByRole("button", { name: "Reject" }));
    await waitFor(() =>
      expect(asked.find(({ method }) => method === "POST")?.body).toEqual({
        ...{ note: "Chance", model_version: 42 },
      }),
    );
  });

  it("show who accepted, lead to the next placement, and are taken back", async () => {
    const first = suggestion({
      ...{ state: "accepted", key_name: "quay-3", decided_by: "Ines Moreau", note: "One shelf" },
      ...{ decided_at: "2026-03-18T14:40:00Z", allowed_commands: ["undo"] },
      effect: "26 publishers got quay-3, which was made for them.",
      undo: { publishers: 24, get_another: 3, left_alone: 2, key_goes: true },
    });
    const { asked, user } = open([first], { [`POST ${OF(first.id, "undo")}`]: ok(suggestion()) });
    const event = await row(/51 publishers/);
    expect(event.getByText(/Accepted by Ines Moreau, 14:40, 18 Mar UTC/)).toHaveTextContent(
      "with the key quay-3. \u201cOne shelf\u201d 26 publishers got quay-3, which was made for them.",
    );
    expect(event.getByRole("link", { name: "Place the topic again" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/placements?topic=${TOPIC}&place=1`,
    );
    expect(event.queryByRole("button", { name: "Accept" })).toBeNull();
    await user.click(event.getByRole("button", { name: "Undo" }));
    const asks = await dialog("Undo the decision on suggestion 1");
    expect(asks.getByText("24 publishers lose").closest("p")).toHaveTextContent(
      "24 publishers lose quay-3 again: 3 get back another key, 21 have none then. 2 others who got it carry it no more and stay as they are. quay-3 is deleted: nobody else carries it.",
    );
    await user.click(asks.getByRole("button", { name: "Undo" }));
    await waitFor(() =>
      expect(asked.find(({ method }) => method === "POST")?.path).toBe(OF(first.id, "undo")),
    );
  });

  it("open again what was rejected, which changes no key", async () => {
    const rejected = { decided_by: "Lars Holm", decided_at: "2026-03-18T14:40:00Z" };
    open([suggestion({ ...rejected, state: "rejected", allowed_commands: ["undo"] })]);
    const event = await row(/51 publishers/);
    expect(event.getByText("Rejected by Lars Holm, 14:40, 18 Mar UTC.")).toBeInTheDocument();
    expect(event.queryByRole("link", { name: "Place the topic again" })).toBeNull();
  });
});

it("shows the members with their keys, and finds one by its name", async () => {
  const first = suggestion();
  const { asked, user } = open([first], {
    [`GET ${OF(first.id, "members")}`]: ok(
      page([
        member(),
        member({ publisher: "quay-02", correlation_key: "" }),
        member({ publisher: "stranger", id: null, correlation_key: "" }),
      ]),
    ),
  });
  const event = await row(/51 publishers/);
  await user.click(event.getByRole("button", { name: "Show the 51 publishers" }));
  const table = within(await event.findByRole("table", { name: "Members of suggestion 1" }));
  expect(table.getByRole("row", { name: "quay-01 quay" })).toBeInTheDocument();
  expect(table.getByRole("row", { name: "quay-02 none" })).toBeInTheDocument();
  expect(table.getByRole("row", { name: "stranger not in the catalogue" })).toBeInTheDocument();
  expect(table.queryByRole("link", { name: "stranger" })).toBeNull();
  await user.type(event.getByRole("searchbox", { name: "Publisher" }), "quay-0");
  await waitFor(() => expect(asked.at(-1)?.query.get("search")).toBe("quay-0"));
});
