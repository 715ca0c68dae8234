import { screen, within } from "@testing-library/react";

import { filled } from "./requests-panel";
import UtilityEditorPage from "./utility-editor-page";

import { renderPage } from "@/testing/render";
import {
  drawn,
  page,
  requestLoop,
  requestLoops,
  SYSTEM,
  system,
  utilityFunction,
  utilityKinds,
} from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const TYPED = { max_utility: 10, threshold_s: 2, senders: 20, think_s: 1, exec_s: 0.25 };
const U = utilityFunction({ kind: "latency", parameters: TYPED });
const PATH = "/systems/:systemId/utility-functions/:id/edit";
const AT = `/systems/${SYSTEM}/utility-functions/${U.id}/edit`;
const LOOPS = "GET /api/v1/request-loops";
const FIELDS = ["max_utility", "threshold_s", "senders", "think_s", "exec_s"];

const kinds = {
  results: utilityKinds.results.map((kind) =>
    kind.kind === "latency"
      ? {
          ...kind,
          parameters: kind.parameters
            .slice(0, 1)
            .flatMap((one) => FIELDS.map((name) => ({ ...one, name, unit: "s" }))),
        }
      : kind,
  ),
};

const open = (loops: unknown, change: Record<string, unknown> = {}) => {
  const asked = serve({
    [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
    [`GET /api/v1/utility-functions/${U.id}`]: ok(U),
    "GET /api/v1/utility-kinds": ok(kinds),
    "GET /api/v1/consumer-classes": ok(page([])),
    "GET /api/v1/allocations": ok(page([])),
    "POST /api/v1/utility-curves": (one: Asked) => ok(drawn(one.body as never)),
    [LOOPS]: loops,
    ...change,
  } as never);
  return { asked, ...renderPage(<UtilityEditorPage />, PATH, AT) };
};

const table = async () =>
  within(await screen.findByRole("table", { name: "Requests as measured" }));

describe("requests as measured", () => {
  it("stand beside what is typed, and become it at a click, which one takes back", async () => {
    const { asked, user } = open(ok(requestLoops(requestLoop())));
    const figures = within((await table()).getByRole("row", { name: /^Senders/ }));
    expect(figures.getByText("20")).toBeInTheDocument();
    expect(figures.getByText("25.2")).toBeInTheDocument();
    expect(figures.getByText("24.1 \u2013 26.3")).toBeInTheDocument();
    expect((await table()).getByText("not known")).toBeInTheDocument();
    expect(screen.getByText(/waited at the gate for most of their time/)).toBeInTheDocument();
    const query = asked.find((one) => one.path === "/api/v1/request-loops")?.query;
    expect(query?.get("utility")).toBe(U.id);
    await user.click(screen.getByRole("button", { name: "Use measured figures" }));
    expect(screen.getByLabelText("Senders")).toHaveValue("25");
    expect(screen.getByLabelText("Think")).toHaveValue("1.23");
    // What is not known stays as it is typed.
    expect(screen.getByLabelText("Exec")).toHaveValue("0.25");
    expect(screen.getByRole("button", { name: "These are typed" })).toHaveFocus();
    await user.keyboard("{Control>}z{/Control}");
    expect(screen.getByLabelText("Senders")).toHaveValue("20");
  });

  it("are those of the class that one picks", async () => {
    const other = requestLoop({
      consumer_class: "0b8f6f5e-0000-4000-8000-000000000014",
      consumer_class_name: "iron",
      minutes: 5,
      senders: { low: 3, median: 4, high: 5, minutes: 5 },
    });
    const { user } = open(ok(requestLoops(other, requestLoop())));
    expect((await table()).getByText("25.2")).toBeInTheDocument();
    await user.selectOptions(screen.getByLabelText("Class"), "iron");
    expect((await table()).getByText("4")).toBeInTheDocument();
  });

  it("say why there are none", async () => {
    const why = "No client of this class counts its requests.";
    const none = { minutes: 0, answers_per_s: null, senders: null, think_s: null, why };
    open(ok(requestLoops(requestLoop(none))));
    expect(await screen.findByText(why)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: /measured figures/ })).not.toBeInTheDocument();
  });

  it("say that they could not be loaded", async () => {
    open(problem(500, "internal", "The server failed."));
    expect(await screen.findByText(/measured requests could not be loaded/)).toBeInTheDocument();
  });
});

it("fills in nothing but what is known, and whole requesters", () => {
  const typed = { senders: "25", think_s: "1.23", exec_s: "0.25" };
  expect(filled(requestLoop(), typed)).toBeNull();
  const exec_s = { low: 0.0001, median: 0.00012345, high: 0.0002, minutes: 9 };
  const few = { low: 0.1, median: 0.3, high: 0.4, minutes: 9 };
  expect(filled(requestLoop({ exec_s, senders: few }), typed)).toEqual({
    senders: "1",
    think_s: "1.23",
    exec_s: "0.000123",
  });
});
