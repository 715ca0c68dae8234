/** What schedules and triggers have in common, as it is typed: numbers stay text until they are saved. */
import type { Schedule, Subject, Then, Trigger } from "@/api/recomputation";
import { parseNumber } from "@/components/ui/fields";
import { computationOf, computations } from "@/lib/computations";
import type { FieldProblem } from "@/lib/problem";

export type RuleDraft = {
  name: string;
  /** A kind of computation. */
  subject: string;
  method: string;
  benefit: string;
  limit: string;
  then: string;
  enabled: boolean;
  takeOver: boolean;
};

/** Fields of the API that both draw. */
export const RULE_FIELDS = [
  ...["name", "subject", "method", "least_benefit", "time_limit_s", "then", "enabled"],
  "take_over",
];

/** Without the rounding dust of 0.07 * 100. */
export const plain = (value: number) => String(Number(value.toPrecision(10)));

/** Kinds that can be computed again by themselves. */
export const subjects = () =>
  computations().flatMap(({ kind, recomputed }) => (recomputed ? { kind, ...recomputed } : []));

export const subjectOf = (kind: string) => computationOf(kind)?.recomputed;

export function ruleDraft(row: Schedule | Trigger | null): RuleDraft {
  const limit = row?.time_limit_s ?? null;
  return {
    name: row?.name ?? "",
    subject: row?.subject ?? subjects()[0]?.kind ?? "",
    method: row?.method ?? "",
    benefit: plain(row?.least_benefit ?? 0),
    limit: limit === null ? "" : plain(limit),
    then: row?.then ?? "draft",
    enabled: row?.enabled ?? true,
    takeOver: false,
  };
}

/** A number that must be there; what is typed instead is noted as wrong. */
export function numberIn(errors: FieldProblem[], text: string, field: string): number {
  const value = parseNumber(text);
  if (value === null || value === undefined) {
    errors.push({ field, message: "A number is needed here." });
  }
  return value ?? 0;
}

/** The common part of what is saved; what is wrong with it is added to `errors`. */
export function ruleBody(draft: RuleDraft, errors: FieldProblem[]) {
  const limit = parseNumber(draft.limit);
  if (limit === undefined) {
    errors.push({ field: "time_limit_s", message: "A number is needed here." });
  }
  return {
    name: draft.name.trim(),
    enabled: draft.enabled,
    subject: draft.subject as Subject,
    method: draft.method,
    // Where answers have no net benefit, 0 takes back what was set.
    least_benefit: subjectOf(draft.subject)?.benefit
      ? numberIn(errors, draft.benefit, "least_benefit")
      : 0,
    time_limit_s: limit ?? null,
    then: draft.then as Then,
    ...(draft.takeOver ? { take_over: true } : {}),
  };
}
