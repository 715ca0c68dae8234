import { screen, waitFor, within } from "@testing-library/react";

import ConnectionPage from "./connection-page";
import ConnectionsPage from "./connections-page";

import type { Connection, Exchange, WaitingMessage } from "@/api/connections";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const TIME = "2026-03-18T14:02:00Z";
const ID = "a1111111-1111-4111-8111-111111111111";
const PATH = `/api/v1/connections/${ID}`;

const connection = (change: Partial<Connection> = {}): Connection => ({
  id: ID,
  name: "Change control",
  product: "servicenow",
  enabled: true,
  settings: { address: "https://example.invalid", kind: "normal", headers: { "X-Team": "bus" } },
  credential: "env:WEIR_CREDENTIAL_SNOW",
  approval_needed: true,
  window_from_change: false,
  systems: [SYSTEM],
  system_names: ["Base workload"],
  problem: "",
  retry_at: null,
  answered_at: TIME,
  waiting: 0,
  troubled: [],
  version: 3,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete", "test"],
  ...change,
});

const setting = (name: string, type: string, fallback: unknown) => ({
  name,
  type,
  unit: null,
  minimum: null,
  maximum: null,
  exclusive: false,
  help: `Help for ${name}.`,
  required: fallback === null,
  default: fallback,
});

const products = [
  {
    name: "servicenow",
    title: "ServiceNow",
    settings: [
      setting("address", "string", null),
      setting("kind", "string", "normal"),
      setting("headers", "mapping", {}),
    ],
  },
];

const exchange = (change: Partial<Exchange> = {}): Exchange => ({
  id: 7,
  connection: ID,
  connection_name: "Change control",
  change: "c1111111-1111-4111-8111-111111111111",
  change_name: "CHG0030052",
  at: TIME,
  first_at: TIME,
  times: 1,
  method: "POST",
  address: "/api/sn_chg_rest/change/normal",
  answer_status: 201,
  request: '{"short_description":"P-118"}',
  response: '{"result":{"number":{"value":"CHG0030052"}}}',
  failure: "",
  seconds: 0.31,
  ...change,
});

const waiting: WaitingMessage = {
  id: "d1111111-1111-4111-8111-111111111111",
  connection: ID,
  connection_name: "Change control",
  change: "c1111111-1111-4111-8111-111111111111",
  change_name: "CHG0030052",
  plan: "88888888-8888-4888-8888-888888888888",
  plan_name: "P-118",
  kind: "comment",
  created_at: TIME,
  attempts: 4,
  next_at: TIME,
  problem: "example.invalid did not answer within 10 s.",
};

const answers = (row: Connection = connection()) => ({
  "GET /api/v1/session": ok(session({ allowed_commands: ["manage_connections"] })),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/connection-products": ok({ results: products }),
  "GET /api/v1/connections": ok(page([row])),
  [`GET ${PATH}`]: ok(row),
  "GET /api/v1/exchanges": ok(page([exchange()])),
  "GET /api/v1/waiting-messages": ok(page([] as WaitingMessage[])),
});

const open = () => renderPage(<ConnectionPage />, "/connections/:id", `/connections/${ID}`);
const list = () => renderPage(<ConnectionsPage />, "/connections", "/connections");
const add = async () => {
  const [button] = await screen.findAllByRole("button", { name: "Add connection" });
  if (button === undefined) throw new Error("no button");
  return button;
};
const sent = (asked: readonly Asked[], method: string) =>
  asked.find((one) => one.method === method);

