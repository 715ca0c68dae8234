import { screen, waitFor } from "@testing-library/react";

import { SignInPage } from "./sign-in-page";

import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const out = session({ signed_in: false, csrf_token: "first" });

it("signs in with the token of the session and goes on", async () => {
  const asked = serve({
    "GET /api/v1/session": ok(out),
    "POST /api/v1/session": ok(session()),
  });
  const { user, router } = renderPage(<SignInPage />, "/sign-in", "/sign-in");
  await user.type(await screen.findByLabelText("Name"), "demo");
  await user.type(screen.getByLabelText("Password"), "weir-demo");
  await user.click(screen.getByRole("button", { name: "Sign in" }));
  await waitFor(() => expect(router.state.location.pathname).toBe("/"));
  const sent = asked.find((one: Asked) => one.method === "POST");
  expect(sent?.body).toEqual({ username: "demo", password: "weir-demo" });
  expect(sent?.headers.get("X-CSRFToken")).toBe("first");
});

it("says why it was refused", async () => {
  serve({
    "GET /api/v1/session": ok(out),
    "POST /api/v1/session": problem(403, "sign_in_refused", "Name and password do not match."),
  });
  const { user } = renderPage(<SignInPage />, "/sign-in", "/sign-in");
  await user.type(await screen.findByLabelText("Name"), "demo");
  await user.click(screen.getByRole("button", { name: "Sign in" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("Name and password do not match.");
});
