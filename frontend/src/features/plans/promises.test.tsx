import { screen, waitFor, within } from "@testing-library/react";

import { OutcomePanel } from "./outcome-panel";
import { figureText } from "./parts";
import PromisesPage from "./promises-page";

import { outcome, outcomeDetail, outcomes, PLAN } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";
import { page, session, system } from "@/testing/samples";
import { ok, problem, serve } from "@/testing/server";

const LIST = "GET /api/v1/plans/outcomes";
const others = {
  "GET /api/v1/session": ok(session()),
  "GET /api/v1/systems": ok(page([system()])),
};
const open = (address = "/promises") => renderPage(<PromisesPage />, "/promises", address);

const helped = outcome({
  judged: "helped",
  promise: [{ name: "utility", unit: "", before: 100, after: 110 }],
  because: "3 parts of the promise kept.",
  measured_before: 100,
  measured_after: 109,
  parts_kept: 3,
});

describe("the record of promises", () => {
  it("says how many were kept against the service level, and each plan's evidence", async () => {
    serve({ ...others, [LIST]: ok(outcomes([helped])) });
    open();
    expect(await screen.findByText("90.0 %")).toBeInTheDocument();
    expect(screen.getByText("9 of 10 plans")).toBeInTheDocument();
    expect(screen.getByText("Not met")).toBeInTheDocument();
    expect(screen.getByText("of 10; 0 may be")).toBeInTheDocument();
    const table = within(screen.getByRole("table", { name: "Executed plans" }));
    expect(table.getByText("Helped")).toBeInTheDocument();
    expect(table.getByText("+10.0 %")).toBeInTheDocument();
    expect(table.getByText("+9.00 %")).toBeInTheDocument();
    expect(table.getByText("3 of 3")).toBeInTheDocument();
    expect(table.getByText("3 parts of the promise kept.")).toBeInTheDocument();
  });

  it("claims nothing where nothing can be told", async () => {
    const record = { executed: 1, decided: 0, kept: 0, share: null, is_met: null };
    serve({ ...others, [LIST]: ok(outcomes([outcome()], record)) });
    open();
    expect(await screen.findByText("no plan has a verdict yet")).toBeInTheDocument();
    expect(screen.getByText("not known yet")).toBeInTheDocument();
    expect(screen.queryByText("Met")).toBeNull();
  });

  it("asks for a system, a verdict and a time that stand in the address", async () => {
    const requests = serve({ ...others, [LIST]: ok(outcomes([])) });
    const { user } = open(`/promises?system=${system().id}&days=90`);
    await user.selectOptions(await screen.findByLabelText("Verdict"), "Missed");
    await waitFor(() => {
      const query = requests.findLast(({ path }) => path.endsWith("/outcomes"))?.query;
      expect(query?.toString()).toBe(`days=90&system=${system().id}&judged=missed`);
    });
    await user.click(await screen.findByRole("button", { name: "Show all" }));
    await waitFor(() =>
      expect(requests.findLast(({ path }) => path.endsWith("/outcomes"))?.query.toString()).toBe(
        "days=30",
      ),
    );
    expect(screen.getByText(/No plan was executed in this time/)).toBeInTheDocument();
  });
});

describe("what came of a plan", () => {
  const show = () => renderPage(<OutcomePanel plan={{ id: PLAN }} />, "/", "/");
  const ONE = `GET /api/v1/plans/${PLAN}/outcome`;

  it("shows every part in its unit, missed ones first", async () => {
    serve({ ...others, [ONE]: ok(outcomeDetail()) });
    show();
    const table = await screen.findByRole("table", { name: "Parts of the promise" });
    const { parts } = outcomeDetail();
    const because = Object.fromEntries(parts.map((part) => [part.quantity, part.because]));
    const rows = within(table)
      .getAllByRole("row")
      .slice(1)
      .map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
    expect(rows.map((row) => row.slice(0, 5))).toEqual([
      ["Missed", `Rate orders ny-1${because.rate}`, "40.00 msg/s", "12.00 msg/s", "30.00 msg/s"],
      [
        "Cannot be told",
        `Delay orders p99, swift${because.delay}`,
        "\u2264 250 ms",
        "\u2013",
        "\u2013",
      ],
      ["Kept", `Consumers desks ny-2${because.consumers}`, "no limit", "30", "40"],
      ["Kept", `Load ny-2 ${because.load}`, "\u2264 91.2 %", "40.0 %", "87.0 %"],
    ]);
    expect(screen.getByText("2 of 4 parts kept")).toBeInTheDocument();
    expect(screen.getByText(/the others wait at the gate/)).toBeInTheDocument();
  });

  it("says until when it is too early", async () => {
    const because = "Too early to tell: what comes after it is measured until 14:07 UTC.";
    serve({ ...others, [ONE]: ok(outcomeDetail({ judged: "too_early", because, parts: [] })) });
    show();
    expect(await screen.findByText(because)).toBeInTheDocument();
    expect(screen.queryByRole("table")).toBeNull();
  });

  it("says what failed", async () => {
    serve({ ...others, [ONE]: problem(500, "broken", "No answer.") });
    show();
    expect(await screen.findByText(/No answer/)).toBeInTheDocument();
  });
});

it.each([
  [0.0599, "59.9 ms"],
  [1, "1.00 s"],
  [147.8, "148 s"],
])("writes a delay of %d s as %s", (value, text) => {
  const delay = outcomeDetail().parts.find(({ quantity }) => quantity === "delay");
  expect(delay && figureText(delay, value)).toBe(text);
});

it.each([
  ["traffic", 1234.5, "1,235 msg/s"],
  ["filtering", 181_709, "181,709 work/s"],
  ["wait", 0.0125, "12.5 ms"],
] as const)("writes %s of %d as %s", (quantity, value, text) => {
  const [part] = outcomeDetail().parts;
  expect(part && figureText({ ...part, quantity }, value)).toBe(text);
});
