import { screen, waitFor } from "@testing-library/react";

import SystemPage from "./system-page";

import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const S = system().id;

it("keeps what one has typed over a later version, and nothing else", async () => {
  let latest = system({ labels: { team: "port" } });
  const asked = serve({
    "GET /api/v1/session": ok(session()),
    [`GET /api/v1/systems/${S}`]: () => ok(latest),
    "GET /api/v1/systems": () => ok(page([latest])),
    "GET /api/v1/audit": ok(page([])),
    [`PATCH /api/v1/systems/${S}`]: () => {
      latest = system({ version: 4, external_id: "ci-1", labels: { team: "ops" } });
      return problem(412, "version_mismatch", "Changed by someone else.");
    },
  });
  const { user } = renderPage(<SystemPage />, "/systems/:systemId", `/systems/${S}`);
  await user.type(await screen.findByLabelText(/^Description/), " All of it.");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await user.click(await screen.findByRole("button", { name: "keep mine and save over it" }));
  expect(screen.getByLabelText(/^External id/)).toHaveValue("ci-1");
  await user.click(screen.getByRole("button", { name: "Save" }));
  const sent = () => asked.filter((one: Asked) => one.method === "PATCH");
  await waitFor(() => expect(sent()).toHaveLength(2));
  expect(sent()[1]?.headers.get("If-Match")).toBe('"4"');
  for (const { body } of sent()) expect(Object.keys(body as object)).toEqual(["description"]);
});
