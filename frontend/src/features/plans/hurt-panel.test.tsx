/** What a plan says first: who is hurt. */
import { screen, within } from "@testing-library/react";

import { HurtPanel } from "./hurt-panel";

import type { PlanDetail } from "@/api/plans";
import { to } from "@/lib/kinds";
import { planDetail } from "@/testing/plan-samples";
import { renderPage } from "@/testing/render";

const show = (change: Partial<PlanDetail>) =>
  renderPage(<HurtPanel plan={planDetail(change)} />, "/", "/");

const customs = {
  topic: "customs",
  topic_id: "88888888-8888-4888-8888-888888888888",
  broker: "b4",
  reliable: true,
  offered_per_s: 160,
  gate_per_s: 40,
  excess_per_s: 120,
  waiting: 287,
  full_in_s: 830,
  why: "",
  alarm: true,
  sentence: "customs: 120 msg/s more arrive than leave; full in 14 minutes (100,000 messages).",
};
const radar = {
  ...customs,
  topic: "radar",
  reliable: false,
  full_in_s: null,
  alarm: false,
  sentence: "radar: 60 of 100 msg/s will be discarded.",
};

describe("topics that get more than the plan lets pass", () => {
  it("are named with when they are full, as an alarm where that is soon", () => {
    show({ waits: { topics: [customs, radar], unmeasured: [] } });
    const alarm = within(screen.getByRole("alert"));
    expect(alarm.getAllByRole("listitem").map((row) => row.textContent)).toEqual([
      customs.sentence,
      radar.sentence,
    ]);
    expect(alarm.getByRole("link", { name: "customs" })).toHaveAttribute(
      "href",
      to.object(planDetail().system, "topics", customs.topic_id),
    );
  });

  it("are no alarm where nothing is full soon", () => {
    show({ waits: { topics: [radar], unmeasured: [] } });
    expect(screen.getByText(/will be discarded/)).toBeInTheDocument();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("are not guessed where nobody measures", () => {
    show({ waits: { topics: [], unmeasured: ["customs", "radar"] } });
    expect(screen.getByText(/what publishers send of customs, radar/)).toBeInTheDocument();
  });
});

type Hurt = NonNullable<PlanDetail["hurt"]>;
type ClassHurt = Hurt["classes"][number];

const gulls: ClassHurt = {
  name: "gulls",
  broker: "c",
  connected: 36,
  waiting: 0,
  served_before: true,
  limit_before: null,
  served_after: true,
  limit_after: 10,
  disconnected: 26,
  let_in: 0,
};
const hurt = (
  classes: ClassHurt[],
  sentence = "26 of 111 connected consumers will be disconnected.",
): Hurt => ({
  sentence,
  connected: 111,
  disconnected: 26,
  classes,
  unmeasured: [],
});
/** The texts of the rows below the head. */
const rowsShown = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((row) =>
      within(row)
        .getAllByRole("cell")
        .map((cell) => cell.textContent),
    );

describe("connected consumers", () => {
  it("come first: how many of how many, and of which classes", () => {
    show({ hurt: hurt([gulls, { ...gulls, name: "terns", disconnected: 0 }]) });
    expect(
      screen.getByText("26 of 111 connected consumers will be disconnected."),
    ).toBeInTheDocument();
    expect(rowsShown()).toEqual([["gulls c", "26", "36", "no limit", "10"]]);
  });

  it("had no limit only where their class was served", () => {
    const stopped = { ...gulls, served_after: false, limit_after: null, limit_before: 40 };
    show({ hurt: hurt([stopped, { ...gulls, name: "terns", served_before: false }]) });
    expect(rowsShown().map((row) => row.slice(3))).toEqual([
      ["40", "not served"],
      ["not served", "10"],
    ]);
  });

  it("are not counted where nobody measures", () => {
    const unknown = { ...gulls, connected: null, disconnected: null };
    show({ hurt: hurt([unknown], "Whether consumers will be disconnected cannot be told.") });
    expect(rowsShown().map((row) => row.slice(1, 3))).toEqual([["cannot be told", "–"]]);
  });

  it("are let in where they wait and find a place", () => {
    show({ hurt: hurt([{ ...gulls, disconnected: 0, let_in: 12 }]) });
    expect(screen.getByText("12 consumers that now wait will be let in.")).toBeInTheDocument();
    expect(screen.queryByRole("table")).toBeNull();
  });

  it("are not spoken of once the plan has begun", () => {
    show({ hurt: null, waits: null });
    expect(screen.queryByText("Who is hurt")).toBeNull();
  });
});
