import { screen, waitFor, within } from "@testing-library/react";

import { classRows, fleetRows } from "./fleet";
import TelemetryPage from "./telemetry-page";

import type { Agent, Telemetry } from "@/api/telemetry";
import type { CatalogTypes } from "@/api/catalog";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const S = system().id;
const TIME = "2026-03-18T14:00:00Z";

const broker = (name: string): CatalogTypes["brokers"] => ({
  id: `id-${name}`,
  system: S,
  system_name: "Base workload",
  name,
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: [],
  capacities: [],
});

const agent = (name: string, change: Partial<Agent> = {}): Agent => ({
  served_number: 7,
  obeyed_number: 7,
  database_restored: false,
  id: `agent-${name}`,
  system: S,
  system_name: "Base workload",
  broker: `id-${name}`,
  broker_name: name,
  state: "live",
  prefix: "wa_12345678",
  enrolled_at: TIME,
  updated_at: TIME,
  revoked_at: null,
  incarnation: 3,
  lease_until: TIME,
  agent_version: "0.2.0",
  product: "nats",
  address: "nats://127.0.0.1:4222",
  said_address: "",
  address_problem: "",
  public_key: "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
  facts: {},
  capabilities: {},
  observed: {
    version: "abc",
    number: 7,
    gates: { ships: { rate_per_s: 80, burst: 20 } },
    limits: { "ships.gold": 4 },
    admitted: { "ships.gold": 4 },
    waiting: { "ships.gold": 2 },
    links: [],
    problems: ["JetStream is not enabled: reliable flows cannot pass here."],
  },
  observed_at: TIME,
  last_report_at: TIME,
  allowed_commands: [],
  ...change,
});

const sample = (name: string): Telemetry => ({
  broker: `id-${name}`,
  broker_name: name,
  at: TIME,
  interval_s: 1,
  flows: { ships: { offered_per_s: 120, passed_per_s: 79.9, shed_per_s: 40.1, backlog: 3 } },
  classes: { "ships.gold": { admitted: 4, waiting: 2, delivered_per_s: 319.6 } },
  links: { "ham-1": { sent_per_s: 79.9, received_per_s: 0, backlog: 5, backlog_peak: 613 } },
  broker_load: {
    connections: 9,
    in_msgs_per_s: 120,
    out_msgs_per_s: 400,
    in_bytes_per_s: 3 * 1024 * 1024,
    cpu_ratio: 0.04,
    memory_bytes: 20 * 1024 * 1024,
    unmanaged: ["legacy-1"],
    sync_always: true,
  },
  agent: { cpu_s: 0.01, forwarded: 80 },
  suspect: "",
});

const answers = (agents: Agent[], latest: Telemetry[]) => ({
  "GET /api/v1/session": ok(session({ allowed_commands: ["manage_agents"] })),
  [`GET /api/v1/systems/${S}`]: ok(system()),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/brokers": ok(page([broker("rot-1"), broker("ham-1")])),
  "GET /api/v1/agents": ok(page(agents)),
  "GET /api/v1/telemetry": ok(latest),
  "GET /api/v1/telemetry/losses": ok({ results: [] }),
  "GET /api/v1/flow-status": ok({
    rate_control: true,
    plan: null,
    plan_name: null,
    flows: [
      {
        flow: "ships",
        broker: "rot-1",
        in_force_per_s: 80,
        burst: 20,
        controlled_per_s: 84.5,
        promised_per_s: 80,
        rate_min_per_s: 5,
        rate_max_per_s: 120,
        band_low_per_s: 64,
        band_high_per_s: 96,
        offered_per_s: 120,
        passed_per_s: 84.4,
        shed_per_s: 35.6,
        backlog: 3,
      },
    ],
  }),
});

