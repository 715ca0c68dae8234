import { fireEvent, screen, waitFor, within } from "@testing-library/react";

import UtilityEditorPage from "./utility-editor-page";

import { renderPage } from "@/testing/render";
import {
  allocation,
  consumerClass,
  drawn,
  load,
  page,
  population,
  preview,
  rate,
  SYSTEM,
  system,
  utilityFunction,
  utilityKinds,
} from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const U = utilityFunction();
const A = allocation();
const PATH = "/systems/:systemId/utility-functions/:id/edit";
const AT = `/systems/${SYSTEM}/utility-functions/${U.id}/edit`;
const ONE = `/api/v1/utility-functions/${U.id}`;
const KEY = `weir.utility-draft.${U.id}`;

const answers = {
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  [`GET ${ONE}`]: ok(U),
  "GET /api/v1/utility-kinds": ok(utilityKinds),
  "GET /api/v1/consumer-classes": ok(page([consumerClass()])),
  "GET /api/v1/allocations": ok(page([A])),
  [`GET /api/v1/allocations/${A.id}/rates`]: ok(page([rate({ rate_per_s: 24 })])),
  [`GET /api/v1/allocations/${A.id}/populations`]: ok(page([population({ admitted: 10 })])),
  [`GET /api/v1/allocations/${A.id}/loads`]: ok(page([load()])),
  "POST /api/v1/utility-curves": (asked: Asked) => ok(drawn(asked.body as never)),
  [`POST /api/v1/systems/${SYSTEM}/preview`]: ok(preview()),
};

const open = (change: Record<string, unknown> = {}) => {
  const asked = serve({ ...answers, ...change } as typeof answers);
  return { asked, ...renderPage(<UtilityEditorPage />, PATH, AT) };
};

const weight = () => screen.findByLabelText("Weight");

