import { screen, waitFor, within } from "@testing-library/react";

import WebhookPage from "./webhook-page";
import WebhooksPage from "./webhooks-page";

import type { Delivery, EventKind, Webhook } from "@/api/webhooks";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const TIME = "2026-03-18T14:02:00Z";
const ID = "a1111111-1111-4111-8111-111111111111";
const PATH = `/api/v1/webhooks/${ID}`;
const SECRET = "whsec_c2VjcmV0";

const webhook = (change: Partial<Webhook> = {}): Webhook => ({
  id: ID,
  name: "Tickets",
  description: "",
  address: "https://hooks.example.com/weir",
  types: ["weir.plan.*"],
  all_systems: true,
  systems: [],
  system_names: [],
  enabled: true,
  disabled_because: "",
  secret_fingerprint: "0123abcd",
  previous_until: null,
  problem: "",
  failing_since: null,
  retry_at: null,
  answered_at: TIME,
  waiting: 0,
  version: 3,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete", "rotate", "test"],
  ...change,
});

const kinds: EventKind[] = [
  {
    kind: "plan",
    title: "Plans",
    pattern: "weir.plan.*",
    types: ["weir.plan.approve", "weir.plan.go_stale"],
    is_private: false,
  },
  {
    kind: "run",
    title: "Computations",
    pattern: "weir.run.*",
    types: ["weir.run.start"],
    is_private: false,
  },
];

const delivery: Delivery = {
  id: "d1111111-1111-4111-8111-111111111111",
  webhook: ID,
  webhook_name: "Tickets",
  type: "weir.plan.approve",
  subject: "plan/88888888-8888-4888-8888-888888888888",
  state: "waiting",
  attempts: 2,
  created_at: TIME,
  next_at: TIME,
  ended_at: null,
  problem: "It answers 500.",
  allowed_commands: ["redeliver"],
};
const DELIVERY = `/api/v1/deliveries/${delivery.id}`;

const answers = (row: Webhook = webhook()) => ({
  "GET /api/v1/session": ok(session({ allowed_commands: ["manage_webhooks"] })),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/event-types": ok({ results: kinds }),
  "GET /api/v1/webhooks": ok(page([row])),
  [`GET ${PATH}`]: ok(row),
  "GET /api/v1/deliveries": ok(page([delivery])),
  [`GET ${DELIVERY}`]: ok({
    ...delivery,
    body: '{"type":"weir.plan.approve"}',
    tries: [{ at: TIME, answer_status: 500, response: "no room", failure: "", seconds: 0.2 }],
  }),
});

const open = () => renderPage(<WebhookPage />, "/webhooks/:id", `/webhooks/${ID}`);
const list = () => renderPage(<WebhooksPage />, "/webhooks", "/webhooks");
const sent = (asked: readonly Asked[], method: string) =>
  asked.find((one) => one.method === method);

describe("the list of webhooks", () => {
  it("shows what each hears of, and whether it takes it", async () => {
    serve(answers(webhook({ problem: "It answers 500.", waiting: 12 })));
    list();
    const row = within(await screen.findByRole("row", { name: /Tickets/ }));
    expect(await row.findByText("plans")).toBeInTheDocument();
    expect(row.getByText("Failing")).toBeInTheDocument();
    expect(row.getByText("12")).toBeInTheDocument();
  });

  it("names single types in the words of the history", async () => {
    serve(answers(webhook({ types: ["weir.plan.go_stale", "weir.run.*"] })));
    list();
    const row = within(await screen.findByRole("row", { name: /Tickets/ }));
    expect(await row.findByText("plans: found it stale, computations")).toBeInTheDocument();
  });

  it("offers a new one to administrators alone", async () => {
    serve({ ...answers(), "GET /api/v1/session": ok(session()) });
    list();
    await screen.findByRole("row", { name: /Tickets/ });
    expect(screen.queryByRole("button", { name: "Add webhook" })).toBeNull();
  });

  it("makes a new one, shows what is refused at its field, and the secret once", async () => {
    const asked = serve({
      ...answers(),
      "POST /api/v1/webhooks": problem(400, "invalid", "Check the fields.", [
        { field: "address", message: "Only https:// is allowed.", code: "invalid" },
      ]),
    });
    const { user } = list();
    const [button] = await screen.findAllByRole("button", { name: "Add webhook" });
    if (button === undefined) throw new Error("no button");
    await user.click(button);
    const form = within(await screen.findByRole("dialog"));
    await user.type(await form.findByLabelText("Name"), "Ops");
    await user.type(form.getByLabelText("Address"), "http://hooks.example.com");
    await user.click(form.getByRole("button", { name: "Save webhook" }));
    expect(await form.findByText("Only https:// is allowed.")).toBeInTheDocument();
    expect(sent(asked, "POST")?.body).toMatchObject({
      name: "Ops",
      address: "http://hooks.example.com",
      types: ["*"],
      all_systems: true,
      systems: [],
    });
    serve({ ...answers(), "POST /api/v1/webhooks": ok({ ...webhook(), secret: SECRET }) });
    await user.click(form.getByRole("button", { name: "Save webhook" }));
    expect(await screen.findByDisplayValue(SECRET)).toBeInTheDocument();
  });
});

