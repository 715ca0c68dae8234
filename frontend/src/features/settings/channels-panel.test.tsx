import { act, screen, waitFor, within } from "@testing-library/react";
import { vi } from "vitest";

import SettingsPage from "./settings-page";

import type { Channel } from "@/api/notifications";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const TIME = "2026-03-18T14:02:00Z";
const LATER = "2026-03-18T14:03:00Z";
const ID = "c1111111-1111-4111-8111-111111111111";
const PATH = `/api/v1/channels/${ID}`;
const LIST = "GET /api/v1/channels";

const channel = (change: Partial<Channel> = {}): Channel => ({
  id: ID,
  name: "Ops",
  shape: "slack",
  credential: "env:WEIR_CREDENTIAL_OPS_CHAT",
  all_systems: true,
  systems: [],
  system_names: [],
  kinds: ["plan_to_review", "agent_silent"],
  timezone: "Europe/Berlin",
  digest_at: null,
  quiet_from: null,
  quiet_until: null,
  enabled: true,
  waiting: 0,
  missed: 0,
  missed_since: null,
  last_sent_at: TIME,
  problem: "",
  failing_since: null,
  retry_at: null,
  test_outcome: "none",
  test_asked_at: null,
  test_ended_at: null,
  test_problem: "",
  version: 3,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete", "test"],
  ...change,
});

const open = (rows: Channel[], answers: Parameters<typeof serve>[0] = {}, admin = true) => {
  const asked = serve({
    "GET /api/v1/session": ok(session({ allowed_commands: admin ? ["manage_channels"] : [] })),
    "GET /api/v1/systems": ok(page([system()])),
    [LIST]: ok(page(rows)),
    ...answers,
  });
  return { asked, ...renderPage(<SettingsPage />, "/settings/:tab", "/settings/channels") };
};

const firstRow = async () => within(await screen.findByRole("row", { name: /Ops/ }));
const sent = (asked: readonly Asked[], method: string) =>
  asked.find((one) => one.method === method);

afterEach(() => {
  vi.useRealTimers();
});

describe("the list of channels", () => {
  it("shows of what each hears, of which systems and when", async () => {
    const { user } = open([
      channel({
        shape: "teams",
        all_systems: false,
        systems: [SYSTEM],
        system_names: ["Base workload"],
        digest_at: "08:00:00",
        quiet_from: "22:00:00",
        quiet_until: "07:00:00",
      }),
    ]);
    const row = await firstRow();
    expect(row.getByText("Teams")).toBeInTheDocument();
    expect(row.getByText("Base workload")).toBeInTheDocument();
    expect(row.getByText("daily 08:00, quiet 22:00–07:00")).toHaveTextContent(/Europe\/Berlin$/);
    expect(row.getByTitle("14:02:00 UTC, 18 Mar 2026")).toHaveTextContent(/ago$/);
    expect(row.getByText("Works")).toBeInTheDocument();
    await user.click(row.getByRole("button", { name: "2 kinds" }));
    expect(
      screen.getByText("Is told of: A plan waits for review; Agents are silent."),
    ).toBeInTheDocument();
  });

  it.each([
    [{ last_sent_at: null }, "Not tried yet"],
    [{ enabled: false, problem: "It answers 404." }, "Disabled"],
    [{ problem: "It answers 404.", retry_at: TIME }, "Failing"],
  ])("says whether it takes what it is sent: %o", async (change, text) => {
    open([channel(change)]);
    expect((await firstRow()).getByText(text)).toBeInTheDocument();
  });

  it.each([
    [{ digest_at: "08:00:00" }, "daily 08:00Europe/Berlin"],
    [
      { quiet_from: "22:00:00", quiet_until: "07:00:00" },
      "at once, quiet 22:00–07:00Europe/Berlin",
    ],
    [{}, "at once"],
  ])("names the zone of its times: %o", async (change, text) => {
    open([channel(change)]);
    const cell = (await firstRow()).getByText(/^(daily|at once)/);
    expect(cell.textContent).toBe(text);
  });

  it("counts what waits to be sent", async () => {
    open([channel({ waiting: 3 })]);
    expect((await firstRow()).getByText("3 wait")).toBeInTheDocument();
  });

  it("shows the problem in full, since when and until when", async () => {
    open([
      channel({
        problem: "It answers 404: no_service",
        failing_since: TIME,
        retry_at: "2999-03-18T14:02:00Z",
      }),
    ]);
    expect(
      await screen.findByText(
        /^It answers 404: no_service\. .* for \d+ d\. .* until 14:02, 18 Mar 2999 UTC/,
      ),
    ).toBeInTheDocument();
  });

  it.each([
    [1, /^1 message was given up at 14:02.* UTC; the next one that is written says so\./],
    [3, /^3 messages were given up since 14:02.* UTC; the next one that is written says so\./],
  ])("says how many messages it never got: %d", async (missed, text) => {
    open([channel({ missed, missed_since: TIME })]);
    expect(await screen.findByText(text)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: /in the inbox/ })).toHaveAttribute("href", "/inbox");
  });

  it("shows no problem of a channel that is disabled", async () => {
    open([channel({ enabled: false, problem: "It answers 404." })]);
    await firstRow();
    expect(screen.queryByText("It answers 404.")).toBeNull();
  });

  it("is read without commands by whoever is no administrator", async () => {
    open([channel({ credential: "", allowed_commands: [] })], {}, false);
    const row = await firstRow();
    expect(row.getAllByRole("button")).toHaveLength(1);
    expect(row.getByRole("button", { name: "2 kinds" })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Add channel" })).toBeNull();
  });

  it("says what a channel is for and where its credential is, while there is none", async () => {
    open([]);
    expect(await screen.findByText(/hears of what waits for somebody/)).toBeInTheDocument();
    expect(screen.getByText("env:WEIR_CREDENTIAL_OPS_CHAT")).toBeInTheDocument();
    expect(screen.getAllByRole("button", { name: "Add channel" })).not.toHaveLength(0);
  });

  it("says that it could not be loaded", async () => {
    open([], { [LIST]: problem(503, "unavailable", "The database is away.") });
    expect(await screen.findByText("The database is away.")).toBeInTheDocument();
  });
});

