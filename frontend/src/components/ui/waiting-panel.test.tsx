/** What the page of a reliable topic says of messages that wait. */
import { screen } from "@testing-library/react";

import { WaitingPanel } from "./waiting-panel";

import type { Schemas } from "@/api/client";
import { renderPage } from "@/testing/render";
import { backlog } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

const flow = (waiting: Schemas["Backlog"] | null): Schemas["FlowStatus"] => ({
  flow: "customs",
  broker: "b4",
  in_force_per_s: 40,
  burst: 5,
  controlled_per_s: null,
  promised_per_s: null,
  rate_min_per_s: 0,
  rate_max_per_s: 200,
  band_low_per_s: null,
  band_high_per_s: null,
  offered_per_s: 144,
  passed_per_s: 40,
  shed_per_s: 0,
  backlog: 17_049,
  waiting,
});

function show(waiting: Schemas["Backlog"] | null) {
  serve({
    "GET /api/v1/flow-status": ok({
      rate_control: false,
      plan: null,
      plan_name: null,
      flows: [flow(waiting)],
    }),
  });
  renderPage(<WaitingPanel system="s1" topic="customs" />, "/systems/:systemId", "/systems/s1");
}

const said = async (term: string) => (await screen.findByText(term)).nextElementSibling;

it("shows what waits, how fast it grows and when it is full", async () => {
  show(backlog());
  expect(await said("Waiting at b4")).toHaveTextContent("17,049msg");
  expect(await said("Grows by")).toHaveTextContent("+104msg/s");
  expect(await said("Full in")).toHaveTextContent("13min 100,000 messages fit");
  expect(screen.getByText("Alarm")).toBeInTheDocument();
});

it("invents no end where no limit is known", async () => {
  const why = "No limit is known: the agent reports none.";
  show(backlog({ full_in_s: null, limit: null, most: null, growth: "growing", why }));
  expect(await said("Full in")).toHaveTextContent(why);
  expect(screen.getByText("Growing")).toBeInTheDocument();
});

it("says what cannot be told yet", async () => {
  const why = "How fast that changes cannot be told yet.";
  show(
    backlog({
      slope_per_s: null,
      full_in_s: null,
      limit: null,
      most: null,
      growth: "unknown",
      why,
    }),
  );
  expect(await said("Grows by")).toHaveTextContent("cannot be told yet");
  expect(await said("Full in")).toHaveTextContent(why);
  expect(screen.queryByText("Alarm")).toBeNull();
});

it("says that it is full, and which limit that is", async () => {
  show(backlog({ full_in_s: 0, limit: "storage", most: 75 * 2 ** 30, slope_per_s: 0 }));
  expect(await said("Full in")).toHaveTextContent("now the broker may store 76,800 MiB");
});

it("says that nothing is measured", async () => {
  show(null);
  expect(await screen.findByText("Nothing is measured now.")).toBeInTheDocument();
});
