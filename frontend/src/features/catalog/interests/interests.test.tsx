import { act, screen, waitFor, within } from "@testing-library/react";
import { vi } from "vitest";

import InterestImportPage from "./interest-import-page";
import type { InterestImport } from "./interest-imports";
import InterestImportsPage from "./interest-imports-page";
import KindPage from "@/features/catalog/kind-page";

import { hear } from "@/api/live";
import { renderPage } from "@/testing/render";
import { page, session, SYSTEM, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const ID = "88888888-8888-4888-8888-888888888881";
const LIST = "GET /api/v1/interest-imports";
const ONE = `GET /api/v1/interest-imports/${ID}`;
const CANCEL = `POST /api/v1/interest-imports/${ID}/cancel`;
const UPLOAD = "POST /api/v1/interest-imports";
const TEXT = "subscriber,topic\nu1,a\nu1,b\n";

const row = (change: Partial<InterestImport> = {}): InterestImport => ({
  id: ID,
  number: 3,
  name: "I-3",
  system: SYSTEM,
  system_name: "Base workload",
  mode: "add",
  dry_run: false,
  create_missing: [],
  reason: "",
  state: "succeeded",
  phase: "write",
  done: 1234,
  total: 1234,
  size_bytes: 3 * 2 ** 20,
  lines: 2500,
  repeated: 6,
  added: 1234,
  removed: 0,
  unchanged: 1260,
  subscribers_changed: 17,
  subscribers_created: 2,
  model_version: 43,
  error_count: 0,
  errors: [],
  failure: "",
  started_by: "Ines Moreau",
  started_by_id: "22222222-2222-4222-8222-222222222222",
  created_at: "2026-03-18T14:02:00Z",
  started_at: "2026-03-18T14:02:01Z",
  ended_at: "2026-03-18T14:02:43Z",
  cancel_requested: false,
  allowed_commands: [],
  ...change,
});

const running = (change: Partial<InterestImport> = {}) =>
  row({
    ...{ state: "running", phase: "read", done: 500, total: 2000, lines: 0, ended_at: null },
    ...{ added: 0, unchanged: 0, model_version: null, allowed_commands: ["cancel"] },
    ...change,
  });

const base = {
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  "GET /api/v1/subscribers": ok(page([])),
  [LIST]: ok(page([])),
};

type Answers = Parameters<typeof serve>[0];

const csv = (text = TEXT, name = "mine.csv") => new File([text], name, { type: "text/csv" });

/** A file of a size that nobody wants to make. */
const sized = (bytes: number) => Object.defineProperty(csv(), "size", { value: bytes });

const onSubscribers = (query = "") =>
  renderPage(<KindPage />, "/systems/:systemId/:kind", `/systems/${SYSTEM}/subscribers${query}`);

async function opened(answers: Answers = {}) {
  const asked = serve({ ...base, ...answers });
  const view = onSubscribers();
  await view.user.click(await screen.findByRole("button", { name: "Import interests" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Import interests" }));
  const choose = (file = csv()) => view.user.upload(dialog.getByLabelText("Choose CSV file"), file);
  const press = async (name: string) =>
    view.user.click(await dialog.findByRole("button", { name }));
  return { asked, dialog, choose, press, ...view };
}

const uploads = (asked: readonly Asked[]) => asked.filter((one) => one.method === "POST");

const figures = () => [...document.querySelectorAll(".fig")].map((figure) => figure.textContent);

describe("the import of interests", () => {
  it("checks first, then imports the same file without choosing it again", async () => {
    let now = running({ dry_run: true });
    const { asked, dialog, choose, press, user, queries } = await opened({
      [UPLOAD]: (one) => ({
        status: 202,
        body: one.query.get("dry_run") === "true" ? now : running({ reason: "CHG-7" }),
      }),
      [ONE]: () => ok(now),
    });
    await choose();
    expect(dialog.getByText("mine.csv, 27 bytes")).toBeInTheDocument();
    await user.click(dialog.getByLabelText(/Create missing subscribers/));
    await user.type(dialog.getByLabelText(/^Reason/), "CHG-7");
    await press("Check first");
    expect(await dialog.findByText("Reading the file, step 1 of 4")).toBeInTheDocument();
    expect(dialog.getByText("500 of about 2,000 lines")).toBeInTheDocument();
    expect(dialog.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "25");
    expect(dialog.getByText("Add, check only")).toBeInTheDocument();
    now = row({ dry_run: true, model_version: null });
    act(() => hear(queries, { kind: "interest_import", id: ID, system: SYSTEM }));
    expect(await dialog.findByText(/no line is wrong, nothing was changed/)).toBeInTheDocument();
    expect(figures()).toEqual([
      "Would be added1,234interests",
      "Would be removed0interests",
      "Would stay1,260as listed",
      "Repeated6of 2,500 lines",
      "Subscribers17and 2 new",
    ]);
    now = row();
    await press("Import now");
    expect(await dialog.findByText("Imported: the model is v43.")).toBeInTheDocument();
    const [check, real] = uploads(asked);
    expect([check?.body, real?.body]).toEqual([TEXT, TEXT]);
    expect(Object.fromEntries(check?.query ?? [])).toEqual({
      ...{ system: SYSTEM, mode: "add", dry_run: "true" },
      ...{ create_missing: "subscribers", reason: "CHG-7" },
    });
    expect(real?.query.get("dry_run")).toBe("false");
    expect(real?.headers.get("Content-Type")).toBe("text/csv");
    const given = [check, real].map((one) => one?.headers.get("Idempotency-Key"));
    expect(given[0]).toBeTruthy();
    expect(given[0]).not.toBe(given[1]);
  });

  it("shows errors by line, copies and saves them, and asks for the corrected file", async () => {
    const errors = Array.from({ length: 100 }, (_, index) => ({
      line: index + 2,
      field: index === 0 ? "" : "topic",
      message: index === 0 ? "Two cells too many." : `There is no topic "t${index}".`,
    }));
    const refused = row({ state: "refused", dry_run: true, error_count: 4567, errors });
    const { dialog, choose, press, user } = await opened({
      [UPLOAD]: { status: 202, body: refused },
      [ONE]: ok(refused),
    });
    const copied = vi.spyOn(navigator.clipboard, "writeText");
    await user.click(dialog.getByRole("radio", { name: /^Remove/ }));
    expect(dialog.queryByLabelText(/Create missing/)).toBeNull();
    await choose();
    await press("Import");
    const table = within(await dialog.findByRole("table", { name: "Errors by line" }));
    expect(table.getAllByRole("row")).toHaveLength(101);
    expect(table.getByRole("row", { name: /^2 line Two cells too many\.$/ })).toBeInTheDocument();
    expect(table.getByRole("row", { name: '3 topic There is no topic "t1".' })).toBeInTheDocument();
    expect(dialog.getByText("First 100 of 4,567 errors")).toBeInTheDocument();
    expect(dialog.getByRole("alert")).toHaveTextContent("4,567 errors: nothing was changed.");
    await press("Copy errors");
    const text = copied.mock.lastCall?.[0] ?? "";
    expect(text).toContain('line,field,message\r\n2,,Two cells too many.\r\n3,topic,"There is no');
    expect(text.trim().split("\r\n")).toHaveLength(101);
    expect(dialog.queryByRole("button", { name: "Import now" })).toBeNull();
    await press("Choose the corrected file");
    // What was chosen beside the file stays.
    expect(dialog.getByRole("radio", { name: /^Remove/ })).toBeChecked();
    expect(dialog.getByText("or drop it here.")).toBeInTheDocument();
  });

  it("refuses at the file what no server need be asked about", async () => {
    const { asked, dialog, choose, press } = await opened();
    const file = () => dialog.getByLabelText("Choose CSV file");
    expect(dialog.getByText(/at most 128 MiB and 5,000,000 lines/)).toBeInTheDocument();
    await press("Check first");
    expect(file()).toHaveAccessibleDescription("Choose a CSV file.");
    expect(file()).toBeInvalid();
    await choose(csv("", "empty.csv"));
    await press("Import");
    expect(file()).toHaveAccessibleDescription("empty.csv is empty.");
    await choose(sized(128 * 2 ** 20 + 1));
    await press("Check first");
    expect(file()).toHaveAccessibleDescription(/one import takes 128 MiB\. Split the file\.$/);
    expect(uploads(asked)).toEqual([]);
  });

  it.each([
    ["rows", "These are 5,000,002 lines.", "Choose CSV file"],
    ["", "The file is empty; send a CSV or JSON.", "Choose CSV file"],
    ["reason", "At most 500 characters.", "Reasonoptional"],
    ["create_missing", "Only `subscribers` can.", null],
    ["system", "The system is not there any more.", null],
  ])("shows a refusal of %j where it belongs", async (field, message, label) => {
    const { dialog, choose, press } = await opened({
      [UPLOAD]: problem(400, "invalid", message, [{ field, message }]),
    });
    await choose();
    await press("Check first");
    expect(await dialog.findByText(message)).toBeInTheDocument();
    if (label) expect(dialog.getByLabelText(label)).toHaveAccessibleDescription(RegExp(message));
    // The file need not be chosen again.
    expect(label === "Choose CSV file" || dialog.getByText("mine.csv, 27 bytes")).toBeTruthy();
  });

  it("says at the file that it is too large, and at the head who may not", async () => {
    let refusal = problem(413, "body_too_large", "A request has at most 128 MiB.");
    const { dialog, choose, press } = await opened({ [UPLOAD]: () => refusal });
    await choose();
    await press("Check first");
    await waitFor(() =>
      expect(dialog.getByLabelText("Choose CSV file")).toHaveAccessibleDescription(
        "mine.csv: A request has at most 128 MiB.",
      ),
    );
    refusal = problem(403, "forbidden", "You may not edit models.");
    await press("Check first");
    expect(await dialog.findByRole("alert")).toHaveTextContent("You may not edit models.");
  });

  it("shows bytes of bytes while it sends, stays open, and can be broken off", async () => {
    const asked: Asked[] = [];
    const view = await opened({
      [UPLOAD]: (one) => {
        asked.push(one);
        return new Promise(() => undefined);
      },
    });
    const { dialog, choose, press, user } = view;
    await choose(csv("subscriber,topic\n" + "u1,topic\n".repeat(400_000)));
    await press("Import");
    expect(await dialog.findByText("0.0 of 3.4 MiB")).toBeInTheDocument();
    await waitFor(() => expect(asked).toHaveLength(1));
    act(() => asked[0]?.sent?.(2 ** 20));
    expect(dialog.getByText("1.0 of 3.4 MiB")).toBeInTheDocument();
    expect(dialog.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "29");
    await user.keyboard("{Escape}");
    expect(dialog.getByText("Cancel the upload to close this.")).toBeInTheDocument();
    await press("Cancel upload");
    expect(await dialog.findByText(/The upload is cancelled/)).toBeInTheDocument();
    expect(dialog.getByText("mine.csv, 3.4 MiB")).toBeInTheDocument();
    await user.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("offers no break-off once all is sent: the import may have begun", async () => {
    const asked: Asked[] = [];
    const { dialog, choose, press } = await opened({
      [UPLOAD]: (one) => {
        asked.push(one);
        return new Promise(() => undefined);
      },
    });
    await choose();
    await press("Import");
    await waitFor(() => expect(asked).toHaveLength(1));
    act(() => asked[0]?.sent?.(27));
    expect(dialog.getByText("All is sent; the server stores it")).toBeInTheDocument();
    expect(dialog.getByRole("button", { name: "Cancel upload" })).toBeDisabled();
  });

  it("sends the same key again after a broken connection, so that nothing starts twice", async () => {
    let broken = true;
    const { asked, dialog, choose, press, user } = await opened({
      [UPLOAD]: () => {
        if (broken) throw new Error("away");
        return { status: 202, body: row() };
      },
      [ONE]: ok(row()),
    });
    await choose();
    await press("Import");
    expect(await dialog.findByText(/The server cannot be reached/)).toBeInTheDocument();
    await press("Import");
    expect(await dialog.findByText(/The server cannot be reached/)).toBeInTheDocument();
    await user.click(dialog.getByRole("radio", { name: /^Replace/ }));
    broken = false;
    await press("Import");
    await dialog.findByText("Imported: the model is v43.");
    const given = uploads(asked).map((one) => one.headers.get("Idempotency-Key"));
    expect(given[0]).toBe(given[1]);
    expect(given[2]).not.toBe(given[1]);
  });

  it("asks for a file again that was saved since it was chosen", async () => {
    const { asked, dialog, choose, press } = await opened();
    const file = csv();
    await choose(file);
    file.slice = () =>
      ({ arrayBuffer: () => Promise.reject(new DOMException("", "NotReadableError")) }) as Blob;
    await press("Import");
    expect(await dialog.findByText(/mine.csv has changed since it was chosen/)).toBeInTheDocument();
    expect(uploads(asked)).toEqual([]);
  });

  it("cancels the import that it follows, and keeps the file", async () => {
    let now = running();
    const { asked, dialog, choose, press } = await opened({
      [UPLOAD]: { status: 202, body: now },
      [ONE]: () => ok(now),
      [CANCEL]: () => {
        now = row({ state: "cancelled", added: 0 });
        return { status: 202, body: running({ cancel_requested: true, allowed_commands: [] }) };
      },
    });
    await choose();
    await press("Import");
    await press("Cancel import");
    expect(await dialog.findByText("Cancelled: nothing was changed.")).toBeInTheDocument();
    expect(uploads(asked).map((one) => one.path)).toContain(CANCEL.split(" ")[1]);
    expect(dialog.queryByRole("button", { name: "Cancel import" })).toBeNull();
    await press("Back");
    expect(dialog.getByText("mine.csv, 27 bytes")).toBeInTheDocument();
  });

  it("imports nothing now where nothing differs, and says why one failed", async () => {
    let now = row({ dry_run: true, added: 0, subscribers_created: 0, model_version: null });
    const { dialog, choose, press } = await opened({
      [UPLOAD]: () => ({ status: 202, body: now }),
      [ONE]: () => ok(now),
    });
    await choose();
    await press("Check first");
    expect(await dialog.findByText(/the system is as the file says/)).toBeInTheDocument();
    expect(dialog.getByRole("button", { name: "Import now" })).toBeDisabled();
    await press("Back");
    now = row({ state: "failed", failure: "The worker stopped answering. Given up." });
    await press("Import");
    expect(await dialog.findByRole("alert")).toHaveTextContent("The worker stopped answering.");
  });

  it("is worked by the keyboard alone", async () => {
    const { user, dialog } = await opened({
      [UPLOAD]: { status: 202, body: row({ dry_run: true }) },
      [ONE]: ok(row({ dry_run: true })),
    });
    const file = dialog.getByLabelText("Choose CSV file");
    await waitFor(() => expect(file).toHaveFocus());
    await user.upload(file, csv());
    await user.tab();
    expect(dialog.getByRole("radio", { name: /^Add/ })).toHaveFocus();
    await user.keyboard("{ArrowDown}{ArrowDown}");
    expect(dialog.getByRole("radio", { name: /^Replace/ })).toBeChecked();
    await user.tab();
    await user.tab();
    await user.keyboard("weekly{Enter}");
    // The step that comes has the focus, not what is behind the dialog.
    await waitFor(() => expect(dialog.getByRole("heading", { name: "mine.csv" })).toHaveFocus());
  });
});

describe("the panel above subscribers", () => {
  it("is for everybody, but the import for those who may edit", async () => {
    serve({ ...base, [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })) });
    onSubscribers("?import=interests");
    const link = await screen.findByRole("link", { name: "Export interests" });
    expect(link).toHaveAttribute("href", `/api/v1/interests/export?system=${SYSTEM}`);
    expect(await screen.findByText(/Nothing was imported yet/)).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Import interests" })).toBeNull();
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("shows an import that goes on to whoever comes back, beside the latest", async () => {
    const latest = row({ id: "l", name: "I-9", dry_run: true });
    serve({
      ...base,
      [LIST]: (one) => ok(page(one.query.has("state") ? [running()] : [latest])),
    });
    onSubscribers();
    const list = within(await screen.findByRole("list", { name: "Latest imports of interests" }));
    expect(list.getAllByRole("listitem")).toHaveLength(2);
    expect(list.getByRole("progressbar", { name: "Progress of I-3" })).toBeInTheDocument();
    expect(list.getByRole("link", { name: "I-3" })).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/subscribers/imports/${ID}`,
    );
  });

  it("is not above other kinds, and is opened by its address", async () => {
    serve({ ...base, "GET /api/v1/groups": ok(page([])) });
    const { unmount } = renderPage(
      <KindPage />,
      "/systems/:systemId/:kind",
      `/systems/${SYSTEM}/groups`,
    );
    await screen.findAllByRole("button", { name: "New group" });
    expect(screen.queryByRole("link", { name: "Export interests" })).toBeNull();
    unmount();
    const { user, router } = onSubscribers("?q=u1&import=interests");
    await screen.findByRole("dialog", { name: "Import interests" });
    await user.keyboard("{Escape}");
    await waitFor(() => expect(router.state.location.search).toBe("?q=u1"));
  });
});

const PAGE = "/systems/:systemId/subscribers/imports";

describe("the list of imports", () => {
  const open = () =>
    renderPage(<InterestImportsPage />, PAGE, `/systems/${SYSTEM}/subscribers/imports`);

  it("shows what each did, in figures with their units, newest first", async () => {
    const asked = serve({
      ...base,
      [LIST]: ok(
        page([
          running({ id: "4", name: "I-4", mode: "replace", size_bytes: 800 }),
          row(),
          row({ id: "2", name: "I-2", state: "refused", dry_run: true, error_count: 12 }),
        ]),
      ),
    });
    const { user } = open();
    const table = within(await screen.findByRole("table", { name: "Imports" }));
    const [four, three, two] = table.getAllByRole("row").slice(1);
    expect(four).toHaveTextContent(/I-4\s*Running\s*read, 25 %\s*Replace\s*800 bytes\s*–\s*–\s*–/);
    expect(three).toHaveTextContent(/Succeeded\s*Add\s*3\.0 MiB\s*2,500\s*1,234\s*0\s*1,260/);
    expect(three).toHaveTextContent(/Ines Moreau\s*42\s*s/);
    expect(two).toHaveTextContent(/Refused\s*12 wrong\s*Add, check only/);
    await user.selectOptions(screen.getByLabelText("State"), "Refused");
    await waitFor(() => expect(asked.at(-1)?.query.getAll("state")).toEqual(["refused"]));
  });

  it("follows the news, and cancels one after asking", async () => {
    let now = running();
    const asked = serve({
      ...base,
      [LIST]: () => ok(page([now])),
      [CANCEL]: () => {
        now = running({ cancel_requested: true, allowed_commands: [] });
        return { status: 202, body: now };
      },
    });
    const { user, queries } = open();
    expect(await screen.findByText("read, 25 %")).toBeInTheDocument();
    now = running({ phase: "write", done: 30, total: 40 });
    act(() => hear(queries, { kind: "interest_import", id: ID, system: SYSTEM }));
    expect(await screen.findByText("write, 75 %")).toHaveAttribute("title", "30 of 40 interests");
    await user.click(screen.getByRole("button", { name: "Cancel I-3" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Cancel import I-3" }));
    expect(uploads(asked)).toEqual([]);
    await user.click(dialog.getByRole("button", { name: "Cancel import" }));
    await waitFor(() => expect(screen.queryByRole("button", { name: "Cancel I-3" })).toBeNull());
    expect(uploads(asked)).toHaveLength(1);
  });

  it("says what belongs there, and what could not be loaded", async () => {
    serve(base);
    const { unmount } = open();
    expect(await screen.findByText(/This system has none yet/)).toBeInTheDocument();
    expect(screen.getAllByRole("link", { name: "Import interests" })[0]).toHaveAttribute(
      "href",
      `/systems/${SYSTEM}/subscribers?import=interests`,
    );
    unmount();
    serve({ ...base, [LIST]: problem(503, "busy", "The database is away.") });
    open();
    expect(await screen.findByRole("alert")).toHaveTextContent("The database is away.");
  });
});

describe("one import", () => {
  const open = () =>
    renderPage(
      <InterestImportPage />,
      `${PAGE}/:id`,
      `/systems/${SYSTEM}/subscribers/imports/${ID}`,
    );

  it("goes on before one's eyes until it has ended", async () => {
    let now = running({ phase: "compare", done: 0, total: 0 });
    serve({ ...base, [ONE]: () => ok(now) });
    const { queries } = open();
    const progress = await screen.findByRole("progressbar", { name: "Progress of I-3" });
    // Nobody knows how far it is.
    expect(progress).not.toHaveAttribute("aria-valuenow");
    expect(progress).toHaveAttribute("aria-valuetext", "Comparing with what is there, step 3 of 4");
    expect(screen.getByRole("button", { name: "Cancel import" })).toBeInTheDocument();
    now = row();
    act(() => hear(queries, { kind: "interest_import", id: ID, system: SYSTEM }));
    expect(await screen.findByText("Imported: the model is v43.")).toBeInTheDocument();
    expect(figures()[0]).toBe("Added1,234interests");
    expect(screen.queryByRole("button", { name: "Cancel import" })).toBeNull();
    expect(screen.getByRole("link", { name: "Import interests" })).toBeInTheDocument();
  });

  it("says that it is being cancelled, and asks somebody who may not edit for nothing", async () => {
    serve({
      ...base,
      [`GET /api/v1/systems/${SYSTEM}`]: ok(system({ allowed_commands: [] })),
      [ONE]: ok(running({ cancel_requested: true, allowed_commands: [] })),
    });
    open();
    expect(await screen.findByText("Cancelling")).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Cancel import" })).toBeNull();
    expect(screen.queryByRole("link", { name: "Import interests" })).toBeNull();
  });

  it("that is not there says so", async () => {
    serve({ ...base, [ONE]: problem(404, "not_found", "There is no such import.") });
    open();
    expect(await screen.findByRole("alert")).toHaveTextContent("This import could not be loaded.");
  });
});
