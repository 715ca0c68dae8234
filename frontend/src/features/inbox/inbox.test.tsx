import { act, screen, within } from "@testing-library/react";

import InboxPage from "./inbox-page";

import type { InboxItem } from "@/api/inbox";
import { hear } from "@/api/live";
import { renderPage } from "@/testing/render";
import { SYSTEM } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const item = (change: Partial<InboxItem> = {}): InboxItem => ({
  id: crypto.randomUUID(),
  kind: "plan_to_review",
  about: "88888888-8888-4888-8888-888888888888",
  waits: true,
  title: "P-118 waits for review",
  detail: "Spring tide, by Ines Moreau.",
  since: "2026-03-18T14:02:00Z",
  waits_since: null,
  grew_at: null,
  system: SYSTEM,
  system_name: "Harbour",
  page: "/plans/88888888-8888-4888-8888-888888888888",
  ...change,
});

const answer = (results: InboxItem[], more = 0) =>
  ok({
    count: results.length + more,
    waiting: results.filter((one) => one.waits).length,
    results,
  });

const open = (results: InboxItem[], more = 0) => {
  serve({ "GET /api/v1/inbox": answer(results, more) });
  return renderPage(<InboxPage />, "/inbox", "/inbox");
};

it("leads from what waits to where it is dealt with", async () => {
  const { user } = open([
    item(),
    item({ kind: "agent_silent", about: SYSTEM, waits: false, title: "1 agent is silent" }),
  ]);
  const waits = within(await screen.findByRole("region", { name: /Waits for you/ }));
  expect(await waits.findByText("Spring tide, by Ines Moreau.")).toBeInTheDocument();
  expect(waits.queryByText("1 agent is silent")).toBeNull();
  const known = within(screen.getByRole("region", { name: /To know/ }));
  expect(known.getByText("1 agent is silent")).toBeInTheDocument();
  await user.click(waits.getByRole("link", { name: "P-118 waits for review" }));
  expect(await screen.findByText("elsewhere")).toBeInTheDocument();
});

it("says that nothing waits", async () => {
  open([]);
  expect(await screen.findByText("Nothing waits for you.")).toBeInTheDocument();
  expect(screen.getByText(/Nothing happened that your roles/)).toBeInTheDocument();
});

it("opens what waits longest by the keyboard", async () => {
  const { user } = open([item(), item({ waits: false, title: "1 agent is silent" })]);
  await screen.findByText("1 agent is silent");
  await user.keyboard("j{Enter}");
  expect(await screen.findByText("elsewhere")).toBeInTheDocument();
});

it("says how many are not shown, and since when something is worse", async () => {
  open([item({ waits: false, grew_at: "2026-03-18T15:00:00Z" })], 7);
  expect(await screen.findByText("7 more are not shown.")).toBeInTheDocument();
  const known = within(screen.getByRole("region", { name: /To know/ }));
  expect(known.getByText("8")).toBeInTheDocument();
  expect(known.getByText(/by Ines Moreau\. It got worse .* ago\./)).toBeInTheDocument();
});

it("is read again when the server says that it changed", async () => {
  let results = [item()];
  serve({ "GET /api/v1/inbox": () => answer(results) });
  const { queries } = renderPage(<InboxPage />, "/inbox", "/inbox");
  await screen.findByText("P-118 waits for review");
  results = [];
  act(() => hear(queries, { kind: "inbox" }));
  expect(await screen.findByText("Nothing waits for you.")).toBeInTheDocument();
});

it("says why it cannot be read", async () => {
  serve({ "GET /api/v1/inbox": problem(503, "unavailable", "The database is away.") });
  renderPage(<InboxPage />, "/inbox", "/inbox");
  expect(await screen.findByText(/The database is away/)).toBeInTheDocument();
});
