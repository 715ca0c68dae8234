import { screen, waitFor, within } from "@testing-library/react";

import { spanText } from "./retention-panel";
import SystemPage from "./system-page";

import type { System } from "@/api/systems";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, serve, type Asked } from "@/testing/server";

const S = system().id;

const answers = (known: System) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(known),
  "GET /api/v1/systems": ok(page([known])),
  "GET /api/v1/audit": ok(page([])),
  [`PUT /api/v1/systems/${S}/retention`]: ok({ ...known, retention_s: 600, version: 2 }),
});

const show = () => renderPage(<SystemPage />, "/systems/:systemId", `/systems/${S}`);
const administered = (change: Partial<System> = {}) =>
  system({ allowed_commands: ["edit", "set_retention"], ...change });
const put = (asked: readonly Asked[]) => asked.find((one) => one.method === "PUT");

it("says what a shorter retention forgets, asks, and confirms it to the server", async () => {
  const asked = serve(answers(administered()));
  const { user } = show();
  const field = await screen.findByLabelText("Kept at each broker for");
  expect(field).toHaveValue("60");
  expect(screen.getByRole("button", { name: "Set retention" })).toBeDisabled();
  await user.clear(field);
  await user.type(field, "10");
  await user.click(screen.getByRole("button", { name: "Set retention" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/forget what is older than 10 min/)).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "small disks");
  await user.click(dialog.getByRole("button", { name: "Set retention" }));
  await waitFor(() =>
    expect(put(asked)?.body).toEqual({ retention_s: 600, confirm: true, reason: "small disks" }),
  );
  expect(put(asked)?.headers.get("If-Match")).toBe('"1"');
});

it("keeps for longer without a confirmation", async () => {
  const asked = serve(answers(administered()));
  const { user } = show();
  const field = await screen.findByLabelText("Kept at each broker for");
  await user.clear(field);
  await user.type(field, "1440");
  expect(screen.getByText("24 h")).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Set retention" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/need more disk/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Set retention" }));
  await waitFor(() =>
    expect(put(asked)?.body).toEqual({ retention_s: 86_400, confirm: false, reason: "" }),
  );
});

it.each(["", "1", "50000", "an hour"])("refuses %j at the field", async (typed) => {
  serve(answers(administered()));
  const { user } = show();
  const field = await screen.findByLabelText("Kept at each broker for");
  await user.clear(field);
  if (typed) await user.type(field, typed);
  expect(field).toHaveAccessibleDescription(/^Give/);
  expect(screen.getByRole("button", { name: "Set retention" })).toBeDisabled();
});

it("shows what is in force to whoever may not change it", async () => {
  serve(answers(system({ retention_s: 259_200 })));
  show();
  expect(await screen.findByText("3 d")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Set retention" })).toBeNull();
});

it.each([
  [120, "2 min"],
  [3600, "60 min"],
  [7200, "2 h"],
  [5400, "90 min"],
  [604_800, "7 d"],
])("names %d s as a person would", (seconds, text) => {
  expect(spanText(seconds)).toBe(text);
});
