import { screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { InboxButton, StartingBar } from "./top-bar";

import { renderPage } from "@/testing/render";
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
