import { fireEvent, screen, waitFor, within } from "@testing-library/react";

import KindPage from "./kind-page";

import type { Imported } from "@/api/catalog";
import { renderPage } from "@/testing/render";
import { page, session, SYSTEM, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const LIST = "/systems/:systemId/:kind";
const at = (kind: string) => `/systems/${SYSTEM}/${kind}`;
const IMPORT = "POST /api/v1/publishers/import";

const imported = (change: Partial<Imported> = {}): Imported => ({
  dry_run: true,
  created: 1,
  changed: 1,
  unchanged: 3,
  also_created: 0,
  model_version: 13,
  rows: [
    { name: "p1", action: "update", before: { rate_per_s: 4 }, after: { rate_per_s: 7.5 } },
    {
      name: "p2",
      action: "create",
      before: null,
      after: { name: "p2", topic: "trades.eu", broker: null, pinned: false, rate_per_s: 1 },
    },
  ],
  also: [],
  ...change,
});

const base = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/publishers": ok(page([])),
  "GET /api/v1/overlays": ok(page([])),
};

const sent = (asked: readonly Asked[], dry: boolean) =>
  asked.filter((one) => one.method === "POST" && one.query.get("dry_run") === String(dry));

async function opened(answers: Parameters<typeof serve>[0]) {
  const asked = serve({ ...base, ...answers });
  const view = renderPage(<KindPage />, LIST, at("publishers"));
  await view.user.click(await screen.findByRole("button", { name: "Import CSV" }));
  const dialog = await screen.findByRole("dialog", { name: "Import publishers" });
  return { asked, dialog: within(dialog), ...view };
}

const paste = (text: string) =>
  fireEvent.change(screen.getByLabelText(/Or paste the table/), { target: { value: text } });