describe("the list of connections", () => {
  it("shows whether each answers, what waits, and what execution waits for", async () => {
    serve(answers(connection({ problem: "It is away.", waiting: 12 })));
    list();
    const row = within(await screen.findByRole("row", { name: /Change control/ }));
    expect(row.getByText("Does not answer")).toBeInTheDocument();
    expect(row.getByText("12")).toBeInTheDocument();
    expect(row.getByText("approval there")).toBeInTheDocument();
    expect(row.getByText("Base workload")).toBeInTheDocument();
  });

  it("offers a new one to administrators alone", async () => {
    serve({ ...answers(), "GET /api/v1/session": ok(session()) });
    list();
    await screen.findByRole("row", { name: /Change control/ });
    expect(screen.queryByRole("button", { name: "Add connection" })).toBeNull();
  });

  it("sends a new one with its settings, headers line by line, and shows what is refused", async () => {
    const asked = serve({
      ...answers(),
      "POST /api/v1/connections": problem(400, "invalid", "Check the fields.", [
        { field: "settings.address", message: "Use https.", code: "invalid" },
      ]),
    });
    const { user } = list();
    await user.click(await add());
    const form = within(await screen.findByRole("dialog"));
    await user.type(await form.findByLabelText("Name"), "Ops");
    await user.type(form.getByLabelText("Address"), "http://example.invalid");
    await user.type(form.getByLabelText(/^Headers/), "X-Team: bus{enter}X-Other: a: b");
    await user.type(form.getByLabelText(/^Credential/), "env:WEIR_CREDENTIAL_SNOW");
    await user.click(form.getByRole("button", { name: "Save connection" }));
    expect(await form.findByText("Use https.")).toBeInTheDocument();
    expect(sent(asked, "POST")?.body).toMatchObject({
      name: "Ops",
      product: "servicenow",
      settings: {
        address: "http://example.invalid",
        kind: "normal",
        headers: { "X-Team": "bus", "X-Other": "a: b" },
      },
      approval_needed: true,
      window_from_change: false,
    });
    expect(sent(asked, "POST")?.headers.get("Idempotency-Key")).not.toBeNull();
  });

  it("offers the choices of a setting, and reads its label", async () => {
    const asked = serve({
      ...answers(),
      "GET /api/v1/connection-products": ok({
        results: [
          {
            name: "servicenow",
            title: "ServiceNow",
            settings: [
              setting("address", "string", null),
              {
                ...setting("kind", "string", "normal"),
                choices: ["normal", "service_request"],
              },
              { ...setting("cmdb_ci", "string", ""), label: "CMDB item" },
            ],
          },
        ],
      }),
      "POST /api/v1/connections": ok(connection()),
    });
    const { user } = list();
    await user.click(await add());
    const form = within(await screen.findByRole("dialog"));
    const kind = await form.findByRole("combobox", { name: /^Kind/ });
    expect(kind).toHaveValue("normal");
    expect(
      within(kind)
        .getAllByRole("option")
        .map((one) => one.textContent),
    ).toEqual(["Normal", "Service request"]);
    await user.selectOptions(kind, "Service request");
    await user.type(form.getByLabelText("Name"), "Ops");
    await user.type(form.getByLabelText("Address"), "https://example.invalid");
    await user.type(form.getByLabelText(/^CMDB item/), "harbour");
    await user.click(form.getByRole("button", { name: "Save connection" }));
    await waitFor(() => expect(sent(asked, "POST")).toBeDefined());
    expect(sent(asked, "POST")?.body).toMatchObject({
      settings: { kind: "service_request", cmdb_ci: "harbour" },
    });
  });

  it("asks for what goes with a choice alone, and sends it with that choice alone", async () => {
    const withTokens = [
      {
        name: "servicenow" as const,
        title: "ServiceNow",
        settings: [
          setting("address", "string", null),
          { ...setting("authentication", "string", "basic"), choices: ["basic", "oauth"] },
          {
            ...setting("token_address", "string", ""),
            only_with: { authentication: "oauth" },
          },
        ],
      },
    ];
    const asked = serve({
      ...answers(),
      "GET /api/v1/connection-products": ok({ results: withTokens }),
      "POST /api/v1/connections": ok(connection()),
    });
    const { user } = list();
    await user.click(await add());
    const form = within(await screen.findByRole("dialog"));
    const way = await form.findByRole("combobox", { name: /^Authentication/ });
    expect(form.queryByLabelText(/^Token address/)).toBeNull();
    await user.selectOptions(way, "oauth");
    await user.type(form.getByLabelText(/^Token address/), "https://login.example.invalid");
    await user.type(form.getByLabelText("Name"), "Ops");
    await user.click(form.getByRole("button", { name: "Save connection" }));
    await waitFor(() => expect(sent(asked, "POST")).toBeDefined());
    expect(sent(asked, "POST")?.body).toMatchObject({
      settings: { authentication: "oauth", token_address: "https://login.example.invalid" },
    });
  });

  it("leaves out what was typed for another choice", async () => {
    const row = connection({
      settings: { address: "https://example.invalid", kind: "standard", template: "a1" },
    });
    const asked = serve({
      ...answers(row),
      "GET /api/v1/connection-products": ok({
        results: [
          {
            name: "servicenow" as const,
            title: "ServiceNow",
            settings: [
              setting("address", "string", null),
              { ...setting("kind", "string", "normal"), choices: ["normal", "standard"] },
              { ...setting("template", "string", ""), only_with: { kind: "standard" } },
            ],
          },
        ],
      }),
      [`PATCH ${PATH}`]: ok(row),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Edit" }));
    const form = within(await screen.findByRole("dialog"));
    expect(await form.findByLabelText(/^Template/)).toHaveValue("a1");
    await user.selectOptions(form.getByRole("combobox", { name: /^Kind/ }), "normal");
    expect(form.queryByLabelText(/^Template/)).toBeNull();
    await user.click(form.getByRole("button", { name: "Save connection" }));
    await waitFor(() => expect(sent(asked, "PATCH")).toBeDefined());
    expect(sent(asked, "PATCH")?.body).toMatchObject({
      settings: { address: "https://example.invalid", kind: "normal" },
    });
    expect(sent(asked, "PATCH")?.body).not.toHaveProperty("settings.template");
  });

  it("refuses a header without a value before anything is sent", async () => {
    const asked = serve(answers());
    const { user } = list();
    await user.click(await add());
    const form = within(await screen.findByRole("dialog"));
    await user.type(await form.findByLabelText(/^Headers/), "nonsense");
    await user.click(form.getByRole("button", { name: "Save connection" }));
    expect(await form.findByText('Line 1: write "name: value".')).toBeInTheDocument();
    expect(sent(asked, "POST")).toBeUndefined();
  });
});

describe("one connection", () => {
  it("says why it does not answer, when it is tried again and what waits", async () => {
    serve({
      ...answers(connection({ problem: "It is away.", retry_at: TIME, waiting: 1 })),
      "GET /api/v1/waiting-messages": ok(page([waiting])),
    });
    open();
    expect(await screen.findByText(/1 message waits; nothing is lost/)).toBeInTheDocument();
    const table = within(await screen.findByRole("table", { name: "Waits to be sent" }));
    expect(table.getByText("P-118")).toBeInTheDocument();
    expect(table.getByText(waiting.problem)).toBeInTheDocument();
  });

  it("opens the bodies of an exchange", async () => {
    serve(answers());
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: /POST .*change\/normal/ }));
    expect(screen.getByText(/"short_description": "P-118"/)).toBeInTheDocument();
    expect(screen.getByText(/"number"/)).toBeInTheDocument();
  });

  it("shows what a test has found", async () => {
    serve({
      ...answers(),
      [`POST ${PATH}/test`]: ok({ works: false, detail: "401: the password is not valid." }),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Test" }));
    expect(await screen.findByText(/It does not work. 401/)).toBeInTheDocument();
  });

  it("is switched off only after saying that no plan waits for it then", async () => {
    const asked = serve({ ...answers(), [`PATCH ${PATH}`]: ok(connection({ enabled: false })) });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Switch off" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/No plan waits for its change meanwhile/)).toBeInTheDocument();
    await user.type(dialog.getByLabelText(/Reason/), "Their upgrade.");
    await user.click(dialog.getByRole("button", { name: "Switch off" }));
    await waitFor(() => expect(sent(asked, "PATCH")).toBeDefined());
    expect(sent(asked, "PATCH")?.body).toEqual({ enabled: false, reason: "Their upgrade." });
    expect(sent(asked, "PATCH")?.headers.get("If-Match")).toBe('"3"');
  });

  it("offers nothing to those who may nothing", async () => {
    serve(answers(connection({ allowed_commands: [] })));
    open();
    await screen.findByRole("heading", { name: "Change control" });
    for (const name of ["Test", "Edit", "Switch off", "Delete"]) {
      expect(screen.queryByRole("button", { name })).toBeNull();
    }
  });
});

it("shows which changes cannot be read, and how often something was read alike", async () => {
  const row = {
    id: "c1111111-1111-4111-8111-111111111111",
    number: "CHG0030052",
    plan: "d1111111-1111-4111-8111-111111111111",
    plan_name: "P-7",
    problem: "The server refuses this with 403.",
    next_look_at: null,
  };
  serve({
    ...answers(connection({ troubled: [row] })),
    "GET /api/v1/exchanges": ok(page([exchange({ times: 12 })])),
  });
  open();
  const table = await screen.findByRole("table", { name: "Cannot be read" });
  expect(within(table).getByRole("link", { name: "P-7" })).toBeInTheDocument();
  expect(within(table).getByText(row.problem)).toBeInTheDocument();
  expect(await screen.findByText(/12 times/)).toBeInTheDocument();
});
