/** How the verdict on an executed plan is shown. The server decides it, with the evidence. */
import type { IconName } from "./icons";
import type { Tone } from "./state-badge";

import type { Outcome } from "@/api/plans";

export const VERDICTS: Record<Outcome["judged"], { word: string; tone: Tone; icon: IconName }> = {
  helped: { word: "Helped", tone: "good", icon: "check" },
  kept: { word: "As promised", tone: "good", icon: "check" },
  partly: { word: "In part", tone: "warn", icon: "alert" },
  missed: { word: "Missed", tone: "warn", icon: "x" },
  too_early: { word: "Too early", tone: "idle", icon: "clock" },
  unknown: { word: "Cannot be told", tone: "idle", icon: "info" },
};

/** What a plan was for: utility, or where it moves links what then crosses them. */
export const aimOf = (outcome: Pick<Outcome, "promise">) =>
  ["utility", "traffic on links"].flatMap(
    (name) => outcome.promise.find((promised) => promised.name === name) ?? [],
  )[0] ?? null;

/** How many executed plans have a verdict, and how many of these did what they promised. */
export function tally(outcomes: readonly Outcome[]): { judged: number; kept: number } {
  const having = (...verdicts: Outcome["judged"][]) =>
    outcomes.filter((outcome) => verdicts.includes(outcome.judged)).length;
  const kept = having("helped", "kept");
  return { judged: kept + having("partly", "missed"), kept };
}
