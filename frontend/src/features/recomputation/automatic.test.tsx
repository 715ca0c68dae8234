import { screen, waitFor, within } from "@testing-library/react";

import RecomputationPage from "./recomputation-page";
import { decisionStanding } from "./words";

import type { AutomaticDecision, Automation } from "@/api/automation";
import { renderPage } from "@/testing/render";
import { page, session, system, SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const TIME = "2026-03-18T14:02:00Z";
const ROOM = "/api/v1/recomputation";
const STOP = "/api/v1/automatic-stops";

const automation = (change: Partial<Automation> = {}): Automation => ({
  system: SYSTEM,
  system_name: "Base workload",
  auto_execute: "on",
  stop: null,
  stop_text: "",
  went_well: 3,
  needed: 5,
  trust_text: "3 plans of its kind that people approved have brought what they promised.",
  begun_lately: 1,
  per_day: 4,
  since: TIME,
  would_execute: 7,
  would_last_s: 147_600,
  would_gain: 0.031,
  under_way: 1,
  brought: 4,
  taken_back: 2,
  unknown: 0,
  given_up: 1,
  left: 9,
  ...change,
});

const decision = (change: Partial<AutomaticDecision> = {}): AutomaticDecision => ({
  id: "d1111111-1111-4111-8111-111111111111",
  system: SYSTEM,
  system_name: "Base workload",
  firing: "a1111111-1111-4111-8111-111111111111",
  firing_name: "nightly",
  plan: "88888888-8888-4888-8888-888888888888",
  plan_name: "P-118",
  plan_title: "Enact A-27: 2 rates",
  plan_state: "executed",
  choice: "execute",
  because: "It touches 50.0 % of the brokers (at most 100.0 %).",
  gain: 0.042,
  waits_because: "",
  began_at: TIME,
  roll_back: null,
  roll_back_name: null,
  roll_back_because: "",
  end: "",
  ended_at: null,
  ended_because: "",
  decided_at: TIME,
  ...change,
});

const stop = {
  id: "e1111111-1111-4111-8111-111111111111",
  stopped_by: "5a111111-1111-4111-8111-111111111111",
  stopped_by_name: "Olga",
  reason: "Load test",
  stopped_at: TIME,
  ended_by: null,
  ended_by_name: null,
  ended_at: null,
  end_reason: "",
  allowed_commands: ["resume"],
};

const answers = (change: Record<string, unknown> = {}) => ({
  "GET /api/v1/session": ok(session({ allowed_commands: ["stop_automatic"] })),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  [`GET ${ROOM}/schedules`]: ok(page([])),
  [`GET ${ROOM}/triggers`]: ok(page([])),
  [`GET ${ROOM}/firings`]: ok(page([])),
  [`GET ${ROOM}/automation`]: ok(automation()),
  [`GET ${ROOM}/decisions`]: ok(page([decision()])),
  [`GET ${STOP}`]: ok(page([])),
  ...(change as Record<string, ReturnType<typeof ok>>),
});

const open = () =>
  renderPage(
    <RecomputationPage />,
    "/systems/:systemId/recomputation",
    `/systems/${SYSTEM}/recomputation`,
  );

describe("plans without a person", () => {
  it("says how far Weir may go, what it did, and what a dry run would have brought", async () => {
    serve(answers());
    open();
    const panel = within(
      await screen.findByRole("region", { name: "Carried out without a person" }),
    );
    expect(await panel.findByText("3 of 5")).toBeInTheDocument();
    expect(panel.getByText("1 of 4")).toBeInTheDocument();
    expect(panel.getByText("+3.1 % utility promised over 2 d")).toBeInTheDocument();
    expect(panel.getByText("4 as promised, 2 taken back")).toBeInTheDocument();
    const row = within(panel.getByRole("table", { name: "Decisions" })).getAllByRole("row")[1];
    expect(row).toHaveTextContent("P-118Enact A-27: 2 ratesBeing measured+4.2 %It touches 50.0 %");
  });

  it("says why one was taken back, and by which plan", async () => {
    const taken = decision({
      end: "taken_back",
      ended_because: "What was promised did not come.",
      roll_back: "99999999-8888-4888-8888-888888888888",
      roll_back_name: "P-119",
    });
    serve(answers({ [`GET ${ROOM}/decisions`]: ok(page([taken])) }));
    open();
    const table = within(await screen.findByRole("table", { name: "Decisions" }));
    expect(table.getByText("Taken back")).toBeInTheDocument();
    expect(table.getByText(/What was promised did not come\./)).toBeInTheDocument();
    expect(table.getByRole("link", { name: "P-119" })).toBeInTheDocument();
  });

  it("says what is needed where nothing was decided, and that all is stopped", async () => {
    const stopped = automation({ stop: stop.id, stop_text: "Olga stopped it.", would_execute: 0 });
    serve(
      answers({
        [`GET ${ROOM}/decisions`]: ok(page([])),
        [`GET ${ROOM}/automation`]: ok(stopped),
        [`GET ${STOP}`]: ok(page([stop])),
      }),
    );
    open();
    expect(await screen.findByText(/Nothing was decided yet/)).toBeInTheDocument();
    expect(screen.getByText("Stopped")).toBeInTheDocument();
    expect(screen.getByText("Olga stopped it.")).toBeInTheDocument();
    // Another stop would change nothing.
    expect(screen.queryByRole("button", { name: "Stop everything automatic" })).toBeNull();
  });

  it("says of each decision how it stands", () => {
    const words = (change: Partial<AutomaticDecision>) => decisionStanding(decision(change)).word;
    expect(words({ choice: "leave" })).toBe("Left to people");
    expect(words({ choice: "would_execute" })).toBe("Would begin");
    expect(words({ began_at: null })).toBe("Begins");
    expect(words({ began_at: null, waits_because: "No window." })).toBe("Waits");
    expect(words({ plan_state: "executing" })).toBe("Executing");
    expect(words({})).toBe("Being measured");
    expect(words({ roll_back: "x" })).toBe("Taking it back");
    expect(words({ end: "went_well" })).toBe("As promised");
    expect(words({ end: "given_up" })).toBe("Given up");
  });
});

describe("the switch that stops everything automatic", () => {
  it("says what it stops, takes a reason, and is gone then", async () => {
    let stops: unknown[] = [];
    const requests = serve(
      answers({
        [`GET ${STOP}`]: () => ok(page(stops)),
        [`POST ${STOP}`]: () => {
          stops = [stop];
          return ok(stop);
        },
      }),
    );
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Stop everything automatic" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/No schedule or trigger fires/)).toBeInTheDocument();
    const command = dialog.getByRole("button", { name: "Stop everything automatic" });
    expect(command).toBeDisabled();
    await user.type(dialog.getByLabelText(/Reason/), "Load test");
    await user.click(command);
    await waitFor(() =>
      expect(screen.queryByRole("button", { name: "Stop everything automatic" })).toBeNull(),
    );
    const sent = requests.find((one) => one.method === "POST");
    expect(sent?.body).toEqual({ reason: "Load test" });
    expect(sent?.headers.get("Idempotency-Key")).not.toBeNull();
  });

  it("stays open with the reason why it failed, and is not there for others", async () => {
    const change = { [`POST ${STOP}`]: problem(409, "already_stopped", "Stopped by Olga.") };
    serve(answers(change));
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Stop everything automatic" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText(/Reason/), "Load test");
    await user.click(dialog.getByRole("button", { name: "Stop everything automatic" }));
    expect(await dialog.findByText("Stopped by Olga.")).toBeInTheDocument();
  });

  it("is not there for people who execute no plans", async () => {
    serve(answers({ "GET /api/v1/session": ok(session({ allowed_commands: [] })) }));
    open();
    await screen.findByRole("table", { name: "Decisions" });
    expect(screen.queryByRole("button", { name: "Stop everything automatic" })).toBeNull();
  });
});
