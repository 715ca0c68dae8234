import { screen, waitFor } from "@testing-library/react";

import SettingsPage from "./settings-page";

import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const CHANGE = "POST /api/v1/session/password";
const DONE = { status: 204, body: null };
// Roles without any page of administrators.
const somebody = session({ roles: ["viewer"], allowed_commands: [] });

const show = () => renderPage(<SettingsPage />, "/settings/:tab", "/settings/password");

it("lets everybody change their own password, once it was typed twice", async () => {
  const asked = serve({ "GET /api/v1/session": ok(somebody), [CHANGE]: DONE });
  const { user } = show();
  await user.type(await screen.findByLabelText("Password now"), "weir-demo");
  await user.type(screen.getByLabelText("New password"), "another phrase");
  await user.type(screen.getByLabelText("New password again"), "another phras");
  expect(screen.getByText("This is not the new password.")).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Change password" })).toBeDisabled();
  expect(screen.getByText(/all of your tokens end at once/)).toBeInTheDocument();
  await user.type(screen.getByLabelText("New password again"), "e");
  await user.click(screen.getByRole("button", { name: "Change password" }));
  await waitFor(() => expect(screen.getByLabelText("New password")).toHaveValue(""));
  expect(asked.find((one: Asked) => one.method === "POST")?.body).toEqual({
    current: "weir-demo",
    password: "another phrase",
  });
});

it("says at the field what was wrong", async () => {
  serve({
    "GET /api/v1/session": ok(somebody),
    [CHANGE]: problem(400, "wrong_password", "This is not your password.", [
      { field: "current", message: "This is not your password." },
    ]),
  });
  const { user } = show();
  await user.type(await screen.findByLabelText("Password now"), "guess");
  await user.type(screen.getByLabelText("New password"), "another phrase");
  await user.type(screen.getByLabelText("New password again"), "another phrase");
  await user.click(screen.getByRole("button", { name: "Change password" }));
  expect(await screen.findByText("This is not your password.")).toBeInTheDocument();
});
