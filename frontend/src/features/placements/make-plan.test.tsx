/** What the dialog says of publishers before a plan is made of a placement. */
import { screen, waitFor, within } from "@testing-library/react";

import { MakePlan } from "./make-plan";

import type { Adaptation } from "@/api/adaptation";
import { adaptation, noAdaptation } from "@/testing/adaptation-samples";
import { outcome, placementDetail } from "@/testing/placement-samples";
import { renderPage } from "@/testing/render";
import { session } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

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

describe("parts that follow the traffic", () => {
  const PLACEMENT = placementDetail({ allowed_commands: ["plan"] });
  const PLAN = `POST /api/v1/placements/${PLACEMENT.id}/plan`;
  const SWITCH = "Adapt the parts to traffic while they are in force";

  async function ask(now: Adaptation) {
    const asked = serve({
      "GET /api/v1/session": ok(session()),
      [`GET /api/v1/topics/${PLACEMENT.topic ?? ""}/adaptation`]: ok(now),
      [PLAN]: ok({ id: "p-1" }),
    });
    const { user } = renderPage(<MakePlan placement={PLACEMENT} />, "/", "/");
    await user.click(await screen.findByRole("button", { name: "Make a plan" }));
    const dialog = within(await screen.findByRole("dialog"));
    const toggle = await dialog.findByLabelText(new RegExp(SWITCH));
    const make = dialog.getByRole("button", { name: "Make a plan" });
    const body = async () => {
      await user.click(make);
      await screen.findByText("elsewhere");
      return asked.find(({ path }) => path.endsWith("/plan"))?.body;
    };
    return { user, dialog, toggle, make, body };
  }

  it("are not asked for unless somebody turns it on", async () => {
    const { toggle, body } = await ask(noAdaptation());
    expect(toggle).not.toBeChecked();
    expect(await body()).toEqual({ title: "", mode: "enforce" });
  });

  it("take history, period and floor, with values to begin from", async () => {
    const { user, toggle, dialog, body } = await ask(noAdaptation());
    await user.click(toggle);
    expect(dialog.getByLabelText("History")).toHaveValue("10");
    expect(dialog.getByLabelText("Period")).toHaveValue("1");
    const floor = dialog.getByLabelText("Floor");
    expect(floor).toHaveValue("2");
    await user.clear(floor);
    await user.type(floor, "7");
    expect(await body()).toMatchObject({
      adaptation: { window_s: 10, period_s: 1, least_share: 0.07 },
    });
  });

  it("are refused at the field that is out of range", async () => {
    const { user, toggle, dialog, make } = await ask(noAdaptation());
    await user.click(toggle);
    const type = async (label: string, text: string) => {
      await user.clear(dialog.getByLabelText(label));
      await user.type(dialog.getByLabelText(label), text);
    };
    await type("History", "301");
    expect(dialog.getByLabelText("History")).toHaveAccessibleDescription(/from 2 to 300\ss\./);
    await type("History", "5");
    await type("Period", "6");
    expect(dialog.getByLabelText("Period")).toHaveAccessibleDescription(/Not longer than/);
    await type("Period", "1");
    await type("Floor", "20.5");
    expect(dialog.getByLabelText("Floor")).toHaveAccessibleDescription(/from 0 to 20\s%/);
    expect(make).toBeDisabled();
    await type("Floor", "0");
    expect(make).toBeEnabled();
  });

  it("begin from the order in force, and end by the switch", async () => {
    const order = { window_s: 30, period_s: 2, least_share: 0.05 };
    const { user, toggle, dialog, body } = await ask(adaptation(order));
    expect(toggle).toBeChecked();
    expect(dialog.getByLabelText("History")).toHaveValue("30");
    expect(dialog.getByLabelText("Floor")).toHaveValue("5");
    await user.click(toggle);
    expect(dialog.getByText(/The plan ends that: they come back/)).toBeInTheDocument();
    expect(await body()).toEqual({ title: "", mode: "enforce", adaptation: null });
  });

  it("are planned only once it is known whether they follow it now", async () => {
    const at = `GET /api/v1/topics/${PLACEMENT.topic ?? ""}/adaptation`;
    let answer: (given: ReturnType<typeof ok>) => void = () => undefined;
    serve({
      "GET /api/v1/session": ok(session()),
      [at]: () => new Promise((resolve) => (answer = resolve)),
    });
    const { user } = renderPage(<MakePlan placement={PLACEMENT} adapts />, "/", "/");
    await user.click(await screen.findByRole("button", { name: "Plan the adaptation" }));
    const make = within(await screen.findByRole("dialog")).getByRole("button", {
      name: "Make a plan",
    });
    expect(make).toBeDisabled();
    answer(ok(noAdaptation()));
    await waitFor(() => expect(make).toBeEnabled());
  });

  it.each([
    [true, "Plan the adaptation"],
    [false, "Make a plan"],
  ])("need an answer where they are what is planned (%s)", async (adapts, name) => {
    serve({
      "GET /api/v1/session": ok(session()),
      [`GET /api/v1/topics/${PLACEMENT.topic ?? ""}/adaptation`]: problem(
        500,
        "internal",
        "No disk.",
      ),
    });
    const { user } = renderPage(<MakePlan placement={PLACEMENT} adapts={adapts} />, "/", "/");
    await user.click(await screen.findByRole("button", { name }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByText(/No disk\./)).toBeInTheDocument();
    const make = dialog.getByRole("button", { name: "Make a plan" });
    if (adapts) {
      expect(make).toBeDisabled();
      return;
    }
    expect(make).toBeEnabled();
    expect(dialog.getByText(/leaves that as it is/)).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Only count it" }));
    expect(dialog.getByText(/the plan ends that/)).toBeInTheDocument();
  });

  it("are not offered where they are only counted, which ends an order in force", async () => {
    const { user, dialog, body } = await ask(adaptation());
    await user.click(dialog.getByRole("button", { name: "Only count it" }));
    expect(dialog.queryByLabelText(new RegExp(SWITCH))).toBeNull();
    expect(dialog.getByText(/The plan ends that/)).toBeInTheDocument();
    expect(await body()).toEqual({ title: "", mode: "count", adaptation: null });
  });
});
