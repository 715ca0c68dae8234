/** A question for a better overlay as it is typed; numbers stay text until it is asked. */
import type { EvaluationRequest } from "@/api/evaluations";
import { readNumber } from "@/lib/parameters";
import type { FieldProblem } from "@/lib/problem";

export const PRICES = ["shift", "append", "detach", "move", "exchange"] as const;
export type PriceName = (typeof PRICES)[number];

/** What routing costs, with the weight that counts where nothing else is said. */
export const WEIGHTS = { per_message: 1, per_second: 0, per_overload: 10 } as const;
export type WeightName = keyof typeof WEIGHTS;
export const WEIGHT_NAMES = Object.keys(WEIGHTS) as WeightName[];

export type EvaluateDraft = {
  methods: string[];
  goals: string[];
  objective: "actions" | "steps";
  planners: string[];
  seeds: string;
  maxDegree: string;
  parallel: "broker-disjoint" | "paper";
  moveGoalLinks: boolean;
  frozenBrokers: string[];
  /** Each as "a\nb". */
  frozenLinks: string[];
  prices: Record<PriceName, string>;
  weights: Record<WeightName, string>;
  horizon: string;
  /** Seconds of one unit. */
  unit: string;
  window: string;
  limit: string;
  note: string;
};

export const UNITS = [
  { value: "60", label: "minutes" },
  { value: "3600", label: "hours" },
  { value: "86400", label: "days" },
];

const MOST_SEEDS = 16;
const LONGEST_HORIZON_S = 366 * 86_400;
const LONGEST_WINDOW_S = 1800;

export const evaluateDraft = (methods: readonly string[], planner: string): EvaluateDraft => ({
  methods: [...methods],
  goals: [],
  objective: "actions",
  planners: planner === "" ? [] : [planner],
  seeds: "1",
  maxDegree: "",
  parallel: "broker-disjoint",
  moveGoalLinks: false,
  frozenBrokers: [],
  frozenLinks: [],
  prices: { shift: "1", append: "1", detach: "1", move: "", exchange: "" },
  weights: { per_message: "1", per_second: "0", per_overload: "10" },
  horizon: "24",
  unit: "3600",
  window: "60",
  limit: "60",
  note: "",
});

/** What the reader sees as free: a price left empty forbids the composite, or keeps the usual 1. */
function pricesOf(draft: EvaluateDraft, errors: FieldProblem[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of PRICES) {
    const value = readNumber(draft.prices[name]);
    const field = `options.action_costs.${name}`;
    if (value === null) continue;
    if (Number.isNaN(value)) errors.push({ field, message: "Give a number." });
    else if (value < 0) errors.push({ field, message: "A cost is 0 or more." });
    else if (value !== 1 || name === "move" || name === "exchange") found[name] = value;
  }
  return found;
}

/** Weights that are not the usual ones; an empty field keeps the usual one. */
function weightsOf(draft: EvaluateDraft, errors: FieldProblem[]) {
  const found: Partial<Record<WeightName, number>> = {};
  for (const name of WEIGHT_NAMES) {
    const value = readNumber(draft.weights[name]);
    const field = `weights.${name}`;
    if (value === null) continue;
    if (Number.isNaN(value)) errors.push({ field, message: "Give a number." });
    else if (value < 0) errors.push({ field, message: "A cost is 0 or more." });
    else if (value !== WEIGHTS[name]) found[name] = value;
  }
  return found;
}

export function evaluateBody(
  draft: EvaluateDraft,
  system: string,
): { body: EvaluationRequest } | { errors: FieldProblem[] } {
  const errors: FieldProblem[] = [];
  const number = (text: string, field: string, low: number, high: number, unit = "") => {
    const value = readNumber(text);
    if (value === null || Number.isNaN(value)) errors.push({ field, message: "Give a number." });
    else if (value < low || value > high) {
      errors.push({ field, message: `Give ${low} to ${high}${unit}.` });
    } else return value;
    return low;
  };
  if (draft.methods.length === 0 && draft.goals.length === 0) {
    errors.push({ field: "methods", message: "Choose a method, or a stored goal below." });
  }
  if (draft.planners.length === 0) {
    errors.push({ field: "planners", message: "Choose at least one planner." });
  }
  const degree = readNumber(draft.maxDegree);
  if (degree !== null && (!Number.isInteger(degree) || degree < 2)) {
    errors.push({ field: "options.max_degree", message: "Give a whole number from 2 on." });
  }
  const seeds = number(draft.seeds, "seeds", 1, MOST_SEEDS);
  if (!Number.isInteger(seeds)) errors.push({ field: "seeds", message: "Give a whole number." });
  const units = Number(draft.unit);
  const horizon = number(draft.horizon, "horizon_s", 1 / units, LONGEST_HORIZON_S / units);
  const window = number(draft.window, "window_s", 1, LONGEST_WINDOW_S, " s");
  const limit = number(draft.limit, "time_limit_s", 0.1, 86_400, " s");
  const prices = pricesOf(draft, errors);
  const weights = weightsOf(draft, errors);
  if (errors.length > 0) return { errors };
  const frozen = [...draft.frozenBrokers, ...draft.frozenLinks.map((link) => link.split("\n"))];
  return {
    body: {
      system,
      goals: draft.goals,
      methods: draft.methods.map((name) => ({ name })),
      planners: draft.planners.map((name) => ({ name })),
      objective: draft.objective,
      seeds: Array.from({ length: seeds }, (_, index) => index),
      options: {
        ...(degree === null ? {} : { max_degree: degree }),
        parallel: draft.parallel,
        ...(Object.keys(prices).length > 0 ? { action_costs: prices } : {}),
        ...(frozen.length > 0 ? { frozen } : {}),
        ...(draft.moveGoalLinks ? { move_goal_links: true } : {}),
      },
      ...(Object.keys(weights).length > 0 ? { weights } : {}),
      horizon_s: Math.round(horizon * units),
      window_s: window,
      time_limit_s: limit,
      note: draft.note.trim(),
    },
  };
}
