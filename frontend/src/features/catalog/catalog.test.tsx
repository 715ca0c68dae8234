import { screen, waitFor } from "@testing-library/react";

import { DESCRIPTORS } from "./descriptors";
import KindPage from "./kind-page";
import NewObjectPage from "./new-object-page";
import ObjectPage from "./object-page";
import { changesOf, formerBody, toBody, toDraft, type LooseRow } from "./spec";

import { KIND_NAMES } from "@/lib/kinds";
import { stream } from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { page, session, SYSTEM, system, topic } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const LIST = "/systems/:systemId/:kind";
const at = (rest: string) => `/systems/${SYSTEM}/${rest}`;
const T = topic();
const base = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/audit": ok(page([])),
  "GET /api/v1/brokers": ok(page([])),
  "GET /api/v1/streams": ok(page([])),
  "GET /api/v1/consumer-classes": ok(page([])),
  "GET /api/v1/publishers": ok(page([])),
  "GET /api/v1/slos": ok(page([])),
};

describe("descriptors", () => {
  it.each(KIND_NAMES)("of %s give a draft that goes back into a body", (kind) => {
    const { fields, columns } = DESCRIPTORS[kind];
    const { body } = toBody(fields, toDraft(fields, null));
    expect(Object.keys(body)).toContain("name");
    expect(columns[0]?.title).toBe("Name");
  });

  it("send only what was changed", () => {
    const { fields } = DESCRIPTORS.topics;
    const former = toDraft(fields, T);
    const draft = { ...former, rate_max_per_s: "500" };
    const { body, errors } = toBody(fields, draft);
    expect(errors).toEqual([]);
    expect(changesOf(fields, former, draft, body)).toEqual({ rate_max_per_s: 500 });
  });

  it("can make a deleted object again as it was", () => {
    const { fields } = DESCRIPTORS.topics;
    const sample = topic({
      node_costs: [{ broker: "b", broker_name: "S0", resource: "cpu", cost: 3 }],
      ...{ pinned_stream: "s", pinned_stream_name: "s-07" },
    });
    expect(formerBody(fields, sample as unknown as LooseRow)).toMatchObject({
      name: "trades.eu",
      system: SYSTEM,
      rate_max_per_s: 1000,
      pinned_stream: "s",
      node_costs: [{ broker: "b", resource: "cpu", cost: 3 }],
    });
  });
});

describe("the list of a kind", () => {
  it("asks the server to search and to sort", async () => {
    const asked = serve({ ...base, "GET /api/v1/topics": ok(page([T], 1)) });
    const { user } = renderPage(<KindPage />, LIST, at("topics"));
    expect(await screen.findByRole("link", { name: "trades.eu" })).toBeInTheDocument();
    await user.type(screen.getByRole("searchbox", { name: "Find topics" }), "eu");
    const lists = () => asked.filter((one: Asked) => one.path === "/api/v1/topics");
    await waitFor(() => expect(lists().at(-1)?.query.get("search")).toBe("eu"));
    await user.click(screen.getByRole("button", { name: /Highest rate/ }));
    await waitFor(() => expect(lists().at(-1)?.query.get("ordering")).toBe("rate_max_per_s"));
    await user.selectOptions(screen.getByLabelText("Delivery"), "reliable");
    await waitFor(() => expect(lists().at(-1)?.query.get("delivery")).toBe("reliable"));
    expect(lists().at(-1)?.query.get("system")).toBe(SYSTEM);
  });

  it("shows what mappings leave where it is, and asks for that alone", async () => {
    const pins = { pinned_group: "g", pinned_group_name: "g-03" };
    const asked = serve({ ...base, "GET /api/v1/streams": ok(page([stream(pins)])) });
    const { user } = renderPage(<KindPage />, LIST, at("streams"));
    expect(await screen.findByRole("columnheader", { name: "Pinned to" })).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "g-03" })).toHaveAttribute("href", at("groups/g"));
    await user.selectOptions(screen.getByLabelText("Pinned"), "not pinned");
    await waitFor(() =>
      expect(
        asked
          .filter(({ path }) => path === "/api/v1/streams")
          .at(-1)
          ?.query.get("pinned"),
      ).toBe("false"),
    );
  });

  it("asks for the objects with a label", async () => {
    const asked = serve({ ...base, "GET /api/v1/topics": ok(page([T])) });
    const { user } = renderPage(<KindPage />, LIST, at("topics"));
    await user.type(await screen.findByRole("textbox", { name: "Label" }), "team=port");
    const labels = () => asked.filter(({ path }) => path === "/api/v1/topics").at(-1)?.query;
    await waitFor(() => expect(labels()?.get("label")).toBe("team=port"));
    expect(screen.getByRole("link", { name: "Export CSV" })).toHaveAttribute(
      "href",
      expect.stringContaining("label=team%3Dport"),
    );
  });

  it("draws no New button for those who may not add", async () => {
    serve({
      ...base,
      [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })),
      "GET /api/v1/topics": ok(page([])),
    });
    renderPage(<KindPage />, LIST, at("topics"));
    expect(await screen.findByText(/There is none yet/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "New topic" })).toBeNull();
  });

  it("pages by cursor", async () => {
    const first = { ...page([T], 51), next: "http://x/api/v1/topics?cursor=abc" };
    const asked = serve({ ...base, "GET /api/v1/topics": ok(first) });
    const { user } = renderPage(<KindPage />, LIST, at("topics"));
    await user.click(await screen.findByRole("button", { name: "Next page" }));
    await waitFor(() => expect(asked.at(-1)?.query.get("cursor")).toBe("abc"));
  });
});

