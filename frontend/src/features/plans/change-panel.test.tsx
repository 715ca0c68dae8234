import { screen } from "@testing-library/react";

import { ChangePanel } from "./change-panel";

import type { Change } from "@/api/connections";
import type { PlanDetail } from "@/api/plans";
import { planPath } from "@/testing/plan-answers";
import { planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { ok, serve } from "@/testing/server";

const TIME = "2026-03-18T14:02:00Z";
const CONNECTION = "a1111111-1111-4111-8111-111111111111";

const change = (part: Partial<Change> = {}): Change => ({
  id: "c1111111-1111-4111-8111-111111111111",
  connection: CONNECTION,
  connection_name: "Change control",
  product: "servicenow",
  state: "open",
  number: "CHG0030052",
  link: "https://example.invalid/CHG0030052",
  state_there: "Assess",
  approval: "waiting",
  is_approval_needed: true,
  is_over_there: false,
  starts_at: null,
  ends_at: null,
  looked_at: TIME,
  problem: "",
  ending: "",
  created_at: TIME,
  opened_at: TIME,
  closed_at: null,
  ...part,
});

function show(answer: object, plan: PlanDetail = planDetail()) {
  serve({
    [`GET ${planPath}/change`]: ok({
      connection: CONNECTION,
      connection_name: "Change control",
      change: null,
      allows: true,
      because: "",
      waiting: [],
      ...answer,
    }),
  });
  renderPage(<ChangePanel plan={plan} />, "/plan", "/plan");
}

it("says who has to approve there, and links there", async () => {
  const because = "Change CHG0030052 is not approved yet (state Assess)";
  show({ change: change(), allows: false, because });
  expect(await screen.findByText("Waits for approval there")).toBeInTheDocument();
  expect(screen.getByText(because)).toBeInTheDocument();
  const link = screen.getByRole("link", { name: "CHG0030052" });
  expect(link).toHaveAttribute("href", "https://example.invalid/CHG0030052");
  expect(screen.getByRole("link", { name: "Change control" })).toHaveAttribute(
    "href",
    `/connections/${CONNECTION}`,
  );
});

it.each([
  [{ state: "opening", number: "", link: "" }, "Being opened"],
  [{ approval: "approved" }, "Approved there"],
  [{ approval: "refused" }, "Refused there"],
  [{ is_approval_needed: false }, "Open there"],
  [{ is_over_there: true }, "Ended there"],
  [{ is_over_there: true, approval: "approved" }, "Ended there"],
  [{ state: "ending", ending: "failed" }, "Being closed"],
  [{ state: "closed", ending: "cancelled" }, "cancelled"],
] as const)("shows where a change stands: %o", async (part, word) => {
  show({ change: change(part) });
  expect(await screen.findByText(word)).toBeInTheDocument();
});

it("says why a change cannot be read, once", async () => {
  const problem = "The server refuses this with 403.";
  show({ change: change({ problem }), allows: false, because: `It is not approved. ${problem}` });
  expect(await screen.findByText(/It is not approved/)).toBeInTheDocument();
  expect(screen.getAllByText(/403/)).toHaveLength(1);
});

it("says why a change cannot be read that nothing waits for yet", async () => {
  show({ change: change({ problem: "The server refuses this with 403." }) });
  expect(await screen.findByText(/It cannot be read\. The server refuses/)).toBeInTheDocument();
});

it("says of a draft that its change comes with the review", async () => {
  show({}, planDetail({ state: "draft" }));
  expect(await screen.findByText(/when the plan is sent for review/)).toBeInTheDocument();
});

it("is not there where nobody keeps changes", async () => {
  show({ connection: null, connection_name: null });
  await new Promise((done) => setTimeout(done, 50));
  expect(screen.queryByRole("heading", { name: "Change" })).toBeNull();
});
