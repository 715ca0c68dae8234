/** What the dialog says of publishers before a plan is made of a placement. */
import { screen, within } from "@testing-library/react";

import { MakePlan } from "./make-plan";

import { outcome, placementDetail } from "@/testing/placement-samples";
import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, serve } from "@/testing/server";

async function open(moved: number) {
  serve({ "GET /api/v1/session": ok(session()) });
  const placement = placementDetail({
    ...{ moved, outcome: outcome({ moved }), allowed_commands: ["plan"] },
  });
  const { user } = renderPage(<MakePlan placement={placement} />, "/", "/");
  await user.click(await screen.findByRole("button", { name: "Make a plan" }));
  return { user, dialog: within(await screen.findByRole("dialog")) };
}

it("says how publishers are moved, and that clients have to ask", async () => {
  const { dialog } = await open(334);
  expect(dialog.getByText(/334 publishers have to connect elsewhere/)).toHaveTextContent(
    /each is released, all that it sent passes, then it is let in at its new broker/,
  );
  expect(dialog.getByText(/a pause of a few seconds/)).toBeInTheDocument();
  expect(dialog.getByText(/Clients have to ask where they belong/)).toHaveTextContent(
    "A publisher that follows in docs/agent.md",
  );
});

it("says that brokers keep others out, where nobody moves, too", async () => {
  const { dialog } = await open(0);
  expect(dialog.getByText(/lets in its own publishers and nobody else/)).toBeInTheDocument();
  expect(dialog.queryByText(/connect elsewhere/)).toBeNull();
});

it("says that nobody is moved while parts are only counted", async () => {
  const { user, dialog } = await open(1);
  await user.click(dialog.getByRole("button", { name: "Only count it" }));
  expect(dialog.getByText(/Nobody is moved: 1 publisher would have to/)).toBeInTheDocument();
  expect(dialog.queryByText(/released/)).toBeNull();
});

it("says nothing of publishers where parts are counted and all are in place", async () => {
  const { user, dialog } = await open(0);
  await user.click(dialog.getByRole("button", { name: "Only count it" }));
  expect(dialog.queryByText(/publisher/)).toBeNull();
});
