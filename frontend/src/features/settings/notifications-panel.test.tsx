import { screen, waitFor } from "@testing-library/react";

import SettingsPage from "./settings-page";

import type { NotificationSettings } from "@/api/notifications";
import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const GET = "GET /api/v1/session/notifications";
const PATCH = "PATCH /api/v1/session/notifications";

const row = (change: Partial<NotificationSettings> = {}): NotificationSettings => ({
  by_email: true,
  kinds: ["plan_to_review", "agent_silent"],
  timezone: "UTC",
  digest_at: null,
  quiet_from: null,
  quiet_until: null,
  email: "ines@example.org",
  email_works: true,
  last_sent_at: null,
  problem: "",
  version: 3,
  ...change,
});

const open = (answers: Parameters<typeof serve>[0]) => {
  const asked = serve({ "GET /api/v1/session": ok(session()), ...answers });
  return { asked, ...renderPage(<SettingsPage />, "/settings/:tab", "/settings/notifications") };
};

it("saves what somebody wants to be told, and when", async () => {
  const { asked, user } = open({ [GET]: ok(row()), [PATCH]: ok(row({ version: 4 })) });
  expect(await screen.findByText(/Nothing has been sent yet/)).toBeInTheDocument();
  await user.selectOptions(screen.getByLabelText("How often"), "Once a day, all in one");
  await user.clear(screen.getByLabelText("Time of day"));
  await user.type(screen.getByLabelText("Time of day"), "09:30");
  await user.type(screen.getByLabelText(/Quiet from/), "22:00");
  await user.type(screen.getByLabelText(/Quiet until/), "07:00");
  await user.click(screen.getByRole("button", { name: "Save notifications" }));
  await waitFor(() => expect(asked.some((one: Asked) => one.method === "PATCH")).toBe(true));
  const change = asked.find((one: Asked) => one.method === "PATCH");
  expect(change?.headers.get("If-Match")).toBe('"3"');
  expect(change?.body).toEqual({
    by_email: true,
    kinds: ["plan_to_review", "agent_silent"],
    timezone: "UTC",
    digest_at: "09:30",
    quiet_from: "22:00",
    quiet_until: "07:00",
  });
});

it("says at the field what is wrong", async () => {
  const { user } = open({
    [GET]: ok(row()),
    [PATCH]: problem(400, "invalid", "No.", [
      { field: "timezone", message: 'There is no time zone "Mars".' },
    ]),
  });
  await user.click(await screen.findByRole("button", { name: "Save notifications" }));
  expect(await screen.findByText('There is no time zone "Mars".')).toBeInTheDocument();
});

it.each([
  [{ email_works: false }, /has no mail server/],
  [{ email: "" }, /has no e-mail address/],
  [{ problem: "550 No such user" }, /did not take the last message: 550 No such user/],
])("says why nothing arrives: %o", async (change, text) => {
  open({ [GET]: ok(row(change)) });
  expect(await screen.findByText(text)).toBeInTheDocument();
});
