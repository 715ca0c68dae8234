import { screen, waitFor, within } from "@testing-library/react";

import { pinText } from "./pin-dialog";
import { pinsOf, pricesOf } from "./pins";
import { PinsPanel } from "./pins-panel";

import type { Schemas } from "@/api/client";
import {
  group,
  mappingDetail,
  mappingOutcome,
  mappingPin,
  stream,
} from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, system, SYSTEM, topic } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const G3 = group();
const S7 = stream({ pinned_group: G3.id, pinned_group_name: "g-03" });
const S14 = stream({ id: "ee333333-3333-4333-8333-333333333314", name: "s-14", number: 14 });
const EURUSD = topic({
  ...{ name: "fx.eurusd", pinned_stream: S14.id, pinned_stream_name: "s-14" },
  ...{ stream: S14.id, stream_name: "s-14" },
});
const ALERTS = topic({
  id: "33333333-3333-4333-8333-333333333335",
  ...{ name: "alerts", pinned_stream: S7.id, pinned_stream_name: "s-07" },
});
const PLAIN = topic({
  id: "33333333-3333-4333-8333-333333333336",
  ...{ name: "bond.10y", stream: S7.id, stream_name: "s-07" },
});
const MAPPING = mappingDetail({
  outcome: mappingOutcome({
    pins: [
      mappingPin(),
      mappingPin({ kind: "stream", name: "s-07", number: 7, to: 3, price: 0 }),
      mappingPin({ name: "gone", to: 2, price: 5 }),
    ],
    pin_count: 3,
  }),
});

type Topic = Schemas["Topic"];

const served = (topics: readonly Topic[] = [EURUSD, ALERTS, PLAIN], allowed = ["edit"]) => ({
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: allowed as ["edit"] })),
  "GET /api/v1/topics": ({ query }: { query: URLSearchParams }) =>
    ok(
      page(
        topics.filter(
          ({ pinned_stream: pinned, name }) =>
            (query.get("pinned") === null || pinned !== null) &&
            name.includes(query.get("search") ?? ""),
        ),
      ),
    ),
  "GET /api/v1/streams": ({ query }: { query: URLSearchParams }) =>
    ok(page(query.get("pinned") === null ? [S7, S14] : [S7])),
  "GET /api/v1/groups": ok(page([G3])),
  ...Object.fromEntries(topics.map((row) => [`GET /api/v1/topics/${row.id}`, ok(row)])),
  [`GET /api/v1/streams/${S7.id}`]: ok(S7),
  [`GET /api/v1/streams/${S14.id}`]: ok(S14),
  [`GET /api/v1/groups/${G3.id}`]: ok(G3),
});
const show = (mapping = MAPPING) =>
  renderPage(<PinsPanel mapping={mapping} />, "/systems/:s", `/systems/${SYSTEM}`);

describe("prices of pins", () => {
  it("are those of the same topic by name, or stream by number, in the same place", () => {
    const pins = pinsOf([EURUSD, ALERTS], [S7], [S7, S14], [G3]);
    expect(pins.map(({ name }) => name)).toEqual(["alerts", "fx.eurusd", "s-07"]);
    const priced = (list: Parameters<typeof pricesOf>[1]) => [...pricesOf(pins, list).keys()];
    expect(priced([mappingPin()])).toEqual([EURUSD.id]);
    // Another place, or another kind of the same name: another pin.
    expect(priced([mappingPin({ to: 7 })])).toEqual([]);
    expect(priced([mappingPin({ kind: "stream" })])).toEqual([]);
    const carried = mappingPin({ name: "s-07", number: 7, to: 3, kind: "stream", price: 0 });
    expect(priced([carried])).toEqual([S7.id]);
    // It was called otherwise then; what is called so now was another stream.
    expect(priced([{ ...carried, name: "s-07-old" }])).toEqual([S7.id]);
    expect(priced([{ ...carried, number: 8 }])).toEqual([]);
    expect(priced([{ ...carried, to: 4 }])).toEqual([]);
  });
});

