import { screen, waitFor, within } from "@testing-library/react";

import PlanPage from "./plan-page";

import { answers, planPath } from "@/testing/plan-answers";
import { HASH, PLAN, planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const open = () => renderPage(<PlanPage />, "/plans/:id", `/plans/${PLAN}`);
const posts = (asked: readonly Asked[]) => asked.filter((one) => one.method === "POST");
const heading = () => screen.findByRole("heading", { name: /P-118/ });
const button = (name: string | RegExp) => screen.queryByRole("button", { name });

const reviewing = planDetail({ allowed_commands: ["approve", "reject", "dry_run"] });

describe("a plan in review", () => {
  it("says what changes and why, promises, checks, touches and who did what", async () => {
    serve(answers(reviewing));
    open();
    await heading();
    expect(screen.getByText("S1 is worth 0.2953 per unit.")).toBeInTheDocument();
    expect(screen.getByText("1,329,009")).toBeInTheDocument();
    expect(screen.getByText(/108.0 now/)).toBeInTheDocument();
    expect(screen.getByText("1 of 2 fail")).toBeInTheDocument();
    expect(screen.getByText("2 of 3")).toBeInTheDocument();
    expect(screen.getByText(/sent it for review/)).toBeInTheDocument();
    expect(screen.getByText("undo: Stop limiting f2 at S2 (was 10 msg/s)")).toBeInTheDocument();
    const life = within(screen.getByRole("list", { name: "State of the plan" }));
    expect(life.getByText("In review").closest("li")).toHaveAttribute("aria-current", "step");
  });

  it("draws only the commands that the API allows", async () => {
    serve(answers(reviewing));
    open();
    await heading();
    expect(button("Dry run")).not.toBeNull();
    expect(button("Discard")).toBeNull();
    expect(button("Execute")).toBeNull();
    expect(button("Send for review")).toBeNull();
  });

  it("approves exactly the hash that was read", async () => {
    const asked = serve({
      ...answers(reviewing),
      [`POST ${planPath}/approve`]: ok(planDetail({ state: "approved", approvals_given: 2 })),
    });
    const { user } = open();
    await user.type(await screen.findByLabelText(/Comment/), "Looks right.");
    await user.click(screen.getByRole("button", { name: /Approve hash 4be07a1c/ }));
    await waitFor(() => expect(posts(asked)).toHaveLength(1));
    expect(posts(asked)[0]?.body).toEqual({ comment: "Looks right.", content_hash: HASH });
    expect(posts(asked)[0]?.headers.get("If-Match")).toBe('"4"');
    expect(await screen.findAllByText("Approved")).not.toHaveLength(0);
  });

  it("shows why an approval was refused", async () => {
    serve({
      ...answers(reviewing),
      [`POST ${planPath}/approve`]: problem(409, "stale", "The model is now version 43."),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: /Approve hash/ }));
    const message = await screen.findByText("The model is now version 43.");
    expect(message.closest("[role=alert]")).not.toBeNull();
  });

  it("says that the plan changed meanwhile, shows it as it is, and keeps what was typed", async () => {
    let stored = reviewing;
    const changed = { ...reviewing, version: 5, approvals_given: 0 };
    const detail = "P-118 was changed meanwhile: you have seen version 4, the latest is 5.";
    const asked = serve({
      ...answers(reviewing),
      [`GET ${planPath}`]: () => ok(stored),
      [`POST ${planPath}/approve`]: ({ headers }) => {
        if (headers.get("If-Match") === '"5"') return ok({ ...changed, version: 6 });
        stored = changed;
        return problem(412, "version_mismatch", detail);
      },
    });
    const { user } = open();
    await user.type(await screen.findByLabelText(/Comment/), "Looks right.");
    await user.click(screen.getByRole("button", { name: /Approve hash/ }));
    expect((await screen.findByText(detail)).closest("[role=alert]")).not.toBeNull();
    expect(await screen.findByText("0 of 2 given")).toBeInTheDocument();
    expect(screen.getByLabelText(/Comment/)).toHaveValue("Looks right.");
    await user.click(screen.getByRole("button", { name: /Approve hash/ }));
    await waitFor(() => expect(posts(asked)).toHaveLength(2));
    expect(posts(asked)[1]?.headers.get("If-Match")).toBe('"5"');
    await waitFor(() => expect(screen.queryByText(detail)).toBeNull());
  });

  it.each([
    ["submit", "Send for review", null],
    ["withdraw", "Take back", null],
    ["discard", "Discard", "Discard"],
    ["execute", "Execute", "Execute"],
  ])("names the version that it shows with %s", async (command, name, confirm) => {
    const allowed = planDetail({
      state: "draft",
      allowed_commands: ["submit", "withdraw", "discard", "execute"],
    });
    const asked = serve({
      ...answers({ ...allowed, policy: { ...allowed.policy, window_open: true } }),
      [`POST ${planPath}/${command}`]: problem(
        412,
        "version_mismatch",
        "It was changed meanwhile.",
      ),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name }));
    if (confirm !== null) {
      const dialog = within(await screen.findByRole("dialog"));
      const reason = dialog.queryByLabelText(/Reason/);
      if (reason) await user.type(reason, "The tide turned");
      await user.click(dialog.getByRole("button", { name: confirm }));
    }
    await waitFor(() => expect(posts(asked)).toHaveLength(1));
    expect(posts(asked)[0]?.path).toBe(`${planPath}/${command}`);
    expect(posts(asked)[0]?.headers.get("If-Match")).toBe('"4"');
    expect(await screen.findByText(/It was changed meanwhile/)).toBeInTheDocument();
  });

  it("rejects only with a comment", async () => {
    const asked = serve({
      ...answers(reviewing),
      [`POST ${planPath}/reject`]: ok(planDetail({ state: "rejected" })),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Reject" }));
    expect(screen.getByText(/Say what is missing/)).toBeInTheDocument();
    expect(posts(asked)).toHaveLength(0);
    await user.type(screen.getByLabelText(/Comment/), "Toronto was not told.");
    await user.click(screen.getByRole("button", { name: "Reject" }));
    await waitFor(() =>
      expect(posts(asked)[0]?.body).toEqual({ comment: "Toronto was not told." }),
    );
  });

  it.each([
    ["Ines Moreau", ["approver"], /You made this plan/],
    ["Jon Vale", ["approver"], /Your approval is given/],
    ["Vera Vu", ["viewer"], /needs the role approver/],
  ] as const)("tells %s why there is nothing to decide", async (name, roles, text) => {
    serve({
      ...answers(planDetail({ allowed_commands: [] })),
      "GET /api/v1/session": ok(session({ display_name: name, roles: [...roles] })),
    });
    open();
    expect(await screen.findByText(text)).toBeInTheDocument();
    expect(button(/Approve/)).toBeNull();
    expect(button("Reject")).toBeNull();
  });

  it("shows a dry run among the checks, with its time", async () => {
    serve({
      ...answers(reviewing),
      [`POST ${planPath}/dry-run`]: ok({
        results: [{ name: "dry", title: "Agents agree", state: "pass", detail: "3 of 3" }],
      }),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Dry run" }));
    const list = within(await screen.findByRole("list", { name: "Dry run" }));
    expect(list.getByText("3 of 3")).toBeInTheDocument();
    expect(
      screen.getByRole("heading", { name: /Dry run, \d\d:\d\d UTC: 1 of 1 pass/ }),
    ).toBeInTheDocument();
    // The dry run looks at the same things again: the count of the checks stays what it was.
    expect(screen.getByText("1 of 2 fail")).toBeInTheDocument();
  });

  it("shows the limits of a broker as of each stop of the scrubber", async () => {
    serve(answers(reviewing));
    const { user } = open();
    expect(await screen.findByRole("heading", { name: "Limits at S1 now" })).toBeInTheDocument();
    const stop = within(screen.getByRole("group", { name: /Show the state/ }));
    expect(stop.getByRole("button", { name: /Now/ })).toHaveAttribute("aria-current", "step");
    await user.keyboard("]");
    expect(screen.getByRole("heading", { name: "Limits at S1 after step 1" })).toBeInTheDocument();
    expect(stop.getByRole("button", { name: /Step 1/ })).toHaveAttribute("aria-current", "step");
    expect(
      await screen.findByRole("img", { name: /Overlay of 3 brokers after step 1: .*S1 40 %/ }),
    ).toBeInTheDocument();
  });

  it("shows full tanks by the server's model where no allocation proposes the plan", async () => {
    const source = { kind: "model", id: null, name: "version 42" };
    const at = (share: number) => [{ broker: "S1", share }];
    serve({
      ...answers(planDetail({ kind: "model", source, run: null, run_name: null })),
      [`GET ${planPath}/levels`]: ok({ stops: [at(0.4), at(2.29), at(2.29)], unknown_because: "" }),
    });
    const { user } = open();
    expect(
      await screen.findByRole("img", { name: /Overlay of 3 brokers before .*: S1 40 %$/ }),
    ).toBeInTheDocument();
    await user.keyboard("]");
    expect(
      await screen.findByRole("img", { name: /Overlay of 3 brokers after step 1: S1 229 %$/ }),
    ).toBeInTheDocument();
  });

  it("says why the levels of a plan are not known", async () => {
    const source = { kind: "model", id: null, name: "version 42" };
    serve({
      ...answers(planDetail({ kind: "model", source, run: null, run_name: null })),
      [`GET ${planPath}/levels`]: ok({ stops: [], unknown_because: "The model has moved on." }),
    });
    open();
    expect(
      await screen.findByText("Levels are not known. The model has moved on."),
    ).toBeInTheDocument();
  });

  it("lists what stays too, on demand", async () => {
    serve(answers(reviewing));
    const { user } = open();
    const table = within(await screen.findByRole("table", { name: "Before and after" }));
    expect(table.queryByText("f3")).toBeNull();
    await user.click(await screen.findByRole("button", { name: "Everything" }));
    expect(await table.findByText("f3")).toBeInTheDocument();
    expect(screen.getByText("3 numbers of 4 change.")).toBeInTheDocument();
  });
});

describe("a plan's other states", () => {
  it("sends a draft for review and discards it after saying what is lost", async () => {
    const asked = serve({
      ...answers(
        planDetail({ state: "draft", submitted_at: null, allowed_commands: ["submit", "discard"] }),
      ),
      [`POST ${planPath}/discard`]: ok(planDetail({ state: "discarded" })),
    });
    const { user } = open();
    expect(await screen.findByRole("button", { name: "Send for review" })).toBeEnabled();
    await user.click(screen.getByRole("button", { name: "Discard" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Discard P-118" }));
    expect(dialog.getByText(/can then no longer be approved/)).toBeInTheDocument();
    await user.type(dialog.getByLabelText(/Reason/), "Wrong week");
    await user.click(dialog.getByRole("button", { name: "Discard" }));
    await waitFor(() => expect(posts(asked)[0]?.body).toEqual({ reason: "Wrong week" }));
  });

  it("is not sent for review before somebody accepts what it would overload", async () => {
    const overload = "S2 would carry 229 % of its capacity in step 1";
    const draft = planDetail({
      state: "draft",
      submitted_at: null,
      would_overload: overload,
      allowed_commands: ["submit", "accept_overload"],
    });
    const accepted = planDetail({
      ...draft,
      accepted_overload: { person: "Tomás Reyes", at: draft.created_at, reason: "Few come." },
      allowed_commands: ["submit"],
    });
    let now = draft;
    const asked = serve({
      ...answers(draft),
      [`GET ${planPath}`]: () => ok(now),
      [`POST ${planPath}/accept-overload`]: () => ok((now = accepted)),
    });
    const { user } = open();
    const send = await screen.findByRole("button", { name: "Send for review" });
    expect(send).toBeDisabled();
    expect(send).toHaveAttribute("title", `${overload}: an approver has to accept that first`);
    expect(screen.getByText(/an approver has accepted that with a reason/)).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Accept overload" }));
    const dialog = within(await screen.findByRole("dialog", { name: /Accept the overload of/ }));
    expect(dialog.getByText(/approving it is another decision/)).toBeInTheDocument();
    expect(dialog.getByRole("button", { name: "Accept overload" })).toBeDisabled();
    await user.type(dialog.getByLabelText(/Reason/), "Few come.");
    await user.click(dialog.getByRole("button", { name: "Accept overload" }));
    expect(await screen.findByText(/Tomás Reyes accepts that: .Few come\../)).toBeInTheDocument();
    expect(posts(asked)[0]?.body).toEqual({ reason: "Few come." });
    expect(screen.getByRole("button", { name: "Send for review" })).toBeEnabled();
    expect(screen.queryByRole("button", { name: "Accept overload" })).toBeNull();
  });

  it("names the plan that it rolls back", async () => {
    const id = "12121212-1212-4121-8121-121212121212";
    serve(answers(planDetail({ source: { kind: "plan", id, name: "P-117" } })));
    open();
    expect(await screen.findByRole("link", { name: "P-117" })).toHaveAttribute(
      "href",
      `/plans/${id}`,
    );
  });

  it("executes an approved plan after saying what that does, and only inside a window", async () => {
    const approved = planDetail({ state: "approved", allowed_commands: ["execute"] });
    serve(answers(approved));
    const { user, unmount } = open();
    await user.click(await screen.findByRole("button", { name: "Execute" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Execute P-118" }));
    expect(dialog.getByText(/3 actions in 2 steps on 2 brokers/)).toBeInTheDocument();
    unmount();
    serve(answers({ ...approved, policy: { ...approved.policy, window_open: false } }));
    open();
    const closed = await screen.findByRole("button", { name: "Execute" });
    expect(closed).toBeDisabled();
    expect(closed).toHaveAttribute("title", expect.stringContaining("maintenance windows"));
  });

  it("says why a plan is stale and plans again", async () => {
    const asked = serve({
      ...answers(
        planDetail({
          state: "stale",
          stale_because: "The model is now version 43; the plan was made on 42.",
          allowed_commands: [],
        }),
      ),
      "POST /api/v1/allocations/77777777-7777-4777-8777-777777777777/plan": problem(
        409,
        "nothing_to_change",
        "The gain is 0.01 %, below the threshold of 0.1 %.",
      ),
    });
    const { user } = open();
    expect(await screen.findByText("This plan is stale.")).toBeInTheDocument();
    expect(screen.getAllByText(/The model is now version 43/)).not.toHaveLength(0);
    await user.click(screen.getByRole("button", { name: "Plan again from A-27" }));
    await waitFor(() => expect(posts(asked)).toHaveLength(1));
    expect(await screen.findByText(/below the threshold/)).toBeInTheDocument();
  });

  it("says what failed when it cannot be loaded", async () => {
    serve({
      ...answers(),
      [`GET ${planPath}`]: problem(404, "not_found", "There is no such plan."),
    });
    open();
    expect(await screen.findByText("This plan could not be loaded.")).toBeInTheDocument();
    expect(screen.getByText(/There is no such plan/)).toBeInTheDocument();
    expect(screen.getByText("not_found")).toBeInTheDocument();
  });

  it("keeps the page when only the map fails", async () => {
    serve({
      ...answers(reviewing),
      "GET /api/v1/brokers": problem(500, "internal", "The brokers cannot be read."),
    });
    open();
    expect(await screen.findByText("The map could not be loaded.")).toBeInTheDocument();
    expect(screen.getByRole("button", { name: /Approve hash/ })).toBeInTheDocument();
  });
});

it("lists what the policy leaves out, with each reason", async () => {
  const left = {
    kind: "set_flow_rate",
    label: "f3 at S1",
    unit: "msg/s",
    before: 100,
    wanted: 102,
    reason: "band" as const,
    because: "It would move by 2.0 %, from 100 to 102 msg/s; the band is 5.0 %.",
  };
  serve(answers(planDetail({ left_out: [left] })));
  open();
  await heading();
  const table = within(screen.getByRole("table", { name: "Left out" }));
  expect(table.getByText("f3 at S1")).toBeInTheDocument();
  expect(table.getByText(/the band is 5.0 %/)).toBeInTheDocument();
});

it("begins with who is hurt, before why and what", async () => {
  serve(answers(reviewing));
  open();
  await heading();
  const panels = screen.getAllByRole("heading", { level: 2 }).map((one) => one.textContent);
  expect(panels.indexOf("Who is hurt")).toBe(0);
  expect(panels.indexOf("Who is hurt")).toBeLessThan(panels.indexOf("What changes and why"));
});