describe("the import of a table", () => {
  it("shows what would change, then changes it with a reason", async () => {
    const { asked, dialog, user } = await opened({
      [IMPORT]: (one) => ok(imported({ dry_run: one.query.get("dry_run") === "true" })),
    });
    const command = dialog.getByRole("button", { name: "Import" });
    expect(command).toBeDisabled();
    paste("name,rate_per_s\np1,7.5\n");
    const table = within(await dialog.findByRole("table", { name: "Changes" }));
    expect(table.getAllByRole("row").map((row) => row.textContent)).toEqual([
      "ObjectFieldBeforeAfter",
      "p1rate, per second47.5",
      "p2new: topic trades.eu, rate, per second 1",
    ]);
    expect(sent(asked, false)).toEqual([]);
    await user.type(dialog.getByLabelText(/^Reason/), "CHG-7");
    const lists = () => asked.filter((one) => one.path === "/api/v1/publishers").length;
    const before = lists();
    await user.click(dialog.getByRole("button", { name: "Import 2 changes" }));
    expect(await screen.findByText(/1 created, 1 changed, 3 unchanged/)).toBeInTheDocument();
    const [one] = sent(asked, false);
    expect(one?.body).toBe("name,rate_per_s\np1,7.5\n");
    expect(one?.query.get("system")).toBe(SYSTEM);
    expect(one?.query.get("reason")).toBe("CHG-7");
    expect(one?.headers.get("Content-Type")).toBe("text/csv");
    expect(one?.headers.get("Idempotency-Key")).not.toBeNull();
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(lists()).toBeGreaterThan(before);
  });

  it("names errors by line and column and imports nothing", async () => {
    const { dialog } = await opened({
      [IMPORT]: () => {
        const { status, body } = problem(400, "invalid", "line 3, topic: none", [
          { line: 3, field: "topic", message: 'There is no topic "x" in this system.' },
        ]);
        return { status, body: { ...body, more_errors: 20 } };
      },
    });
    paste("name,topic\np1,t\np2,x\n");
    const table = within(await dialog.findByRole("table", { name: "Errors" }));
    expect(table.getByText("Line 3, topic")).toBeInTheDocument();
    expect(table.getByText(/There is no topic "x"/)).toBeInTheDocument();
    expect(dialog.getByRole("alert")).toHaveTextContent("21 errors: nothing is imported.");
    expect(dialog.getByText("20 more errors not shown.")).toBeInTheDocument();
    expect(dialog.getByRole("button", { name: "Import" })).toBeDisabled();
  });

  it("sends a file as its bytes are, at once", async () => {
    const { asked, dialog, user } = await opened({ [IMPORT]: ok(imported()) });
    const file = new File(["\ufeffname\np1\n"], "mine.csv", { type: "text/csv" });
    await user.upload(dialog.getByLabelText("Choose CSV file"), file);
    expect(await dialog.findByText("mine.csv is read.")).toBeInTheDocument();
    await dialog.findByRole("button", { name: "Import 2 changes" });
    // Reading the text took the mark of the bytes away.
    expect(sent(asked, true)[0]?.body).toBe("name\np1\n");
  });

  it("checks again when missing keys shall be created", async () => {
    const { asked, dialog, user } = await opened({
      [IMPORT]: (one) =>
        one.query.get("create_missing") === "correlation_key"
          ? ok(imported({ also_created: 1, also: [{ kind: "correlation_key", name: "open" }] }))
          : problem(400, "invalid", "No key.", [
              { line: 2, field: "correlation_key", message: "?" },
            ]),
    });
    paste("name,correlation_key\np1,open\n");
    await dialog.findByRole("table", { name: "Errors" });
    await user.click(dialog.getByLabelText(/Create correlation keys/));
    expect(await dialog.findByText(/1 correlation key \(open\)/)).toBeInTheDocument();
    expect(sent(asked, true)).toHaveLength(2);
  });

  it("says that nothing differs", async () => {
    const { dialog } = await opened({
      [IMPORT]: ok(imported({ created: 0, changed: 0, rows: [], model_version: 12 })),
    });
    paste("name\np1\n");
    expect(await dialog.findByText(/the system is as the table says/)).toBeInTheDocument();
    expect(dialog.getByRole("button", { name: "Import" })).toBeDisabled();
  });

  it("closes with Escape and keeps nothing", async () => {
    const { asked, user } = await opened({ [IMPORT]: ok(imported()) });
    paste("name\np1\n");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(sent(asked, false)).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Import CSV" }));
    expect(await screen.findByLabelText(/Or paste the table/)).toHaveValue("");
  });
});

describe("the commands of tables", () => {
  it("are for those who may add, and the export for everybody", async () => {
    serve({ ...base, [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })) });
    renderPage(<KindPage />, LIST, at("publishers"));
    const link = await screen.findByRole("link", { name: "Export CSV" });
    expect(link).toHaveAttribute(
      "href",
      `/api/v1/publishers/export?system=${SYSTEM}&ordering=name`,
    );
    expect(screen.queryByRole("button", { name: "Import CSV" })).toBeNull();
  });

  it("export what the list shows", async () => {
    serve(base);
    renderPage(<KindPage />, LIST, `${at("publishers")}?q=crane&topic=t-1&cursor=c`);
    const link = await screen.findByRole("link", { name: "Export CSV" });
    const { searchParams } = new URL(link.getAttribute("href") ?? "", "http://weir");
    expect(Object.fromEntries(searchParams)).toEqual({
      system: SYSTEM,
      search: "crane",
      ordering: "name",
      topic: "t-1",
    });
  });

  it("are not for overlays", async () => {
    serve(base);
    renderPage(<KindPage />, LIST, at("overlays"));
    expect(await screen.findAllByRole("button", { name: "New overlay" })).not.toHaveLength(0);
    expect(screen.queryByRole("button", { name: "Import CSV" })).toBeNull();
    expect(screen.queryByRole("link", { name: "Export CSV" })).toBeNull();
  });
});