describe("the panel", () => {
  it("lays prices beside today's pins, and says what this mapping did not know", async () => {
    serve(served());
    show();
    const table = within(await screen.findByRole("table", { name: "Pins" }));
    expect(table.getByRole("row", { name: /fx.eurusd stream 14 1,900/ })).toBeInTheDocument();
    expect(table.getByRole("row", { name: /s-07 group 3 0.00/ })).toBeInTheDocument();
    const added = within(table.getByRole("row", { name: /alerts stream 7/ }));
    expect(added.getByTitle(/Not in this mapping/)).toHaveTextContent("\u2013");
    expect(
      screen.getByText(/1 pin is not in this mapping, 1 pin of this mapping is gone/),
    ).toHaveTextContent("Map the flows again to have today's pins in it.");
  });

  it("calls no pin new where only the dearest have a price", async () => {
    const outcome = { ...MAPPING.outcome, pins: [mappingPin()], pin_count: 1_204 };
    serve(served());
    show({ ...MAPPING, outcome });
    const table = within(await screen.findByRole("table", { name: "Pins" }));
    const rest = within(table.getByRole("row", { name: /alerts stream 7/ }));
    expect(rest.getByText("\u2013")).toHaveAttribute(
      "title",
      "Not among the 1 dearest of M-7, or pinned since.",
    );
    expect(screen.getByText("Only the 1 dearest of 1,204 pins have a price.")).toBeInTheDocument();
    expect(screen.queryByText(/not in this mapping|gone/i)).toBeNull();
  });

  it("says by which map a pin has its price", async () => {
    serve(served());
    show();
    expect(await screen.findByText("1,900")).toHaveAttribute("title", "By the proposed map of M-7");
    expect(screen.getByText("3, priced by the proposed map")).toBeInTheDocument();
  });

  it("says what a pin is where there is none, and asks nothing more", async () => {
    const asked = serve({
      ...served(),
      "GET /api/v1/topics": ok(page([])),
      "GET /api/v1/streams": ok(page([])),
    });
    show();
    expect(await screen.findByText(/Nothing is pinned/)).toBeInTheDocument();
    expect(asked.some(({ path }) => path.endsWith("/groups"))).toBe(false);
    expect(screen.getByText(/3 pins of this mapping are gone/)).toBeInTheDocument();
  });

  it("unpins on confirmation with the version that is shown, and takes it back", async () => {
    const path = `PATCH /api/v1/topics/${EURUSD.id}`;
    const asked = serve({ ...served(), [path]: ok({ ...EURUSD, version: 4 }) });
    const { user } = show();
    await user.click(await screen.findByRole("button", { name: "Unpin fx.eurusd" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Unpin fx.eurusd" }));
    expect(dialog.getByText(/its best move would save 1,900 work\/s/)).toBeInTheDocument();
    expect(asked.some(({ method }) => method === "PATCH")).toBe(false);
    await user.type(dialog.getByRole("textbox", { name: /Reason/ }), "Dear");
    await user.click(dialog.getByRole("button", { name: "Unpin" }));
    await user.click(await screen.findByRole("button", { name: "Undo" }));
    await waitFor(() => expect(asked.filter(({ method }) => method === "PATCH")).toHaveLength(2));
    const [sent, undone] = asked.filter(({ method }) => method === "PATCH");
    expect(sent?.body).toEqual({ pinned_stream: null, reason: "Dear" });
    expect(sent?.headers.get("If-Match")).toBe('"3"');
    expect(undone?.body).toMatchObject({ pinned_stream: S14.id });
    expect(undone?.headers.get("If-Match")).toBe('"4"');
  });

  it("reads a pin again that somebody else changed, and unpins that", async () => {
    let stored = EURUSD;
    const path = `PATCH /api/v1/topics/${EURUSD.id}`;
    const asked = serve({
      ...served(),
      "GET /api/v1/topics": () => ok(page([stored])),
      [path]: ({ headers }) =>
        headers.get("If-Match") === `"${stored.version}"`
          ? ok({ ...stored, version: 10 })
          : problem(412, "stale", "fx.eurusd was changed meanwhile."),
    });
    const { user } = show();
    await user.click(await screen.findByRole("button", { name: "Unpin fx.eurusd" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Unpin fx.eurusd" }));
    stored = { ...EURUSD, version: 9 };
    await user.click(dialog.getByRole("button", { name: "Unpin" }));
    expect(await dialog.findByText("fx.eurusd was changed meanwhile.")).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Unpin" }));
    expect(await screen.findByText("Unpinned fx.eurusd")).toBeInTheDocument();
    const sent = asked.filter(({ method }) => method === "PATCH").at(-1);
    expect(sent?.headers.get("If-Match")).toBe('"9"');
  });

  it("says to who may not edit why the commands are closed", async () => {
    serve(served([{ ...EURUSD, allowed_commands: [] }], []));
    show();
    const unpin = await screen.findByRole("button", { name: "Unpin fx.eurusd" });
    expect(unpin).toBeDisabled();
    expect(unpin).toHaveAttribute("title", "Editors of the model pin and unpin.");
    const pin = screen.getByRole("button", { name: "Pin" });
    expect(pin).toBeDisabled();
    expect(pin).toHaveAttribute("title", "Editors of the model pin and unpin.");
  });
});

describe("the dialog that pins", () => {
  const choose = async (
    user: ReturnType<typeof show>["user"],
    name: string,
    option: string | RegExp,
  ) => {
    await user.click(screen.getByRole("combobox", { name }));
    await user.click(await screen.findByRole("option", { name: option }));
  };
  const open = async () => {
    const view = show();
    await waitFor(() => expect(screen.getByRole("button", { name: "Pin" })).toBeEnabled());
    await view.user.click(screen.getByRole("button", { name: "Pin" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Pin" }));
    return { ...view, dialog };
  };

  it("pins a topic to a stream, and says first what that means", async () => {
    const path = `PATCH /api/v1/topics/${PLAIN.id}`;
    const asked = serve({ ...served(), [path]: ok({ ...PLAIN, version: 4 }) });
    const { user, dialog } = await open();
    await user.click(dialog.getByRole("button", { name: "Pin" }));
    expect(dialog.getByText("Choose a topic.")).toBeInTheDocument();
    expect(dialog.getByText("Choose a stream.")).toBeInTheDocument();
    await choose(user, "Topic", "bond.10y");
    await choose(user, "To stream", "s-14, number 14");
    expect(
      await dialog.findByText(/bond.10y is in s-07 now; the next mapping brings it to stream s-14/),
    ).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Pin" }));
    expect(await screen.findByText("Pinned bond.10y to s-14")).toBeInTheDocument();
    const sent = asked.find(({ method }) => method === "PATCH");
    expect(sent?.body).toEqual({ pinned_stream: S14.id });
    expect(sent?.headers.get("If-Match")).toBe('"3"');
  });

  it("pins a stream to a group, and shows why the server refuses", async () => {
    serve({
      ...served(),
      [`PATCH /api/v1/streams/${S14.id}`]: problem(400, "invalid", "Refused.", [
        { field: "pinned_group", message: "g-03 is of another system." },
      ]),
    });
    const { user, dialog } = await open();
    await user.click(dialog.getByRole("button", { name: "A stream to a group" }));
    await choose(user, "Stream", "s-14, number 14");
    await choose(user, "To group", "g-03, number 3");
    await user.click(dialog.getByRole("button", { name: "Pin" }));
    expect(await dialog.findByText("g-03 is of another system.")).toBeInTheDocument();
    expect(dialog.getByRole("combobox", { name: "To group" })).toBeInvalid();
  });

  it("pins nothing twice to the same place", async () => {
    serve(served());
    const { user, dialog } = await open();
    await choose(user, "Topic", "fx.eurusd");
    await choose(user, "To stream", "s-14, number 14");
    expect(
      await dialog.findByText("fx.eurusd is pinned to stream s-14 already."),
    ).toBeInTheDocument();
    expect(dialog.getByRole("button", { name: "Pin" })).toBeDisabled();
  });
});

it("says of a pin whether anything moves, and what it replaces", () => {
  const free = { id: "t", name: "fx", version: 1, now: null, nowName: null, may: true };
  const at = { id: "s", name: "s-14" };
  expect(pinText({ ...free, pinned: null, pinnedName: null }, at, "flow")).toBe(
    "fx is in no stream now; the next mapping brings it to stream s-14 and leaves it there.",
  );
  expect(
    pinText({ ...free, now: "s", nowName: "s-14", pinned: "o", pinnedName: "s-02" }, at, "flow"),
  ).toBe(
    "fx is in stream s-14 now; from the next mapping on it stays there. It is pinned to s-02 so far.",
  );
});
