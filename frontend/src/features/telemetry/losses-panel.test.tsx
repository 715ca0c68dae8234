import { screen, within } from "@testing-library/react";

import { LossesPanel } from "./losses-panel";

import type { Loss } from "@/api/telemetry";
import { renderPage } from "@/testing/render";
import { ok, serve } from "@/testing/server";

const loss = (change: Partial<Loss> = {}): Loss => ({
  broker: "id-rot-1",
  broker_name: "rot-1",
  flow: "customs",
  reason: "too_large",
  explanation: "too large for the broker with what Weir adds",
  count: 1204,
  first_at: "2026-03-18T13:00:00Z",
  last_at: "2026-03-18T14:00:00Z",
  ...change,
});

const show = (...results: Loss[]) => {
  serve({ "GET /api/v1/telemetry/losses": ok({ results }) });
  return renderPage(<LossesPanel system="s" />, "/", "/");
};

it("says how many were lost, where and why", async () => {
  show(
    loss(),
    loss({ flow: "", reason: "unreadable", explanation: "not written by Weir", count: 2 }),
  );
  const table = within(await screen.findByRole("table", { name: "Lost messages" }));
  expect(table.getByRole("row", { name: /customs rot-1 too large .* 1,204/ })).toBeInTheDocument();
  expect(
    table.getByRole("row", { name: /not known rot-1 not written by Weir 2/ }),
  ).toBeInTheDocument();
  expect(screen.getByText("1,206 messages")).toBeInTheDocument();
});

it("says so when nothing was lost", async () => {
  show();
  expect(await screen.findByText("No agent has reported a lost message.")).toBeInTheDocument();
});
