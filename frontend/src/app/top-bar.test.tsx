import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { InboxButton, StartingBar, StopBar } from "./top-bar";

import { renderPage } from "@/testing/render";
import { page } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const spark = { name: "Spark", answers: true, meanwhile: "Runs wait for it." };
const worker = { name: "worker", answers: false, meanwhile: "Runs stay queued." };

it("says on every page what computes runs and does not answer", async () => {
  serve({ "GET /api/v1/processes": ok({ results: [spark, worker] }) });
  renderPage(<StartingBar />, "/", "/");
  const bar = await screen.findByRole("status");
  expect(bar).toHaveTextContent(
    "Not answering, perhaps still starting: worker (Runs stay queued).",
  );
  expect(bar).not.toHaveTextContent("Spark");
});

it("is silent while everything answers", async () => {
  const asked = serve({ "GET /api/v1/processes": ok({ results: [spark] }) });
  renderPage(<StartingBar />, "/", "/");
  await expect.poll(() => asked.length).toBe(1);
  expect(screen.queryByRole("status")).toBeNull();
});

it("says on every page what waits for this person", async () => {
  serve({ "GET /api/v1/inbox": ok({ waiting: 2, results: [] }) });
  renderPage(<InboxButton />, "/", "/");
  const link = await screen.findByRole("link", { name: "Inbox: 2 things wait for you" });
  expect(link).toHaveAttribute("href", "/inbox");
});

it("does not say that nothing waits where the inbox cannot be read", async () => {
  const asked = serve({ "GET /api/v1/inbox": problem(503, "unavailable", "It is away.") });
  renderPage(<InboxButton />, "/", "/");
  await expect.poll(() => asked.length).toBe(1);
  expect(screen.getByRole("link")).toHaveAccessibleName("Inbox");
});

describe("the bar of a stop", () => {
  const stop = {
    id: "e1111111-1111-4111-8111-111111111111",
    stopped_by: "5a111111-1111-4111-8111-111111111111",
    stopped_by_name: "Olga",
    reason: "Load test",
    stopped_at: "2026-03-18T14:02:00Z",
    ended_by: null,
    ended_by_name: null,
    ended_at: null,
    end_reason: "",
    allowed_commands: ["resume"],
  };
  const list = "GET /api/v1/automatic-stops";

  it("says who stopped everything automatic, and lets it go on", async () => {
    let stops = [stop];
    const requests = serve({
      [list]: () => ok(page(stops)),
      [`POST /api/v1/automatic-stops/${stop.id}/resume`]: () => {
        stops = [];
        return ok({ ...stop, allowed_commands: [] });
      },
    });
    const { user } = renderPage(<StopBar />, "/", "/");
    expect(await screen.findByText(/Olga stopped everything/)).toBeInTheDocument();
    expect(screen.getByText(/14:02.* UTC: Load test/)).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Let it go on" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/those that came due meanwhile once/)).toBeInTheDocument();
    await user.type(dialog.getByLabelText(/Reason/), "Over");
    await user.click(dialog.getByRole("button", { name: "Let it go on" }));
    await waitFor(() => expect(screen.queryByText(/Olga stopped everything/)).toBeNull());
    expect(requests.find((one) => one.method === "POST")?.body).toEqual({ reason: "Over" });
  });

  it("has no command for those who may not", async () => {
    serve({ [list]: ok(page([{ ...stop, allowed_commands: [] }])) });
    renderPage(<StopBar />, "/", "/");
    expect(await screen.findByText(/Olga stopped everything/)).toBeInTheDocument();
    expect(screen.queryByRole("button")).toBeNull();
  });
});