describe("the utility editor", () => {
  it("shows the function in the model and what the allocation made of it", async () => {
    open();
    expect(await screen.findByRole("heading", { name: "Utility of gold" })).toBeInTheDocument();
    expect(await weight()).toHaveValue("100");
    expect(await screen.findByText("At the rate of A-27")).toBeInTheDocument();
    expect(screen.getByText("f2, 24.00 msg/s")).toBeInTheDocument();
    expect(screen.getByText("Concave")).toBeInTheDocument();
    expect(screen.getByText(/Change something, and what it would do/)).toBeInTheDocument();
    expect(screen.getByRole("button", { name: "Save as model v43" })).toBeDisabled();
    for (const name of ["Log", "Piecewise", "Latency"]) {
      expect(screen.getByRole("button", { name: new RegExp(name) })).toBeInTheDocument();
    }
  });

  it("previews a draft, keeps it in the browser, and takes it back with Ctrl Z", async () => {
    const { asked, user } = open();
    const field = await weight();
    await user.clear(field);
    await user.type(field, "80");
    expect(await screen.findByText("Draft, unsaved")).toBeInTheDocument();
    expect(await screen.findByText("Rate of f5")).toBeInTheDocument();
    const table = within(screen.getByRole("table", { name: "What would change" }));
    expect(table.getByText("+1.03")).toBeInTheDocument();
    const sent = () => asked.filter((one) => one.path.endsWith("/preview")).at(-1)?.body;
    await waitFor(() =>
      expect(sent()).toEqual({
        utilities: { [U.id]: { kind: "log", parameters: { weight: 80 } } },
      }),
    );
    expect(JSON.parse(localStorage.getItem(KEY) ?? "{}")).toMatchObject({ version: 1 });
    await user.keyboard("{Control>}z{/Control}");
    await waitFor(() => expect(screen.getByLabelText("Weight")).toHaveValue("100"));
    expect(screen.queryByText("Draft, unsaved")).toBeNull();
    expect(localStorage.getItem(KEY)).toBeNull();
    await user.keyboard("{Control>}y{/Control}");
    await waitFor(() => expect(screen.getByLabelText("Weight")).toHaveValue("80"));
  });

  it("opens with the draft that was kept, and says when the model moved on meanwhile", async () => {
    const kept = {
      version: 1,
      value: { kind: "log", parameters: { weight: "70" } },
      at: U.updated_at,
    };
    localStorage.setItem(KEY, JSON.stringify(kept));
    const { user } = open({ [`GET ${ONE}`]: ok({ ...U, version: 2, parameters: { weight: 90 } }) });
    expect(await weight()).toHaveValue("70");
    expect(
      screen.getByText(/Version 2 is stored, this draft began on version 1/),
    ).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Load the stored version" }));
    expect(screen.getByLabelText("Weight")).toHaveValue("90");
    expect(screen.queryByText(/this draft began on/)).toBeNull();
  });

  it("saves against the version it began on, after saying what that changes", async () => {
    const { asked, user } = open({
      [`PATCH ${ONE}`]: ok({ ...U, version: 2, parameters: { weight: 80 } }),
    });
    const field = await weight();
    await user.clear(field);
    await user.type(field, "80");
    const save = await screen.findByRole("button", { name: "Save as model v43" });
    await waitFor(() => expect(save).toBeEnabled());
    await user.click(save);
    const dialog = within(await screen.findByRole("dialog", { name: "Save utility gold" }));
    expect(dialog.getByText("log, weight 100")).toBeInTheDocument();
    expect(dialog.getByText("log, weight 80")).toBeInTheDocument();
    expect(dialog.getByText(/1 class with 1,500 consumers uses it/)).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Save as model v43" }));
    expect(await screen.findByText("Saved utility gold")).toBeInTheDocument();
    const sent = asked.find((one) => one.method === "PATCH");
    expect(sent?.headers.get("If-Match")).toBe('"1"');
    expect(sent?.body).toEqual({ kind: "log", parameters: { weight: 80 } });
    expect(screen.queryByText("Draft, unsaved")).toBeNull();
  });

  it("keeps the draft when somebody else saved first, and can save over it", async () => {
    let stored = U;
    const { asked, user } = open({
      [`GET ${ONE}`]: () => ok(stored),
      [`PATCH ${ONE}`]: (one: Asked) => {
        if (one.headers.get("If-Match") === '"1"') {
          stored = { ...U, version: 2, parameters: { weight: 60 } };
          return problem(412, "stale", "Somebody else changed it.");
        }
        return ok({ ...U, version: 3, parameters: { weight: 80 } });
      },
    });
    const field = await weight();
    await user.clear(field);
    await user.type(field, "80");
    const save = await screen.findByRole("button", { name: "Save as model v43" });
    await waitFor(() => expect(save).toBeEnabled());
    await user.click(save);
    const dialog = within(await screen.findByRole("dialog", { name: "Save utility gold" }));
    await user.click(dialog.getByRole("button", { name: "Save as model v43" }));
    expect(await dialog.findByText("Somebody else changed it.")).toBeInTheDocument();
    await user.click(dialog.getByRole("button", { name: "Cancel" }));
    expect(await screen.findByText(/Changed by someone else while you edited/)).toBeInTheDocument();
    expect(screen.getByLabelText("Weight")).toHaveValue("80");
    await user.click(screen.getByRole("button", { name: "keep mine and save over it" }));
    await user.click(screen.getByRole("button", { name: "Save as model v43" }));
    const again = within(await screen.findByRole("dialog", { name: "Save utility gold" }));
    await user.click(again.getByRole("button", { name: "Save as model v43" }));
    await waitFor(() => expect(screen.queryByText("Draft, unsaved")).toBeNull());
    expect(
      asked
        .filter((one) => one.method === "PATCH")
        .at(-1)
        ?.headers.get("If-Match"),
    ).toBe('"2"');
  });

  it("offers a run where the model is too large for a preview", async () => {
    const { user } = open({
      [`POST /api/v1/systems/${SYSTEM}/preview`]: problem(
        409,
        "too_large_for_preview",
        "Base workload has 90,000 topics and consumer classes.",
      ),
    });
    const field = await weight();
    await user.clear(field);
    await user.type(field, "80");
    expect(await screen.findByText(/has 90,000 topics/)).toBeInTheDocument();
    expect(screen.getByRole("link", { name: "Optimize" })).toBeInTheDocument();
  });

  it("is for looking only where one may not edit", async () => {
    open({ [`GET ${ONE}`]: ok({ ...U, allowed_commands: [] }) });
    expect(await weight()).toBeDisabled();
    expect(screen.queryByRole("button", { name: /Save as model/ })).toBeNull();
    expect(screen.queryByRole("slider")).toBeNull();
    expect(screen.queryByText("What would change")).toBeNull();
  });

  it("says what failed when the function cannot be read", async () => {
    open({ [`GET ${ONE}`]: problem(404, "not_found", "There is no such function.") });
    expect(await screen.findByText(/There is no such function/)).toBeInTheDocument();
  });
});

