/** Candidates in words and figures: units, gaps, what may be said of each. */
import type { Candidate, Evaluation } from "@/api/evaluations";
import { durationText, fixed, gapPercent, signed } from "@/lib/numbers";

/** Doing nothing goes by what it keeps. */
export const titleOf = (candidate: Pick<Candidate, "kind" | "title">) =>
  candidate.kind === "today" ? "Keep today\u2019s tree" : candidate.title;

export const isToday = (candidate: Pick<Candidate, "kind">) => candidate.kind === "today";

type Scale = { by: number; unit: string; short: string };

/** One message over one link is the unit of every cost; large sums are given in thousands or millions. */
export function messageScale(values: readonly (number | null)[]): Scale {
  const most = Math.max(0, ...values.map((value) => Math.abs(value ?? 0)));
  if (most >= 1e8) return { by: 1e6, unit: "million link messages", short: "M" };
  if (most >= 1e5) return { by: 1e3, unit: "thousand link messages", short: "k" };
  return { by: 1, unit: "link messages", short: "msg" };
}

export const scaled = (value: number | null, { by }: Pick<Scale, "by">, sign = false): string => {
  if (value === null) return fixed(null);
  const amount = value / by;
  const decimals = by > 1 && Math.abs(amount) < 1000 ? 1 : 0;
  return sign ? signed(amount, decimals) : fixed(amount, decimals);
};

/** "24 h", "30 min": how long what is saved counts. */
export function horizonText({ horizon_s }: Pick<Evaluation, "horizon_s">): string {
  const { text, unit } = durationText(horizon_s);
  return `${text} ${unit}`;
}

/** How long a shift pauses its brokers, and who says so. */
export function pauseText(
  evaluation: Pick<Evaluation, "shift_pause_s" | "shifts_measured">,
): string {
  const { text, unit } = durationText(evaluation.shift_pause_s);
  const from =
    evaluation.shifts_measured === 0
      ? "assumed"
      : `median of ${fixed(evaluation.shifts_measured)} measured`;
  return `a shift pauses ${text} ${unit}, ${from}`;
}

/** A number of actions or steps against its bound: "proven" only where they meet. */
export function gapWords(value: number | null, bound: number | null): string {
  if (value === null || bound === null) return "";
  if (value <= bound) return "proven fewest";
  return `\u2265 ${fixed(bound)}, gap ${gapPercent((value - bound) / Math.max(1, bound))} %`;
}

/** Why a candidate has no figures, where it has none. */
export function troubleOf(
  candidate: Pick<Candidate, "status" | "plan_status" | "reason" | "same_as">,
): string {
  if (candidate.same_as) return `the same links as ${candidate.same_as}`;
  if (candidate.status === "infeasible") return `no tree: ${candidate.reason}`;
  if (candidate.status === "failed") return `the method failed: ${candidate.reason}`;
  if (["infeasible", "failed", "none"].includes(candidate.plan_status)) {
    return candidate.plan_status === "infeasible"
      ? `cannot be reached: ${candidate.reason}`
      : `no plan found: ${candidate.reason}`;
  }
  if (candidate.status === "time_limit") return "the best within the time limit";
  return "";
}

/** How far an evaluation is, 0 to 1; null while nothing is known. */
export function shareDone({ progress }: Pick<Evaluation, "progress">): number | null {
  const { done, total } = progress;
  return typeof done === "number" && typeof total === "number" && total > 0 ? done / total : null;
}
