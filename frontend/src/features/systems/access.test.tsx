import { screen, waitFor, within } from "@testing-library/react";

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
  [`PUT /api/v1/systems/${S}/access`]: ok({ ...known, unmanaged: "report", version: 2 }),
});

const show = () => renderPage(<SystemPage />, "/systems/:systemId", `/systems/${S}`);

it("says what opening means, asks, and confirms it to the server", async () => {
  const asked = serve(answers(system({ allowed_commands: ["edit", "set_access"] })));
  const { user } = show();
  const field = await screen.findByLabelText("Unmanaged clients");
  expect(field).toHaveValue("refuse");
  expect(screen.getByText("They are turned away.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: /Set access/ })).toBeDisabled();
  await user.selectOptions(field, "report");
  await user.click(screen.getByRole("button", { name: /Set access/ }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText("Refuse")).toBeInTheDocument();
  expect(dialog.getByText("Let in, and report")).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "pilot");
  await user.click(dialog.getByRole("button", { name: "Set access" }));
  await waitFor(() => {
    const put = asked.find((one: Asked) => one.method === "PUT");
    expect(put?.body).toEqual({ unmanaged: "report", confirm: true, reason: "pilot" });
    expect(put?.headers.get("If-Match")).toBe('"1"');
  });
});

it("closes without a confirmation that it opens", async () => {
  const known = system({ unmanaged: "allow", allowed_commands: ["set_access"] });
  const asked = serve(answers(known));
  const { user } = show();
  await user.selectOptions(await screen.findByLabelText("Unmanaged clients"), "refuse");
  await user.click(screen.getByRole("button", { name: /Set access/ }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/connected now are cut off/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Set access" }));
  await waitFor(() =>
    expect(asked.find((one: Asked) => one.method === "PUT")?.body).toEqual({
      unmanaged: "refuse",
      confirm: false,
      reason: "",
    }),
  );
});

it("shows what is in force to whoever may not change it", async () => {
  serve(answers(system({ unmanaged: "report" })));
  show();
  expect(await screen.findByText("Let in, and report")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: /Set access/ })).toBeNull();
});