describe("a new object", () => {
  it("shows what is missing before it asks the server", async () => {
    const asked = serve(base);
    const { user } = renderPage(<NewObjectPage />, `${LIST}/new`, at("topics/new"));
    await user.click(await screen.findByRole("button", { name: "Create topic" }));
    expect(screen.getByLabelText("Name")).toHaveAccessibleDescription(/Give a name/);
    expect(screen.getByLabelText("Highest rate")).toHaveAccessibleDescription("Give a number.");
    expect(asked.some((one: Asked) => one.method === "POST")).toBe(false);
  });

  it("puts the server's messages at their fields and keeps what was typed", async () => {
    const asked = serve({
      ...base,
      "POST /api/v1/topics": problem(400, "invalid", "rate_min_per_s: too high", [
        { field: "rate_min_per_s", message: "Above the highest rate; lower it." },
      ]),
    });
    const { user } = renderPage(<NewObjectPage />, `${LIST}/new`, at("topics/new"));
    await user.type(await screen.findByLabelText("Name"), "orders");
    await user.type(screen.getByLabelText("Highest rate"), "10");
    await user.type(screen.getByLabelText(/^Recorded bucket/), "2.5");
    await user.click(screen.getByRole("button", { name: "Create topic" }));
    await waitFor(() =>
      expect(screen.getByLabelText("Lowest rate")).toHaveAccessibleDescription(/lower it/),
    );
    expect(screen.getByLabelText("Name")).toHaveValue("orders");
    const sent = asked.find((one: Asked) => one.method === "POST");
    expect(sent?.headers.get("Idempotency-Key")).not.toBeNull();
    expect(sent?.body).toMatchObject({ name: "orders", system: SYSTEM, rate_max_per_s: 10 });
    expect(sent?.body).toMatchObject({ token_bucket: null, recorded_bucket: 2.5 });
  });
});

