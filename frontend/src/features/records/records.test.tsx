import { screen, waitFor, within } from "@testing-library/react";

import RecordsPage from "./records-page";
import { readSetting, SETTINGS, type SettingName } from "./settings";
import { nameText, senderText, replayedText, spanText } from "./words";

import type { RecordBatch, RecordCounts, RecordSettings, SetAside } from "@/api/records";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, problem, serve, type Asked } from "@/testing/server";

const S = system().id;
const BATCH = "0b8f6f5e-0000-4000-8000-000000000001";
const TIME = "2026-03-18T14:00:00Z";
const LATE = "at_s: late, more than 86,400 s before it arrived";
const REPLAY = "POST /api/v1/set-aside-records/replay";

const counts = (change: Partial<RecordCounts> = {}): RecordCounts => ({
  tables: [
    {
      table: "messages",
      batches: 12,
      rows: 120_000,
      accepted: 118_793,
      repeats: 2,
      latest: TIME,
      to_roll_up: 3,
    },
    {
      table: "samples",
      batches: 1,
      rows: 40,
      accepted: 40,
      repeats: 0,
      latest: TIME,
      to_roll_up: 0,
    },
  ],
  waiting: [
    { table: "messages", problem: LATE, rows: 1207, latest: TIME },
    { table: "messages", problem: "topic: missing", rows: 1, latest: TIME },
  ],
  allowed_commands: ["replay", "discard"],
  ...change,
});

const batch = (change: Partial<RecordBatch> = {}): RecordBatch => ({
  id: BATCH,
  system: S,
  system_name: "Base workload",
  table: "messages",
  name: "collector-7",
  sha256: "9b1f".repeat(16),
  media_type: "application/x-ndjson",
  size_bytes: 1_572_864,
  rows: 10_000,
  accepted: 8793,
  waiting: 1207,
  taken_later: 0,
  discarded: 0,
  since_s: Date.UTC(2020, 2, 17, 13, 2) / 1000,
  until_s: Date.UTC(2020, 2, 17, 14, 5) / 1000,
  repeats: 0,
  repeated_at: null,
  sent_by: "Ines Moreau",
  replay_of: null,
  replay_of_name: null,
  created_at: TIME,
  rolled_up_at: null,
  ...change,
});

const aside = (change: Partial<SetAside> = {}): SetAside => ({
  batch: BATCH,
  batch_name: "collector-7",
  table: "messages",
  row: 17,
  problem: LATE,
  content: '{"at_s":1,"topic":"trades.eu","publisher":"feed-1"}',
  is_cut: false,
  is_whole: true,
  arrived_at: TIME,
  state: "waiting",
  ended_at: null,
  ended_by: null,
  taken_in: null,
  taken_in_name: null,
  ...change,
});

const settings: RecordSettings = {
  id: "set-1",
  system: S,
  system_name: "Base workload",
  late_after_s: 86_400,
  keep_records_days: 30,
  keep_sums_days: 400,
  version: 3,
  updated_at: TIME,
  allowed_commands: ["edit"],
};

const answers = (known: RecordCounts = counts(), rows: SetAside[] = [aside()]) => ({
  "GET /api/v1/session": ok(session()),
  [`GET /api/v1/systems/${S}`]: ok(system()),
  "GET /api/v1/systems": ok(page([system()])),
  "GET /api/v1/record-counts": ok(known),
  "GET /api/v1/set-aside-records": ok(page(rows)),
  "GET /api/v1/record-batches": ok(page([batch()])),
  "GET /api/v1/record-settings": ok(page([settings])),
});

const open = (search = "") =>
  renderPage(<RecordsPage />, "/systems/:systemId/records", `/systems/${S}/records${search}`);

const sent = (asked: readonly Asked[], method: string) =>
  asked.find((one) => one.method === method);

const rowWith = async (table: string, text: string) => {
  const found = await within(await screen.findByRole("table", { name: table })).findByText(text);
  return within(found.closest("tr") ?? document.body);
};

it("counts rows by table, and says which batches are not in the sums", async () => {
  serve(answers());
  open();
  const messages = await rowWith("What arrived", "Messages");
  expect(messages.getByText("118,793")).toBeInTheDocument();
  expect(messages.getByText("120,000")).toBeInTheDocument();
  expect(messages.getByText("3 batches not in the sums yet")).toBeInTheDocument();
  expect(screen.getByText("1,208 rows wait for a decision")).toBeInTheDocument();
});

