import { screen, waitFor, within } from "@testing-library/react";

import NewStudyPage from "./new-study-page";
import StudiesPage from "./studies-page";
import StudyPage from "./study-page";
import { DAY, point, STUDY, study, SWEEP, sweepPoints } from "./study-samples";

import { renderPage } from "@/testing/render";
import { broker, optimizers, page, session, SYSTEM, system, topic } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const NEW = `/systems/${SYSTEM}/studies/new`;
const model = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/optimizers": ok(optimizers),
  "GET /api/v1/brokers": ok(page([broker(), broker({ id: "b2", name: "S2" })])),
  "GET /api/v1/links": ok(page([])),
  "GET /api/v1/topics": ok(page([topic({ name: "f0" }), topic({ id: "t2", name: "f1" })])),
  "GET /api/v1/consumer-classes": ok(
    page([
      { id: "c0", name: "c0", topic_name: "f0", broker_name: "S0", utility_name: "Gold" },
      { id: "c1", name: "c1", topic_name: "f1", broker_name: "S2", utility_name: "Bronze" },
    ]),
  ),
  "POST /api/v1/studies/check": ok({ points: 22, estimated_s: 4.2, spec: SWEEP }),
};

describe("the builder", () => {
  const open = () => renderPage(<NewStudyPage />, "/systems/:systemId/studies/new", NEW);

  it("counts scenarios as they are chosen and starts what it shows", async () => {
    const asked = serve({
      ...model,
      "POST /api/v1/studies": { status: 202, body: study({ state: "queued" }) },
    });
    const { user, router } = open();
    expect(await screen.findByText("22")).toBeInTheDocument();
    const points = screen.getByLabelText("Points");
    await user.clear(points);
    await user.type(points, "5");
    expect(await screen.findByText("6")).toBeInTheDocument();
    expect(await screen.findByText("4.2")).toBeInTheDocument();
    await user.type(screen.getByLabelText(/^Name/), "More CPU");
    await waitFor(() => expect(screen.getByRole("button", { name: "Start study" })).toBeEnabled());
    await user.click(screen.getByRole("button", { name: "Start study" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/studies/${STUDY}`));
    const sent = asked.find((one) => one.method === "POST" && one.path === "/api/v1/studies");
    expect(sent?.headers.get("Idempotency-Key")).toBeTruthy();
    expect(sent?.body).toMatchObject({
      system: SYSTEM,
      name: "More CPU",
      spec: {
        kind: "sweep",
        axes: [{ field: "scale", values: [0.5, 0.75, 1, 1.25, 1.5], edit: { nodes: ["S0"] } }],
      },
    });
  });

  it("marks a wrong number at its field and does not start", async () => {
    serve(model);
    const { user } = open();
    const from = await screen.findByLabelText("From");
    await user.clear(from);
    await user.type(from, "-3");
    expect(await screen.findByText("Give a percentage, 0 or more.")).toBeInTheDocument();
    expect(from).toHaveAttribute("aria-invalid", "true");
    expect(screen.getByRole("button", { name: "Start study" })).toBeDisabled();
  });

  it("shows what the server refuses at the quantity that it is about", async () => {
    serve({
      ...model,
      "POST /api/v1/studies/check": problem(422, "invalid_study", "No.", [
        { field: "spec.axes[0].edit.nodes[0]", message: 'no node "S0"; known are S7' },
      ]),
    });
    open();
    expect(await screen.findByText('no node "S0"; known are S7')).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Start study" })).toBeDisabled();
  });

  it("shows the form's study as text, and what the server says of its fields", async () => {
    serve({
      ...model,
      "POST /api/v1/studies/check": problem(422, "invalid_study", "No.", [
        { field: "spec.scenarios[0].edits", message: "must be a list, not 3" },
      ]),
    });
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "As text" }));
    const text = screen.getByLabelText("Study as JSON");
    expect((text as HTMLTextAreaElement).value).toContain('"kind": "sweep"');
    expect(await screen.findByText("scenarios[0].edits")).toBeInTheDocument();
    expect(screen.getByText(/must be a list, not 3/)).toBeInTheDocument();
    await user.clear(text);
    await user.type(text, "{{");
    expect(await screen.findByText(/^Not JSON/)).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Start study" })).toBeDisabled();
  });

  it("begins from another study where it is asked to", async () => {
    const [axis] = SWEEP.axes;
    const spec = {
      ...SWEEP,
      methods: [{ method: "lrgp", label: "lrgp", parameters: {} }],
      axes: [{ ...axis, values: [0.4, 0.7, 1] }],
      seed: 0,
      time_limit_s: 2,
      keep_rates: false,
    };
    serve({ ...model, [`GET /api/v1/studies/${STUDY}`]: ok(study({ spec })) });
    renderPage(<NewStudyPage />, "/systems/:systemId/studies/new", `${NEW}?from=${STUDY}`);
    expect(await screen.findByLabelText("From")).toHaveValue("40");
    expect(screen.getByLabelText("To")).toHaveValue("100");
    expect(screen.getByLabelText("Points")).toHaveValue("3");
    expect(screen.getByLabelText(/^Time limit/)).toHaveValue("2");
    expect(screen.getByLabelText(/^Name/)).toHaveValue("Copy of Broker capacity of S2");
    expect(screen.getByText(/Begun from W-4/)).toBeInTheDocument();
  });

  it("takes a second quantity, and gives it back", async () => {
    serve(model);
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Vary a second quantity" }));
    expect(screen.getByRole("combobox", { name: "And vary" })).toHaveValue("population");
    await user.click(screen.getByRole("button", { name: "Remove quantity 2" }));
    expect(screen.queryByRole("combobox", { name: "And vary" })).not.toBeInTheDocument();
  });

  it("offers the trading day with a column per group of classes", async () => {
    serve(model);
    const { user } = open();
    await user.click(await screen.findByRole("button", { name: "Through the day" }));
    const table = screen.getByRole("table", { name: "Segments of the day" });
    expect(within(table).getAllByRole("row")).toHaveLength(7);
    expect(screen.getByLabelText("Gold in Lunch, percent")).toHaveValue("0");
    expect(screen.getByLabelText("Bronze in Lunch, percent")).toHaveValue("100");
    await user.click(screen.getByRole("button", { name: "Remove Lunch" }));
    expect(within(table).getAllByRole("row")).toHaveLength(6);
  });
});

describe("the list", () => {
  it("shows studies with their progress", async () => {
    const { spec, ...row } = study({ state: "running", points_done: 2 });
    expect(spec).toBeDefined();
    serve({ ...model, "GET /api/v1/studies": ok(page([row])) });
    renderPage(<StudiesPage />, "/systems/:systemId/studies", `/systems/${SYSTEM}/studies`);
    expect(await screen.findByText("2 of 4")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "W-4" })).toHaveAttribute("href", `/studies/${STUDY}`);
  });

  it("says what a study is for when there is none", async () => {
    serve({ ...model, "GET /api/v1/studies": ok(page([])) });
    renderPage(<StudiesPage />, "/systems/:systemId/studies", `/systems/${SYSTEM}/studies`);
    expect(await screen.findByText(/solves many variants of this system/)).toBeInTheDocument();
    expect((await screen.findAllByRole("link", { name: "New study" })).length).toBeGreaterThan(0);
  });
});

describe("a study", () => {
  const open = (one: ReturnType<typeof study>, points: unknown[]) => {
    const asked = serve({
      ...model,
      [`GET /api/v1/studies/${STUDY}`]: ok(one),
      [`GET /api/v1/studies/${STUDY}/points`]: ok(page(points)),
      [`POST /api/v1/studies/${STUDY}/cancel`]: { status: 202, body: one },
      [`DELETE /api/v1/studies/${STUDY}`]: { status: 204, body: null },
    });
    return { asked, ...renderPage(<StudyPage />, "/studies/:id", `/studies/${STUDY}`) };
  };

  it("tells what was found, what was not, and why", async () => {
    open(study(), sweepPoints());
    expect(
      await screen.findByRole("heading", { name: "Utility over the varied quantity" }),
    ).toBeVisible();
    expect(screen.getByText("1 scenario infeasible.")).toBeInTheDocument();
    expect(screen.getByText(/The first: S2 cannot carry/)).toBeInTheDocument();
    expect(screen.getByText(/Broker capacity of S2 150 %, \+2.50 %/)).toBeInTheDocument();
    expect(screen.getByText(/one more unit\/s is worth 0.1000, half or less/)).toBeInTheDocument();
    const table = screen.getByRole("table", { name: "Answers" });
    expect(within(table).getAllByRole("row")).toHaveLength(5);
    expect(within(table).getByText("+2.50")).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "CSV" })).toHaveAttribute(
      "href",
      `/api/v1/studies/${STUDY}/points/csv`,
    );
  });

  it("shows partial answers while it runs, and cancels after asking", async () => {
    const running = study({
      state: "running",
      points_done: 2,
      finished_at: null,
      allowed_commands: ["cancel", "rename"],
    });
    const { asked, user } = open(running, sweepPoints().slice(0, 3));
    expect(await screen.findByRole("progressbar")).toHaveAttribute("aria-valuenow", "50");
    expect(await screen.findByText(/^1 answer so far/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Delete" })).not.toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Cancel study" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Cancel study" }));
    await waitFor(() =>
      expect(asked.some((one) => one.path === `/api/v1/studies/${STUDY}/cancel`)).toBe(true),
    );
  });

  it("is deleted with the version that was seen", async () => {
    const { asked, user, router } = open(study({ version: 3 }), sweepPoints());
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/systems/${SYSTEM}/studies`));
    expect(asked.find((one) => one.method === "DELETE")?.headers.get("If-Match")).toBe('"3"');
  });

  it("draws two quantities as a map that the arrow keys walk", async () => {
    const [axis] = SWEEP.axes;
    const spec = {
      ...SWEEP,
      axes: [axis, { ...axis, label: "Class sizes, all topics", edit: { kind: "population" } }],
    };
    const cells = [0.5, 1, 1.5].flatMap((x, i) =>
      [0.5, 1, 1.5].map((y, j) =>
        point({ index: 1 + 3 * i + j, coordinates: [x, y], utility: 1e6 * (x + y) * 0.5 }),
      ),
    );
    const { user } = open(study({ spec }), [point(), ...cells]);
    const grid = await screen.findByRole("grid");
    expect(within(grid).getAllByRole("gridcell")).toHaveLength(9);
    grid.focus();
    await user.keyboard("{ArrowRight}{ArrowUp}{ArrowUp}");
    expect(grid).toHaveAttribute("aria-activedescendant", "heat-1-2");
    expect(
      screen.getByText(
        /Broker capacity of S2 100 %, Class sizes, all topics 150 %: utility 1,250,000.0, \+25.00 %/,
      ),
    ).toBeInTheDocument();
  });

  it("compares methods through the day", async () => {
    const rows = ["lrgp", "greedy"].flatMap((method, m) =>
      [0, 1].map((segment) =>
        point({
          index: 2 * m + segment,
          label: segment === 0 ? "Morning" : "Lunch",
          method,
          coordinates: [segment],
          moved: segment === 0 ? null : 40,
          groups: [
            { name: "Gold", admitted: segment === 0 ? 50 : 0, wanted: 50 },
            { name: "Bronze", admitted: 10, wanted: 100 },
          ],
        }),
      ),
    );
    const { user } = open(study({ kind: "schedule", spec: DAY, name: "Day" }), rows);
    expect(await screen.findByRole("heading", { name: "Methods through the day" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "Admitted consumers by group" })).toBeVisible();
    expect(screen.getByText("Consumers moved in the day")).toBeInTheDocument();
    await user.click(
      screen.getByRole("button", { name: "Numbers and files of Admitted consumers by group" }),
    );
    await user.click(await screen.findByText("Show as table"));
    const table = screen.getByRole("table", { name: "Admitted consumers by group as table" });
    expect(within(table).getByText("Lunch")).toBeInTheDocument();
    expect(within(table).getByText("50")).toBeInTheDocument();
  });

  it("says so when it cannot be read", async () => {
    serve({
      ...model,
      [`GET /api/v1/studies/${STUDY}`]: problem(404, "not_found", "No such study."),
    });
    renderPage(<StudyPage />, "/studies/:id", `/studies/${STUDY}`);
    expect(await screen.findByRole("alert")).toHaveTextContent("No such study.");
  });
});
