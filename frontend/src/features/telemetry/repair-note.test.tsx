import { screen, waitFor, within } from "@testing-library/react";

import { RepairNote } from "./repair-note";

import type { Repair } from "@/api/in-force";
import { renderPage } from "@/testing/render";
import { ok, serve, type Asked } from "@/testing/server";

const row = (change: Partial<Repair> = {}): Repair => ({
  broker: "id-rot-1",
  broker_name: "rot-1",
  silent_since: "2026-03-18T14:00:00Z",
  silent_s: 900,
  remove_after_s: 300,
  removable: true,
  held: "rot-1 alone held at least 1,204 of customs, measured 2026-03-18 13:59:58 UTC.",
  allowed_commands: ["plan"],
  ...change,
});

const show = (change: Partial<Repair> = {}, post: object = {}) => {
  const asked = serve({ "GET /api/v1/repairs": ok({ results: [row(change)] }), ...post });
  return { asked, ...renderPage(<RepairNote system="s" broker="id-rot-1" />, "/", "/") };
};

it("says what is lost before it makes a plan", async () => {
  const { asked, user } = show(
    {},
    {
      "POST /api/v1/repairs": {
        status: 409,
        body: { code: "agents_silent", detail: "ham-1 must take part and is silent." },
      },
    },
  );
  await user.click(await screen.findByRole("button", { name: "Repair around rot-1" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText(/at least 1,204 of customs/)).toBeInTheDocument();
  expect(dialog.getByText(/cannot be rolled back/)).toBeInTheDocument();
  await user.click(dialog.getByRole("button", { name: "Make a plan" }));
  await waitFor(() =>
    expect(asked.find((one: Asked) => one.method === "POST")?.body).toEqual({
      broker: "id-rot-1",
      title: "",
    }),
  );
  expect(await dialog.findByText("ham-1 must take part and is silent.")).toBeInTheDocument();
});

it("offers nothing before the policy's time", async () => {
  show({ removable: false, silent_s: 60, allowed_commands: [] });
  expect(await screen.findByText(/may remove it after 300 s of silence/)).toBeInTheDocument();
  expect(screen.queryByRole("button")).toBeNull();
});

it("lets nobody ask who may not", async () => {
  show({ allowed_commands: [] });
  const command = await screen.findByRole("button", { name: "Repair around rot-1" });
  expect(command).toBeDisabled();
  expect(command).toHaveAttribute("title", "Your roles do not let you propose plans.");
});