it("takes rows after all, and says what became of them", async () => {
  const asked = serve({ ...answers(), [REPLAY]: ok({ taken: 1204, set_aside: 3, left: 12 }) });
  const { user } = open();
  const late = await rowWith("Set aside", LATE);
  await user.click(late.getByRole("button", { name: "Take after all" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(
    dialog.getByText(/1,207 rows are checked again, and those that fit now count, however old/),
  ).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "collector was away");
  await user.click(dialog.getByRole("button", { name: "Take after all" }));
  expect(
    await screen.findByText(
      "1,204 taken, 3 still do not fit. 12 more rows wait: give the command again.",
    ),
  ).toBeInTheDocument();
  expect(sent(asked, "POST")?.body).toEqual({
    system: S,
    table: "messages",
    problem: LATE,
    reason: "collector was away",
  });
  expect(asked.filter((one) => one.path === "/api/v1/record-counts").length).toBeGreaterThan(1);
});

it("discards rows once it is confirmed, and shows why it could not", async () => {
  const asked = serve({
    ...answers(),
    "POST /api/v1/set-aside-records/discard": problem(
      409,
      "nothing_waits",
      "None of these rows waits any more; look at them again.",
    ),
  });
  const { user } = open();
  const missing = await rowWith("Set aside", "topic: missing");
  await user.click(missing.getByRole("button", { name: "Discard" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText("never count")).toBeInTheDocument();
  expect(sent(asked, "POST")).toBeUndefined();
  await user.click(dialog.getByRole("button", { name: "Discard" }));
  expect(await dialog.findByText(/None of these rows waits any more/)).toBeInTheDocument();
  expect(sent(asked, "POST")?.body).toMatchObject({ table: "messages", problem: "topic: missing" });
});

it("offers no command to whoever may not give it", async () => {
  serve(answers(counts({ allowed_commands: [] })));
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: LATE }));
  expect(await screen.findByText("Row 17")).toBeInTheDocument();
  for (const name of ["Take after all", "Discard", "Amend"]) {
    expect(screen.queryByRole("button", { name })).toBeNull();
  }
});

it("amends a row, and shows what is wrong with it now until it fits", async () => {
  let tries = 0;
  const asked = serve({
    ...answers(),
    [REPLAY]: () => {
      tries += 1;
      const { batch: id, batch_name, row } = aside();
      const amended = [{ batch: id, batch_name, row, problem: "bytes: below 0" }];
      return ok({
        ...{ taken: tries - 1, set_aside: 2 - tries, left: 0 },
        amended: amended.slice(tries - 1),
      });
    },
  });
  const { user } = open();
  await user.click(await screen.findByRole("button", { name: LATE }));
  await user.click(await screen.findByRole("button", { name: "Amend" }));
  const dialog = within(await screen.findByRole("dialog"));
  const content = dialog.getByLabelText("Content");
  expect(content).toHaveValue(aside().content);
  await user.clear(content);
  await user.click(dialog.getByRole("button", { name: "Amend" }));
  expect(content).toHaveAccessibleDescription(/Give the whole row as one JSON object/);
  await user.click(content);
  await user.paste('{"at_s":2,"bytes":-1}');
  await user.click(dialog.getByRole("button", { name: "Amend" }));
  expect(await dialog.findByText("bytes: below 0")).toBeInTheDocument();
  expect(sent(asked, "POST")?.body).toEqual({
    system: S,
    batch: BATCH,
    rows: [17],
    amended: [{ row: 17, content: '{"at_s":2,"bytes":-1}' }],
    reason: "",
  });
  await user.click(dialog.getByRole("button", { name: "Amend" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(screen.getByText("1 taken")).toBeInTheDocument();
});

it("does not amend what it cannot show as a whole", async () => {
  serve(answers(counts(), [aside({ is_cut: true })]));
  open(`?aside=${encodeURIComponent(`messages: ${LATE}`)}`);
  expect(await screen.findByText(/cannot be amended here/)).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Amend" })).toBeNull();
});

it("says of a row that is not whole that it fits only in other words", async () => {
  serve(answers(counts(), [aside({ is_whole: false })]));
  open(`?aside=${encodeURIComponent(`messages: ${LATE}`)}`);
  expect(await screen.findByText(/fits only in other words/)).toBeInTheDocument();
  expect(screen.getByRole("button", { name: "Amend" })).toBeInTheDocument();
});

it("filters batches by table and by whether rows of them wait", async () => {
  const asked = serve(answers());
  const { user } = open();
  const row = await rowWith("Batches", "collector-7");
  expect(row.getByText("1.5 MiB")).toBeInTheDocument();
  expect(row.getByText("1,207")).toBeInTheDocument();
  await user.selectOptions(screen.getByLabelText("Table"), "messages");
  await user.click(screen.getByRole("button", { name: "With rows that wait" }));
  const queries = () => asked.filter((one) => one.path === "/api/v1/record-batches");
  await waitFor(() => expect(queries().at(-1)?.query.get("waiting")).toBe("true"));
  expect(queries().at(-1)?.query.get("table")).toBe("messages");
});

it("says how the first records are sent", async () => {
  serve(answers(counts({ tables: [], waiting: [] })));
  open();
  expect(await screen.findByText(/No records have arrived yet/)).toBeInTheDocument();
  expect(
    screen.getByText(new RegExp(`record-batches\\?system=${S}&table=messages`)),
  ).toBeInTheDocument();
  const metrics = screen.getByText(/remote_write:/);
  expect(metrics).toHaveTextContent(`/record-batches/prometheus?system=${S}`);
  expect(metrics).toHaveTextContent(`/record-batches/otlp/v1/metrics?system=${S}`);
  expect(screen.queryByRole("table")).toBeNull();
  expect(await screen.findByLabelText("Records are kept for")).toHaveValue("30");
});

it("says what failed to load", async () => {
  serve({ ...answers(), "GET /api/v1/record-counts": problem(500, "server_error", "It broke.") });
  open();
  expect(await screen.findByText(/The counts could not be loaded/)).toBeInTheDocument();
});

it("saves what was changed under the version that was seen, and warns of what is deleted", async () => {
  const asked = serve({
    ...answers(),
    "PATCH /api/v1/record-settings/set-1": ok({ ...settings, version: 4 }),
  });
  const { user } = open();
  const late = await screen.findByLabelText("Older records are set aside after");
  expect(late).toHaveValue("24");
  expect(screen.getByRole("button", { name: "Save settings" })).toBeDisabled();
  await user.clear(late);
  await user.type(late, "1.5");
  const days = screen.getByLabelText("Records are kept for");
  await user.clear(days);
  await user.type(days, "7");
  await user.click(screen.getByRole("button", { name: "Save settings" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText("5,400 s")).toBeInTheDocument();
  expect(dialog.getByText(/What is older is deleted/)).toBeInTheDocument();
  await user.type(dialog.getByLabelText(/Reason/), "small disks");
  await user.click(dialog.getByRole("button", { name: "Save settings" }));
  await waitFor(() =>
    expect(sent(asked, "PATCH")?.body).toEqual({
      late_after_s: 5400,
      keep_records_days: 7,
      reason: "small disks",
    }),
  );
  expect(sent(asked, "PATCH")?.headers.get("If-Match")).toBe('"3"');
});

it("refuses at the field what cannot be set", async () => {
  serve(answers());
  const { user } = open();
  const days = await screen.findByLabelText("Records are kept for");
  await user.clear(days);
  await user.type(days, "3661");
  expect(days).toHaveAccessibleDescription(/Give 1 to 3,660 d/);
  expect(screen.getByRole("button", { name: "Save settings" })).toBeDisabled();
});

it.each<[SettingName, string, number | RegExp]>([
  ["late_after_s", "24", 86_400],
  ["late_after_s", "0.000278", 1],
  ["late_after_s", "8,784", 31_622_400],
  ["late_after_s", "8784.001", /^Give 1 s to 8,784 h/],
  ["late_after_s", "0", /^Give 1 s/],
  ["late_after_s", "a day", /^Give a number of hours/],
  ["keep_records_days", "1", 1],
  ["keep_records_days", "0", /^Give 1 to 3,660 d/],
  ["keep_records_days", "1.5", /^Give whole days/],
  ["keep_sums_days", "3660", 3660],
  ["keep_sums_days", "", /^Give a number of days/],
])("reads %s typed as %j", (name, typed, expected) => {
  const setting = SETTINGS.find((one) => one.name === name);
  if (setting === undefined) throw new Error("no such setting");
  const { value, problem: wrong } = readSetting(setting, typed);
  if (typeof expected === "number") expect(value).toBe(expected);
  else expect(wrong).toMatch(expected);
});

it("names batches and what became of rows in few words", () => {
  expect(nameText(batch())).toBe("collector-7");
  expect(nameText(batch({ name: batch().sha256 }))).toBe("9b1f9b1f9b1f");
  const later = {
    name: `weir:replay/${BATCH}/0f`,
    replay_of: BATCH,
    replay_of_name: "collector-7",
  };
  expect(nameText(batch(later))).toBe("rows of collector-7");
  const measured = batch({ name: "weir:agents/2020-03-17T13:02Z", sent_by: null });
  expect([nameText(measured), senderText(measured)]).toEqual(["2020-03-17T13:02Z", "Agents"]);
  expect(senderText(batch())).toBe("Ines Moreau");
  expect(spanText(batch())).toBe("13:02 to 14:05, 17 Mar 2020");
  const since_s = Date.UTC(2020, 2, 16, 23, 0) / 1000;
  expect(spanText(batch({ since_s }))).toBe("23:00, 16 Mar 2020 to 14:05, 17 Mar 2020");
  expect(spanText(batch({ since_s: null, until_s: null }))).toBeNull();
  expect(replayedText({ taken: 1, set_aside: 0, left: 0 })).toBe("1 taken.");
  expect(replayedText({ taken: 0, set_aside: 1, left: 0 })).toBe("0 taken, 1 still does not fit.");
});
