import { screen, waitFor, within } from "@testing-library/react";

import { RestoredNote } from "./restored-note";

import { renderPage } from "@/testing/render";
import { ok, serve, type Asked } from "@/testing/server";

const AHEAD = {
  restored: true,
  problem: "The agents of b1 have obeyed documents up to number 40, it knows of none after 31.",
  allowed_commands: ["adopt_restored"],
};

const show = (state: object) => {
  const asked = serve({
    "GET /api/v1/systems/s/restored": ok(state),
    "POST /api/v1/systems/s/adopt-restored": ok({ number: 41 }),
  });
  return { asked, ...renderPage(<RestoredNote system="s" />, "/", "/") };
};

it("says which numbers there are, and adopts them with a reason", async () => {
  const { asked, user } = show(AHEAD);
  expect(await screen.findByText(/number 40, it knows of none after 31/)).toBeInTheDocument();
  await user.click(screen.getByRole("button", { name: "Adopt the restored state" }));
  const dialog = within(await screen.findByRole("dialog"));
  const adopt = dialog.getByRole("button", { name: "Adopt the restored state" });
  expect(adopt).toBeDisabled();
  await user.type(dialog.getByLabelText(/Reason/), "no newer backup");
  await user.click(adopt);
  await waitFor(() =>
    expect(asked.find((one: Asked) => one.method === "POST")?.body).toEqual({
      reason: "no newer backup",
    }),
  );
});

it("lets nobody ask who may not", async () => {
  show({ ...AHEAD, allowed_commands: [] });
  expect(await screen.findByRole("button", { name: "Adopt the restored state" })).toBeDisabled();
});

it("says nothing while the database is the newest", async () => {
  const { asked } = show({ restored: false, problem: "", allowed_commands: [] });
  await waitFor(() => expect(asked).toHaveLength(1));
  expect(screen.queryByRole("alert")).toBeNull();
});
