/** Flows that change their stream live: their phases, how long that takes, who was not waited for. */
import { screen, waitFor, within } from "@testing-library/react";

import { HandOversPanel } from "./hand-overs-panel";

import { handOver, handOvers } from "@/testing/mapping-samples";
import { renderPage } from "@/testing/render";
import { SYSTEM } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

const NOW = "GET /api/v1/hand-overs";
const show = () => renderPage(<HandOversPanel system={SYSTEM} />, "/", "/");
const panel = () => screen.findByRole("region", { name: "Flows on their way" });

it("has each flow with its phase, from where to where, and how long it took", async () => {
  const asked = serve({
    [NOW]: ok(
      handOvers([
        handOver({ flow: "fx.YEN", phase: "preparing", took_s: null }),
        handOver({ flow: "fx.PESO", phase: "draining", took_s: null }),
        handOver(),
        handOver({ flow: "fx.RAND", took_s: 0.0266 }),
      ]),
    ),
  });
  show();
  const table = within(await panel());
  const rows = table.getAllByRole("row").slice(1);
  expect(rows.map((row) => row.textContent)).toEqual([
    expect.stringMatching(/^fx\.YENe1stream 7 in group 1\u2192 stream 12 in group 3Preparing/),
    expect.stringContaining("Draining"),
    expect.stringMatching(/Done.*5\.40$/),
    expect.stringMatching(/Done.*26\.60$/),
  ]);
  expect(
    table.getByText(
      "2 under way, 2 done in the last minute, half of them within 5.4 ms, the longest in 26.6 ms",
    ),
  ).toBeInTheDocument();
  expect(asked.map(({ query }) => query.get("system"))).toEqual([SYSTEM]);
  expect(document.querySelector(".note")).toBeNull();
});

it("warns of subscribers that were not waited for", async () => {
  serve({ [NOW]: ok(handOvers([handOver({ unready: 2 })])) });
  show();
  const note = within(await panel()).getByText(/^2 subscribers had not answered within 0\.5 s/);
  expect(note.closest(".note")).toHaveClass("warn");
});

it("says that none moves where agents send flows on streams", async () => {
  serve({ [NOW]: ok(handOvers([], { brokers: 2 })) });
  show();
  expect(within(await panel()).getByText(/^2 brokers send flows on streams; none/)).toBeVisible();
});

it("is not there where no agent sends flows on streams", async () => {
  const asked = serve({ [NOW]: ok(handOvers()) });
  show();
  await waitFor(() => expect(asked).toHaveLength(1));
  expect(screen.queryByRole("region")).toBeNull();
});

it("follows a hand-over second by second until it is done", async () => {
  let phase: "preparing" | "done" = "preparing";
  serve({
    [NOW]: () => ok(handOvers([handOver({ phase, took_s: phase === "done" ? 0.005 : null })])),
  });
  show();
  await within(await panel()).findByText("Preparing");
  phase = "done";
  await within(await panel()).findByText("Done", {}, { timeout: 10_000 });
}, 20_000);