describe("an object", () => {
  const path = `/api/v1/topics/${T.id}`;
  const address = at(`topics/${T.id}`);

  it("that is a topic leads to the search for publishers that burst together", async () => {
    serve({ ...base, [`GET ${path}`]: ok(T) });
    renderPage(<ObjectPage />, `${LIST}/:id`, address);
    expect(await screen.findByRole("link", { name: "Look for bursts" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/correlation?topic=${T.id}&look=1`,
    );
  });

  it("saves its changes against the version that was read", async () => {
    const saved = topic({ version: 4, rate_max_per_s: 500 });
    const asked = serve({
      ...base,
      [`GET ${path}`]: ok(T),
      [`PATCH ${path}`]: ok(saved),
    });
    const { user } = renderPage(<ObjectPage />, `${LIST}/:id`, address);
    const field = await screen.findByLabelText("Highest rate");
    await user.clear(field);
    await user.type(field, "500");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(asked.some((one: Asked) => one.method === "PATCH")).toBe(true));
    const sent = asked.find((one: Asked) => one.method === "PATCH");
    expect(sent?.headers.get("If-Match")).toBe('"3"');
    expect(sent?.body).toEqual({ rate_max_per_s: 500 });
    expect(await screen.findByText("Saved topic trades.eu")).toBeInTheDocument();
  });

  it("gets labels, and says at the field what is none", async () => {
    const asked = serve({ ...base, [`GET ${path}`]: ok(T), [`PATCH ${path}`]: ok(T) });
    const { user } = renderPage(<ObjectPage />, `${LIST}/:id`, address);
    const field = await screen.findByLabelText(/^Labels/);
    await user.type(field, "team{Enter}");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(await screen.findByText(/"team" has no "="/)).toBeInTheDocument();
    expect(asked.some((one: Asked) => one.method === "PATCH")).toBe(false);
    await user.type(screen.getByLabelText(/^Labels/), "{Backspace}team = port, north{Enter}");
    await user.type(screen.getByLabelText(/^External id/), "srv/7");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(asked.some((one: Asked) => one.method === "PATCH")).toBe(true));
    expect(asked.find((one: Asked) => one.method === "PATCH")?.body).toEqual({
      external_id: "srv/7",
      labels: { team: "port, north" },
    });
  });

  it("saves a label that Ctrl+S finds half typed, and one that differs in case alone", async () => {
    const labelled = topic({ labels: { team: "port" } });
    const asked = serve({ ...base, [`GET ${path}`]: ok(labelled), [`PATCH ${path}`]: ok(T) });
    const { user } = renderPage(<ObjectPage />, `${LIST}/:id`, address);
    const field = await screen.findByLabelText(/^Labels/);
    await user.type(field, "Team=Port{Enter}tier=1");
    await user.keyboard("{Control>}s{/Control}");
    await waitFor(() => expect(asked.some((one: Asked) => one.method === "PATCH")).toBe(true));
    expect(asked.find((one: Asked) => one.method === "PATCH")?.body).toEqual({
      labels: { team: "port", Team: "Port", tier: "1" },
    });
  });

  it("keeps what one has typed over a later version, and nothing else", async () => {
    let latest = T;
    const asked = serve({
      ...base,
      [`GET ${path}`]: () => ok(latest),
      [`PATCH ${path}`]: () => {
        latest = topic({ version: 4, external_id: "ci-1", labels: { team: "ops" } });
        return problem(412, "version_mismatch", "Changed by someone else.");
      },
    });
    const { user } = renderPage(<ObjectPage />, `${LIST}/:id`, address);
    await user.type(await screen.findByLabelText(/^Description/), "mine");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await user.click(await screen.findByRole("button", { name: "keep mine and save over it" }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    const sent = () => asked.filter((one: Asked) => one.method === "PATCH");
    await waitFor(() => expect(sent()).toHaveLength(2));
    expect(sent()[1]?.headers.get("If-Match")).toBe('"4"');
    expect(Object.keys(sent()[1]?.body as object)).toEqual(["description"]);
  });

  it("says that someone else changed it, and keeps one's own entries", async () => {
    let latest = T;
    serve({
      ...base,
      [`GET ${path}`]: () => ok(latest),
      [`PATCH ${path}`]: () => {
        latest = topic({ version: 4, description: "theirs" });
        return problem(412, "version_mismatch", "Changed by someone else.");
      },
    });
    const { user } = renderPage(<ObjectPage />, `${LIST}/:id`, address);
    await user.type(await screen.findByLabelText(/^Description/), "mine");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(
      await screen.findByText("Changed by someone else while you edited."),
    ).toBeInTheDocument();
    expect(screen.getByLabelText(/^Description/)).toHaveValue("mine");
    await user.click(screen.getByRole("button", { name: "Load the stored version" }));
    expect(screen.getByLabelText(/^Description/)).toHaveValue("theirs");
  });

  it("is read-only without the command to edit", async () => {
    serve({ ...base, [`GET ${path}`]: ok(topic({ allowed_commands: [] })) });
    renderPage(<ObjectPage />, `${LIST}/:id`, address);
    expect(await screen.findByLabelText("Name")).toBeDisabled();
    expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
    expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
  });
});