describe("the form of a channel", () => {
  it("adds one with the usual choices, and says at the field what is wrong", async () => {
    const { asked, user } = open([], {
      "POST /api/v1/channels": problem(400, "invalid", "Check the fields.", [
        { field: "credential", message: "Begin with env: or file:." },
        { field: "kinds[0]", message: "There is no such kind." },
      ]),
    });
    const [button] = await screen.findAllByRole("button", { name: "Add channel" });
    if (button === undefined) throw new Error("no button");
    await user.click(button);
    const form = within(await screen.findByRole("dialog"));
    await user.type(await form.findByLabelText("Name"), "Ops");
    await user.selectOptions(form.getByLabelText("Shape"), "Teams");
    await user.type(form.getByLabelText("Credential"), "https://chat.example.com/hook");
    await user.click(form.getByRole("button", { name: "Add channel" }));
    expect(await form.findByText("Begin with env: or file:.")).toBeInTheDocument();
    expect(form.getByText("There is no such kind.")).toBeInTheDocument();
    expect(form.getByLabelText("Credential")).toHaveAccessibleDescription(
      /^Begin with env: or file:\./,
    );
    const body = sent(asked, "POST")?.body as Record<string, unknown>;
    expect(body.kinds).toHaveLength(18);
    expect(body.kinds).not.toContain("execution_paused");
    expect(body).toMatchObject({
      name: "Ops",
      shape: "teams",
      credential: "https://chat.example.com/hook",
      all_systems: true,
      systems: [],
      digest_at: null,
      quiet_from: null,
      quiet_until: null,
      enabled: true,
    });
  });

  it("changes what is chosen, in the version that was opened", async () => {
    const { asked, user, queries } = open([channel()], {
      [`PATCH ${PATH}`]: problem(412, "version_mismatch", "Ops was changed meanwhile."),
    });
    await user.click((await firstRow()).getByRole("button", { name: "Edit" }));
    const form = within(await screen.findByRole("dialog"));
    await user.click(form.getByLabelText(/^All systems/));
    await user.click(await form.findByLabelText("Systems"));
    await user.click(await screen.findByRole("option", { name: "Base workload" }));
    await user.selectOptions(form.getByLabelText("How often"), "Once a day, all in one");
    await user.type(form.getByLabelText(/Quiet from/), "22:00");
    await user.type(form.getByLabelText(/Quiet until/), "07:00");
    await user.click(form.getByLabelText(/^Enabled/));
    const later = serve({
      [LIST]: ok(page([channel({ version: 4 })])),
      [`PATCH ${PATH}`]: problem(412, "version_mismatch", "Ops was changed meanwhile."),
    });
    await queries.invalidateQueries();
    await user.click(form.getByRole("button", { name: "Save channel" }));
    expect(await form.findByText("Ops was changed meanwhile.")).toBeInTheDocument();
    expect(sent(asked, "PATCH")).toBeUndefined();
    expect(sent(later, "PATCH")?.headers.get("If-Match")).toBe('"3"');
    expect(sent(later, "PATCH")?.body).toEqual({
      name: "Ops",
      shape: "slack",
      credential: "env:WEIR_CREDENTIAL_OPS_CHAT",
      all_systems: false,
      systems: [SYSTEM],
      kinds: ["plan_to_review", "agent_silent"],
      timezone: "Europe/Berlin",
      digest_at: "08:00",
      quiet_from: "22:00",
      quiet_until: "07:00",
      enabled: false,
    });
  });

  it("is deleted only after saying what ends, with a reason", async () => {
    const { asked, user } = open([channel({ waiting: 2 })], {
      [`DELETE ${PATH}`]: { status: 204, body: null },
    });
    await user.click((await firstRow()).getByRole("button", { name: "Delete" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/2 waiting notices are never sent there/)).toBeInTheDocument();
    expect(sent(asked, "DELETE")).toBeUndefined();
    await user.type(dialog.getByLabelText(/Reason/), "The team moved");
    await user.click(dialog.getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(sent(asked, "DELETE")).toBeDefined());
    expect(sent(asked, "DELETE")?.headers.get("If-Match")).toBe('"3"');
    expect(sent(asked, "DELETE")?.query.get("reason")).toBe("The team moved");
    expect(await screen.findByText("Deleted Ops")).toBeInTheDocument();
  });
});

describe("a test", () => {
  const TEST = `POST ${PATH}/test`;
  /** Answers of the server one after the other; the last one stays. */
  const inTurn = (...rows: Channel[]) => {
    let last = channel();
    return () => ok(page([(last = rows.shift() ?? last)]));
  };

  const waits = (change: Partial<Channel> = {}) =>
    channel({
      test_outcome: "waiting",
      test_asked_at: new Date().toISOString(),
      waiting: 1,
      ...change,
    });
  const ended = (outcome: Channel["test_outcome"], change: Partial<Channel> = {}) =>
    channel({ test_outcome: outcome, test_asked_at: TIME, test_ended_at: LATER, ...change });

  it("shows in the row that the chat took it", async () => {
    const { asked, user } = open([], {
      [LIST]: inTurn(channel(), waits(), ended("delivered")),
      [TEST]: { status: 202, body: waits() },
    });
    await user.click((await firstRow()).getByRole("button", { name: "Send test" }));
    expect(await screen.findByText("The test is on its way.")).toBeInTheDocument();
    const row = await firstRow();
    expect(row.getByText("Testing")).toBeInTheDocument();
    expect(row.getByRole("button", { name: "Send test" })).toBeDisabled();
    expect(
      await screen.findByText(/^The chat took the test at 14:03.* UTC\.$/, {}, { timeout: 3000 }),
    ).toBeInTheDocument();
    expect((await firstRow()).getByText("Works")).toBeInTheDocument();
    expect(sent(asked, "POST")?.headers.get("Idempotency-Key")).toBeTruthy();
  });

  it("says of a chat that only accepted it where to look", async () => {
    const { user } = open([], {
      [LIST]: inTurn(channel({ shape: "teams" }), ended("accepted", { shape: "teams" })),
      [TEST]: { status: 202, body: waits({ shape: "teams" }) },
    });
    await user.click((await firstRow()).getByRole("button", { name: "Send test" }));
    expect(
      await screen.findByText(/^Teams accepted the test at 14:03.*: look into the channel\.$/),
    ).toBeInTheDocument();
  });

  it("is said to prove little of a workflow of Teams before it is sent", async () => {
    const { user } = open([channel({ shape: "teams" })]);
    await user.click((await firstRow()).getByRole("button", { name: "2 kinds" }));
    expect(screen.getByText(/accepts a test before it posts the card/)).toBeInTheDocument();
  });

  it("shows once why the chat did not take it", async () => {
    const { user } = open([], {
      [LIST]: inTurn(
        channel(),
        waits(),
        ended("failed", {
          test_problem: "It answers 404: no_service",
          problem: "It answers 404: no_service",
          failing_since: LATER,
        }),
      ),
      [TEST]: { status: 202, body: waits() },
    });
    await user.click((await firstRow()).getByRole("button", { name: "Send test" }));
    expect(
      await screen.findByText(
        /^The test failed at 14:03.* UTC: It answers 404: no_service\.$/,
        {},
        { timeout: 3000 },
      ),
    ).toBeInTheDocument();
    expect(screen.getByText(/^It has taken nothing for/)).toBeInTheDocument();
    expect((await firstRow()).getByText("Failing")).toBeInTheDocument();
  });

  it("keeps its outcome apart from what other messages do", async () => {
    const { user } = open([], {
      [LIST]: inTurn(
        channel({ problem: "It answers 503." }),
        waits({ problem: "It answers 503.", last_sent_at: LATER }),
        ended("failed", { test_problem: "It answers 404.", problem: "It answers 503." }),
      ),
      [TEST]: { status: 202, body: waits() },
    });
    await user.click((await firstRow()).getByRole("button", { name: "Send test" }));
    // Another message was taken meanwhile.
    expect(await screen.findByText("The test is on its way.")).toBeInTheDocument();
    expect(
      await screen.findByText(/^The test failed at .* It answers 404\.$/, {}, { timeout: 3000 }),
    ).toBeInTheDocument();
    expect(screen.getByText("It answers 503.")).toBeInTheDocument();
  });

  it("of another visit is seen while it waits, and what came of it", async () => {
    let now = waits();
    open([], { [LIST]: () => ok(page([now])) });
    expect(await screen.findByText("The test is on its way.")).toBeInTheDocument();
    now = ended("delivered");
    expect(await screen.findByText("Works", {}, { timeout: 3000 })).toBeInTheDocument();
    expect(screen.getByText(/^The chat took the test at 14:03/)).toBeInTheDocument();
  });

  it("that went well before this visit is shown to whoever opens the row", async () => {
    const { user } = open([ended("delivered")]);
    expect((await firstRow()).getByText("Works")).toBeInTheDocument();
    expect(screen.queryByText(/The chat took the test/)).toBeNull();
    await user.click((await firstRow()).getByRole("button", { name: "2 kinds" }));
    expect(screen.getByText(/^The chat took the test at 14:03/)).toBeInTheDocument();
  });

  it("that failed before this visit is shown until something is taken", async () => {
    const failed = ended("failed", { test_problem: "It answers 404." });
    open([failed, { ...failed, id: "later", name: "crew", last_sent_at: LATER }]);
    await firstRow();
    expect(screen.getAllByText(/^The test failed at/)).toHaveLength(1);
  });

  it("is not waited for longer than a minute", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
    const { user } = open([waits()], { [TEST]: { status: 202, body: waits() } });
    expect(await screen.findByText("The test is on its way.")).toBeInTheDocument();
    await act(() => vi.advanceTimersByTimeAsync(62_000));
    expect(screen.getByText(/was not sent within a minute/)).toBeInTheDocument();
    const button = (await firstRow()).getByRole("button", { name: "Send test" });
    expect(button).toBeEnabled();
    // It is the same test that is asked for again.
    await user.click(button);
    expect(screen.getByText(/was not sent within a minute/)).toBeInTheDocument();
  });

  it("is not offered by a channel that is disabled", async () => {
    open([channel({ enabled: false, allowed_commands: ["edit", "delete"] })]);
    const row = await firstRow();
    expect(row.getByRole("button", { name: "Edit" })).toBeInTheDocument();
    expect(row.queryByRole("button", { name: "Send test" })).toBeNull();
  });

  it("says why it was refused", async () => {
    const { user } = open([channel()], {
      [TEST]: problem(409, "channel_disabled", "Ops is disabled."),
    });
    await user.click((await firstRow()).getByRole("button", { name: "Send test" }));
    expect(await screen.findByText("Ops is disabled.")).toBeInTheDocument();
  });
});