describe("a line of points", () => {
  const points = [
    [0, 0],
    [10, 232],
    [25, 328],
    [60, 402],
  ];
  const line = utilityFunction({ kind: "piecewise", parameters: { points } });
  const openLine = () => open({ [`GET ${ONE}`]: ok(line) });

  it("moves by the arrow keys, with Shift by ten, and undoes the whole gesture at once", async () => {
    const { user } = openLine();
    const point = await screen.findByRole("slider", { name: "Point 2" });
    fireEvent.focus(point);
    fireEvent.keyDown(point, { key: "ArrowUp" });
    fireEvent.keyDown(point, { key: "ArrowUp", shiftKey: true });
    fireEvent.keyDown(point, { key: "ArrowRight" });
    await waitFor(() => expect(screen.getByLabelText("Utility of point 2")).toHaveValue("339"));
    expect(screen.getByLabelText("Rate of point 2")).toHaveValue("25.1");
    fireEvent.blur(point);
    await user.keyboard("{Control>}z{/Control}");
    await waitFor(() => expect(screen.getByLabelText("Utility of point 2")).toHaveValue("328"));
  });

  it("names the point where it bends, and cannot be saved or previewed so", async () => {
    const { asked, user } = openLine();
    const field = await screen.findByLabelText("Utility of point 2");
    await user.clear(field);
    await user.type(field, "240");
    expect(await screen.findByText("Not concave at point 2")).toBeInTheDocument();
    expect(
      screen.getByText(/Point 2 bends upwards: the slope rises from 0.53/),
    ).toBeInTheDocument();
    expect(screen.getByRole("slider", { name: "Point 2" })).toHaveAttribute("aria-invalid", "true");
    expect(screen.getByRole("button", { name: "Save as model v43" })).toBeDisabled();
    expect(screen.getByText(/the preview waits until it is mended/)).toBeInTheDocument();
    expect(asked.some((one) => one.path.endsWith("/preview"))).toBe(false);
  });

  it("takes points in and out", async () => {
    const { user } = openLine();
    await user.click(await screen.findByRole("button", { name: "Add" }));
    expect(screen.getAllByRole("slider")).toHaveLength(5);
    expect(screen.getByText(/concave and non-decreasing/)).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Remove point 3" }));
    expect(screen.getAllByRole("slider")).toHaveLength(4);
  });

  it("comes from the curve of the kind before it", async () => {
    const { user } = open();
    await weight();
    await screen.findByText("At the rate of A-27");
    await user.click(screen.getByRole("button", { name: /Piecewise/ }));
    const rates = await screen.findAllByLabelText(/Rate of point/);
    expect(rates.length).toBeGreaterThan(3);
    expect(screen.getByText("Concave")).toBeInTheDocument();
  });
});
