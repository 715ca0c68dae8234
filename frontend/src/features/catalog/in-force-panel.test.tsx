/** What the page of a topic or a class says of what agents do. */
import { screen } from "@testing-library/react";

import { InForcePanel } from "./in-force-panel";

import type { Schemas } from "@/api/client";
import { renderPage } from "@/testing/render";
import { ok, serve } from "@/testing/server";

type State = Schemas["ModelState"];

const gulls: State = {
  kind: "class",
  name: "gulls",
  broker: "d",
  in_force: "receives tides",
  model: "receives tides",
  differs: false,
  limit: 1200,
  unit: "consumers",
};

function show(state: State) {
  serve({ "GET /api/v1/model-state": ok({ total: 1, results: [state] }) });
  renderPage(
    <InForcePanel system="s1" kind={state.kind} name={state.name} version={1} />,
    "/systems/:systemId",
    "/systems/s1",
  );
}

const limit = async () => (await screen.findByText("Limit in force")).nextElementSibling;

it("says how many consumers of a class are let in", async () => {
  show(gulls);
  expect(await limit()).toHaveTextContent("at most 1,200consumers");
});

it("says at which rate a topic may enter", async () => {
  show({ ...gulls, kind: "flow", name: "tides", broker: null, limit: 40, unit: "msg/s" });
  expect(await limit()).toHaveTextContent("at most 40.00msg/s");
});

it("says so where nothing limits it", async () => {
  show({ ...gulls, limit: null });
  expect(await limit()).toHaveTextContent("no limit in force");
});