it("shows gates, consumers, unmanaged clients and problems of a live broker", async () => {
  serve(answers([agent("rot-1")], [sample("rot-1")]));
  renderPage(<TelemetryPage />, "/systems/:systemId/telemetry", `/systems/${S}/telemetry`);
  const gates = within(await screen.findByRole("table", { name: "Gates" }));
  expect(gates.getByText("ships")).toBeInTheDocument();
  const cells = gates.getAllByRole("cell").map((cell) => cell.textContent);
  expect(cells.slice(2, 9)).toEqual(["80.00", "80.00", "84.50", "20", "120", "84.40", "100 %"]);
  expect(screen.getByText("Rate control on")).toBeInTheDocument();
  const consumers = within(screen.getByRole("table", { name: "Consumers at rot-1" }));
  expect(consumers.getByRole("img", { name: "4 of 6 admitted" })).toBeInTheDocument();
  expect(screen.getByText(/legacy-1/)).toBeInTheDocument();
  // What the broker does not count is not known.
  expect(screen.getByText("Data in").nextElementSibling).toHaveTextContent("3.0 MiB/s");
  expect(screen.getByText("Data out").nextElementSibling).toHaveTextContent("–");
  const links = within(screen.getByRole("table", { name: /^Links/ }));
  expect(links.getByRole("cell", { name: "613" })).toBeInTheDocument();
  expect(screen.getByText(/JetStream is not enabled/)).toBeInTheDocument();
  expect(screen.getByText("no agent")).toBeInTheDocument();
});

it("says in the list which broker has a problem, whichever is picked", async () => {
  const well = { ...agent("ham-1").observed, problems: [] } as Agent["observed"];
  serve(answers([agent("rot-1", { observed: well }), agent("ham-1")], []));
  renderPage(<TelemetryPage />, "/systems/:systemId/telemetry", `/systems/${S}/telemetry`);
  const brokers = within(await screen.findByRole("table", { name: "Brokers" }));
  expect(within(brokers.getByRole("row", { name: /ham-1/ })).getByText("Problem")).toBeVisible();
  expect(within(brokers.getByRole("row", { name: /rot-1/ })).queryByText("Problem")).toBeNull();
  expect(screen.getByText("1 broker with problems")).toBeInTheDocument();
});

