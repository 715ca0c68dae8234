/** The question that the address asks; what it leaves out or says wrong is the usual one. */
import { useSearchParams } from "react-router";

import {
  RANGES,
  type Choices,
  type DelayKind,
  type Group,
  type Quantity,
  type Question,
  type Range,
} from "./sums";
import { DELAY_KINDS, isDelay, isMetric, QUANTITIES } from "./words";

const USUAL_METRIC = "cpu_ratio";
const USUAL_KIND = "delivery";
const NAMES = ["topic", "consumer_class", "broker"] as const;

const isOf = <Of extends string>(known: Record<Of, unknown>, text: string): text is Of =>
  Object.hasOwn(known, text);

/** Undefined while nobody knows which metrics there are, or where there is none. */
export function questionOf(
  params: URLSearchParams,
  choices: Choices | undefined,
): Question | undefined {
  const given = (name: string) => params.get(name) ?? "";
  const named = given("quantity");
  const quantity: Quantity = isOf(QUANTITIES, named) ? named : "published_per_s";
  const { by: groups } = QUANTITIES[quantity];
  const by = groups.find((group) => group === given("by")) ?? groups[0] ?? "system";
  const narrowed = Object.fromEntries(
    NAMES.filter((name) => groups.includes(name) && given(name) !== "").map((name) => [
      name,
      given(name),
    ]),
  );
  const question = { range: rangeOf(params), quantity, by, ...narrowed };
  if (isDelay(quantity)) {
    const kind = given("kind");
    return { ...question, kind: isOf(DELAY_KINDS, kind) ? kind : USUAL_KIND };
  }
  if (!isMetric(quantity)) return question;
  const metrics = choices?.metrics.map(({ name }) => name) ?? [];
  const usual = metrics.includes(USUAL_METRIC) ? USUAL_METRIC : metrics[0];
  const metric = given("metric") || usual;
  return metric === undefined ? undefined : { ...question, metric };
}

export function rangeOf(params: URLSearchParams): Range {
  const range = params.get("range") ?? "";
  return isOf(RANGES, range) ? range : "1h";
}

export const kindOf = (chosen: string, usual: DelayKind, kinds: readonly DelayKind[]): DelayKind =>
  kinds.find((kind) => kind === chosen) ?? usual;

type Name = "quantity" | "by" | "kind" | "metric" | "range" | Exclude<Group, "system">;
export type Change = Partial<Record<Name, string>>;

export const useQuestionAddress = () => useAddressChange<Name>();

/** The parameters of the address, and how they change; an empty one goes. */
export function useAddressChange<Name extends string>(): [
  URLSearchParams,
  (change: Partial<Record<Name, string>>) => void,
] {
  const [params, setParams] = useSearchParams();
  const change = (pairs: Partial<Record<Name, string>>) =>
    setParams(
      (old) => {
        const next = new URLSearchParams(old);
        for (const [name, value] of Object.entries<string | undefined>(pairs)) {
          if (!value) next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  return [params, change];
}