describe("one webhook", () => {
  it("says since when it fails, until when it is left alone and what waits", async () => {
    serve(
      answers(
        webhook({ problem: "It answers 500.", failing_since: TIME, retry_at: TIME, waiting: 1 }),
      ),
    );
    open();
    expect(await screen.findByText(/1 delivery waits; each is tried/)).toBeInTheDocument();
  });

  it("opens the body and the answers of a delivery, and sends it again", async () => {
    const asked = serve({ ...answers(), [`POST ${DELIVERY}/redeliver`]: ok(delivery) });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "weir.plan.approve" }));
    expect(await screen.findByText(/"type": "weir.plan.approve"/)).toBeInTheDocument();
    expect(screen.getByText("no room")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Send again" }));
    await waitFor(() => expect(sent(asked, "POST")?.path).toContain("redeliver"));
  });

  it("makes a new secret beside the present one, and shows it once", async () => {
    const asked = serve({
      ...answers(),
      [`POST ${PATH}/rotate`]: ok({ ...webhook({ version: 4 }), secret: SECRET }),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "New secret" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Make a new secret" }));
    expect(await screen.findByDisplayValue(SECRET)).toBeInTheDocument();
    expect(screen.getByText(/within 24 hours/)).toBeInTheDocument();
    expect(sent(asked, "POST")?.body).toEqual({ keep_previous_h: 24, reason: "" });
    expect(sent(asked, "POST")?.headers.get("If-Match")).toBe('"3"');
  });

  it("is switched off only after saying that what happens meanwhile is never sent", async () => {
    const asked = serve({ ...answers(), [`PATCH ${PATH}`]: ok(webhook({ enabled: false })) });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Switch off" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/is never sent/)).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Switch off" }));
    await waitFor(() => expect(sent(asked, "PATCH")).toBeDefined());
    expect(sent(asked, "PATCH")?.body).toEqual({ enabled: false, reason: "" });
  });

  it("does what its dialog said, though the webhook was edited meanwhile", async () => {
    serve(answers());
    const { user, queries } = open();
    await user.click(await screen.findByRole("button", { name: "Switch off" }));
    const asked = serve({
      ...answers(webhook({ enabled: false, version: 4 })),
      [`PATCH ${PATH}`]: problem(412, "version_mismatch", "Tickets was changed meanwhile."),
    });
    await queries.invalidateQueries();
    expect(await screen.findByText("Off")).toBeInTheDocument();
    const dialog = within(screen.getByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Switch off" }));
    expect(await screen.findByText("Tickets was changed meanwhile.")).toBeInTheDocument();
    expect(sent(asked, "PATCH")?.body).toEqual({ enabled: false, reason: "" });
    expect(sent(asked, "PATCH")?.headers.get("If-Match")).toBe('"3"');
  });

  it("says why it was disabled", async () => {
    serve(answers(webhook({ enabled: false, disabled_because: "It answers 410." })));
    open();
    expect(await screen.findByText("It answers 410.")).toBeInTheDocument();
  });

  it("names the systems that it hears of", async () => {
    serve(
      answers(webhook({ all_systems: false, systems: [SYSTEM], system_names: ["Base workload"] })),
    );
    open();
    expect(await screen.findByText("systems: Base workload")).toBeInTheDocument();
  });
});