it("gives an agent its credential and shows it once", async () => {
  const asked = serve({
    ...answers([], []),
    "POST /api/v1/agents": {
      status: 201,
      body: { ...agent("rot-1", { state: "never" }), credential: "wa_secret" },
    },
  });
  const { user } = renderPage(
    <TelemetryPage />,
    "/systems/:systemId/telemetry",
    `/systems/${S}/telemetry`,
  );
  await screen.findByRole("table", { name: "Brokers" });
  await user.click(await screen.findByRole("button", { name: "Enrol agent" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Enrol agent" }));
  await user.selectOptions(dialog.getByLabelText("Broker"), "id-ham-1");
  await user.type(dialog.getByLabelText("Address for neighbours"), "nats://10.1.2.3:4222");
  await user.click(dialog.getByRole("button", { name: "Enrol agent" }));
  expect(await dialog.findByDisplayValue("wa_secret")).toBeInTheDocument();
  await waitFor(() =>
    expect(asked.find((one: Asked) => one.method === "POST")?.body).toEqual({
      broker: "id-ham-1",
      address: "nats://10.1.2.3:4222",
    }),
  );
});

it("shows what is wrong with an address at its field", async () => {
  serve({
    ...answers([], []),
    "POST /api/v1/agents": problem(400, "invalid", "address: The port is missing.", [
      { field: "address", message: "The port is missing." },
    ]),
  });
  const { user } = renderPage(
    <TelemetryPage />,
    "/systems/:systemId/telemetry",
    `/systems/${S}/telemetry`,
  );
  await screen.findByRole("table", { name: "Brokers" });
  await user.click(await screen.findByRole("button", { name: "Enrol agent" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Enrol agent" }));
  await user.click(dialog.getByRole("button", { name: "Enrol agent" }));
  expect(await dialog.findByText("The port is missing.")).toBeInTheDocument();
  expect(dialog.getByLabelText("Address for neighbours")).toBeInvalid();
});

it("shows an address that differs from what the agent says, and fixes another", async () => {
  const said = "The agent says that it is reached at nats://other:4222.";
  const known = agent("rot-1", {
    said_address: "nats://other:4222",
    address_problem: said,
    allowed_commands: ["enrol", "edit", "revoke"],
  });
  const asked = serve({
    ...answers([known], [sample("rot-1")]),
    "PATCH /api/v1/agents/agent-rot-1": ok(known),
  });
  const { user } = renderPage(
    <TelemetryPage />,
    "/systems/:systemId/telemetry",
    `/systems/${S}/telemetry`,
  );
  expect(await screen.findByText(said)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Set address" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Address of rot-1" }));
  const field = dialog.getByLabelText("Address for neighbours");
  expect(field).toHaveValue("nats://127.0.0.1:4222");
  expect(dialog.getByRole("button", { name: "Set address" })).toBeDisabled();
  expect(dialog.queryByText(/Neighbours connect/)).toBeNull();
  await user.clear(field);
  await user.type(field, "tls://rot-1");
  expect(dialog.getByText(/The port is missing/)).toBeInTheDocument();
  expect(dialog.queryByText(/Neighbours connect/)).toBeNull();
  expect(dialog.getByRole("button", { name: "Set address" })).toBeDisabled();
  await user.type(field, ":4222");
  expect(dialog.getByText(/and leave nats:\/\/127.0.0.1:4222/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Set address" }));
  await waitFor(() =>
    expect(asked.find((one: Asked) => one.method === "PATCH")?.body).toEqual({
      address: "tls://rot-1:4222",
      reason: "",
    }),
  );
});

it("revokes an agent after it has said what that ends", async () => {
  const asked = serve({
    ...answers([agent("rot-1", { allowed_commands: ["revoke"] })], [sample("rot-1")]),
    "DELETE /api/v1/agents/agent-rot-1": { status: 204, body: null },
  });
  const { user } = renderPage(
    <TelemetryPage />,
    "/systems/:systemId/telemetry",
    `/systems/${S}/telemetry`,
  );
  await user.click(await screen.findByRole("button", { name: "Revoke agent" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Revoke agent of rot-1" }));
  expect(dialog.getByText(/reliable messages for it wait/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Revoke agent" }));
  await waitFor(() => expect(asked.some((one: Asked) => one.method === "DELETE")).toBe(true));
});

it("offers no change of an address to whoever may not change it", async () => {
  serve(answers([agent("rot-1")], [sample("rot-1")]));
  renderPage(<TelemetryPage />, "/systems/:systemId/telemetry", `/systems/${S}/telemetry`);
  await screen.findByText("Address for neighbours");
  expect(screen.queryByRole("button", { name: "Set address" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Revoke agent" })).toBeNull();
});

it("shows nothing of the past for an agent that fell silent", () => {
  const rows = fleetRows([broker("rot-1")], [agent("rot-1", { state: "silent" })], {
    latest: [sample("rot-1")],
    heard: { "rot-1": [sample("rot-1")] },
  });
  expect(rows[0]?.latest).toBeNull();
  expect(rows[0]?.backlog).toBeNull();
});

it("sums backlog over gates and links and joins limits with what is measured", () => {
  const [row] = fleetRows([broker("rot-1")], [agent("rot-1")], {
    latest: [sample("rot-1")],
    heard: {},
  });
  expect(row?.backlog).toBe(8);
  expect(row ? classRows(row) : []).toEqual([
    { name: "ships.gold", limit: 4, admitted: 4, waiting: 2, delivered: 319.6 },
  ]);
});

it("takes a second in which nothing was measured for no silence", () => {
  const first = sample("rot-1");
  const unknown: Telemetry = {
    ...first,
    classes: { "ships.gold": { admitted: 4 } },
    broker_load: { unmanaged: [], sync_always: null },
  };
  const [row] = fleetRows([broker("rot-1")], [agent("rot-1")], {
    latest: [unknown],
    heard: { "rot-1": [first, unknown, first] },
  });
  expect(row?.out).toEqual([400, 400]);
  expect(row ? classRows(row)[0]?.delivered : 0).toBeNull();
});
