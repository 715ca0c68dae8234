import { screen, waitFor, within } from "@testing-library/react";

import PlanPage from "./plan-page";

import type { PlanDetail } from "@/api/plans";
import { answers, planPath } from "@/testing/plan-answers";
import { PLAN, planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { ok, problem, serve, type Asked } from "@/testing/server";

const PATCH = `PATCH ${planPath}`;
const TICKET = "https://tickets.example.org/CHG0042317";
const open = () => renderPage(<PlanPage />, "/plans/:id", `/plans/${PLAN}`);
const patches = (asked: readonly Asked[]) => asked.filter((one) => one.method === "PATCH");
const edit = () => screen.findByRole("button", { name: "Edit the change ticket" });
const form = () => within(screen.getByRole("form", { name: "Change ticket" }));
const editable = (change: Partial<PlanDetail> = {}) =>
  planDetail({ allowed_commands: ["edit"], ...change });

it("links to the ticket where it is an address, and shows it as a text where it is none", async () => {
  serve(answers(planDetail({ change_ticket: TICKET })));
  const first = open();
  const link = await screen.findByRole("link", { name: TICKET });
  expect(link).toHaveAttribute("href", TICKET);
  expect(link).toHaveAttribute("rel", "noreferrer");
  expect(screen.queryByRole("button", { name: "Edit the change ticket" })).toBeNull();
  first.unmount();
  serve(answers(planDetail({ change_ticket: "javascript:alert(1)" })));
  open();
  expect(await screen.findByText(/javascript:alert/)).toBeInTheDocument();
  expect(screen.queryByRole("link", { name: /javascript/ })).toBeNull();
});

it("says nothing of a ticket to who may not name one", async () => {
  serve(answers(planDetail()));
  open();
  await screen.findByRole("heading", { name: /P-118/ });
  expect(screen.queryByText(/change ticket/)).toBeNull();
});

it("is edited where it stands, by the version that is shown", async () => {
  let stored = editable();
  const asked = serve({
    ...answers(stored),
    [`GET ${planPath}`]: () => ok(stored),
    [PATCH]: () => ok((stored = editable({ change_ticket: "CHG0042317", version: 5 }))),
  });
  const { user } = open();
  await user.click(await edit());
  expect(form().getByLabelText(/Change ticket/)).toHaveFocus();
  await user.type(form().getByLabelText(/Change ticket/), " CHG0042317 ");
  await user.click(form().getByRole("button", { name: "Save" }));
  expect(await screen.findByText("change ticket CHG0042317")).toBeInTheDocument();
  expect(screen.queryByRole("form", { name: "Change ticket" })).toBeNull();
  expect(patches(asked)[0]?.body).toEqual({ change_ticket: "CHG0042317" });
  expect(patches(asked)[0]?.headers.get("If-Match")).toBe('"4"');
});

it("keeps what was typed where it is refused: at the field, or because the plan changed", async () => {
  let stored = editable();
  const wrong = "Holds a control character, such as a line break.";
  const changed = "P-118 was changed meanwhile: you have seen version 4, the latest is 5.";
  let refusal = problem(400, "invalid", wrong, [{ field: "change_ticket", message: wrong }]);
  const asked = serve({
    ...answers(stored),
    [`GET ${planPath}`]: () => ok(stored),
    [PATCH]: ({ headers }) =>
      headers.get("If-Match") === '"5"'
        ? ok((stored = editable({ change_ticket: "CHG-1", version: 6 })))
        : refusal,
  });
  const { user } = open();
  await user.click(await edit());
  const field = () => form().getByLabelText(/Change ticket/);
  await user.type(field(), "CHG-1");
  await user.click(form().getByRole("button", { name: "Save" }));
  await waitFor(() => expect(field()).toHaveAccessibleDescription(expect.stringContaining(wrong)));
  expect(field()).toHaveValue("CHG-1");
  refusal = problem(412, "version_mismatch", changed);
  stored = editable({ version: 5 });
  await user.click(form().getByRole("button", { name: "Save" }));
  expect(await form().findByText(changed)).toBeInTheDocument();
  expect(field()).toHaveValue("CHG-1");
  await user.click(form().getByRole("button", { name: "Save" }));
  expect(await screen.findByText("change ticket CHG-1")).toBeInTheDocument();
  expect(patches(asked)).toHaveLength(3);
});

it("overwrites no ticket of somebody else that it has not shown", async () => {
  let stored = editable();
  const changed = "P-118 was changed meanwhile: you have seen version 4, the latest is 5.";
  const asked = serve({
    ...answers(stored),
    [`GET ${planPath}`]: () => ok(stored),
    [PATCH]: ({ headers }) =>
      headers.get("If-Match") === '"5"'
        ? ok((stored = editable({ change_ticket: "CHG-1", version: 6 })))
        : problem(412, "version_mismatch", changed),
  });
  const { user, queries } = open();
  await user.click(await edit());
  await user.type(form().getByLabelText(/Change ticket/), "CHG-1");
  stored = editable({ change_ticket: "CHG-2", version: 5 });
  await queries.invalidateQueries();
  expect(await form().findByText(/It is CHG-2 now/)).toBeInTheDocument();
  await user.click(form().getByRole("button", { name: "Save" }));
  expect(await form().findByText(changed)).toBeInTheDocument();
  expect(patches(asked)[0]?.headers.get("If-Match")).toBe('"4"');
  await user.click(form().getByRole("button", { name: "Save" }));
  expect(await screen.findByText("change ticket CHG-1")).toBeInTheDocument();
  expect(await edit()).toHaveFocus();
});

it("is left as it was by Cancel", async () => {
  const asked = serve(answers(editable({ change_ticket: "CHG-1" })));
  const { user } = open();
  await user.click(await edit());
  await user.type(form().getByLabelText(/Change ticket/), "23");
  await user.click(form().getByRole("button", { name: "Cancel" }));
  expect(screen.getByText("change ticket CHG-1")).toBeInTheDocument();
  expect(patches(asked)).toHaveLength(0);
});
