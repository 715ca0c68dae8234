/** What a sweep may vary: the draft that the form edits, and the axes that the server reads. */
import type { Axis, Edit, FieldError } from "./spec";

import { readNumber } from "@/lib/parameters";

export type Quantity =
  | "node_capacity"
  | "link_capacity"
  | "budget"
  | "population"
  | "utility_weight"
  | "remove_flow"
  | "remove_node"
  | "remove_link";

/** What things are chosen by, in the words of the form; the server's words are in FIELD. */
export type By = "brokers" | "links" | "topics" | "classes";

type Look = {
  label: string;
  /** What the targets may be picked from; the first is the usual. */
  of: readonly [By, ...By[]];
  /** A range of factors, or one thing after the other. */
  varies: "range" | "each";
  hint: string;
};

const CONSUMERS: readonly [By, ...By[]] = ["topics", "brokers", "classes"];

export const QUANTITIES: Record<Quantity, Look> = {
  node_capacity: {
    label: "Broker capacity",
    of: ["brokers"],
    varies: "range",
    hint: "Capacity of the chosen brokers, in percent of the model's.",
  },
  link_capacity: {
    label: "Link capacity",
    of: ["links"],
    varies: "range",
    hint: "Capacity of the chosen links, in percent of the model's.",
  },
  budget: {
    label: "Capacity budget",
    of: ["brokers"],
    varies: "range",
    hint: "A total of capacity for the chosen brokers together, in percent of what they have.",
  },
  population: {
    label: "Class sizes",
    of: CONSUMERS,
    varies: "range",
    hint: "How many of the chosen consumers want service, in percent of the model's.",
  },
  utility_weight: {
    label: "Utility weights",
    of: CONSUMERS,
    varies: "range",
    hint: "What one of the chosen consumers is worth, in percent of the model's.",
  },
  remove_flow: {
    label: "Without a topic",
    of: ["topics"],
    varies: "each",
    hint: "One scenario per topic: the topic and its consumers are gone.",
  },
  remove_node: {
    label: "Without a broker",
    of: ["brokers"],
    varies: "each",
    hint: "One scenario per broker: its consumers and the work done there are gone, traffic takes no detour.",
  },
  remove_link: {
    label: "Without a link",
    of: ["links"],
    varies: "each",
    hint: "One scenario per link: the work done there is gone, traffic takes no detour.",
  },
};

/** How a budget is divided: the best way, as today, or both side by side. */
export type Spread = "best" | "in_proportion" | "both";

export type AxisDraft = {
  quantity: Quantity;
  by: By;
  /** Names; none means all. */
  targets: string[];
  resource: string;
  from: string;
  to: string;
  steps: string;
  spread: Spread;
  /** What one unit costs at a broker; empty where the budget is in units. */
  costs: Record<string, string>;
};

export const newAxis = (quantity: Quantity, resource: string): AxisDraft => ({
  quantity,
  by: QUANTITIES[quantity].of[0],
  targets: [],
  resource,
  from: "50",
  to: "150",
  steps: "21",
  spread: "best",
  costs: {},
});

export const FIELD = {
  brokers: "nodes",
  links: "links",
  topics: "flows",
  classes: "classes",
} as const;
const SPREADS = ["best", "in_proportion"];

function nameOf(draft: AxisDraft): string {
  const look = QUANTITIES[draft.quantity];
  if (look.varies === "each") return look.label;
  const { by, targets } = draft;
  if (targets.length === 0) return `${look.label}, all ${look.of.length > 1 ? "classes" : by}`;
  if (targets.length <= 3) return `${look.label} of ${targets.join(", ")}`;
  return `${look.label} of ${targets.length} ${by}`;
}

function editOf(draft: AxisDraft): Edit {
  const { quantity, targets } = draft;
  const field = FIELD[draft.by];
  const chosen = targets.length === 0 ? "all" : targets;
  switch (quantity) {
    case "node_capacity":
      return {
        kind: quantity,
        nodes: chosen,
        ...(draft.resource ? { resource: draft.resource } : {}),
      };
    case "link_capacity":
      return { kind: quantity, links: chosen };
    case "budget": {
      const costs = Object.entries(draft.costs).map(([name, text]) => [name, readNumber(text)]);
      return {
        kind: quantity,
        resource: draft.resource,
        nodes: chosen,
        spread: draft.spread === "best" ? "best" : "in_proportion",
        ...(costs.length > 0 ? { unit_costs: Object.fromEntries(costs) } : {}),
      };
    }
    case "population":
    case "utility_weight":
      return { kind: quantity, ...(targets.length === 0 ? {} : { [field]: targets }) };
    default:
      return { kind: quantity };
  }
}

/** `count` factors from `low` to `high` percent, without the tails of binary fractions. */
export function factors(low: number, high: number, count: number): number[] {
  return Array.from({ length: count }, (_, step) =>
    Number(((low + ((high - low) * step) / (count - 1)) / 100).toPrecision(12)),
  );
}

/** The axes of the server's form, or what keeps the draft from being one. */
export function readAxis(
  draft: AxisDraft,
  index: number,
  everything: readonly string[],
): { axes: Axis[]; errors: FieldError[] } {
  const look = QUANTITIES[draft.quantity];
  const at = `axes[${index}]`;
  const edit = editOf(draft);
  const label = nameOf(draft);
  if (look.varies === "each") {
    const values = draft.targets.length === 0 ? [...everything] : draft.targets;
    const errors =
      values.length === 0
        ? [{ field: `${at}.targets`, message: `This system has no ${draft.by}.` }]
        : [];
    return { axes: errors.length ? [] : [{ label, edit, field: FIELD[draft.by], values }], errors };
  }
  const errors: FieldError[] = [];
  const [low, high, count] = [draft.from, draft.to, draft.steps].map(
    (text) => readNumber(text) ?? NaN,
  ) as [number, number, number];
  if (!(low >= 0)) errors.push({ field: `${at}.from`, message: "Give a percentage, 0 or more." });
  if (!(high > low)) errors.push({ field: `${at}.to`, message: "Give more than the start." });
  if (!(Number.isInteger(count) && count >= 2 && count <= 2000)) {
    errors.push({ field: `${at}.steps`, message: "Give a whole number from 2 to 2,000." });
  }
  if (draft.quantity === "budget") {
    if (draft.resource === "") {
      errors.push({ field: `${at}.resource`, message: "Choose the resource." });
    }
    for (const [name, text] of Object.entries(draft.costs)) {
      if (!((readNumber(text) ?? NaN) > 0)) {
        errors.push({ field: `${at}.costs.${name}`, message: "Give a cost above 0." });
      }
    }
  }
  if (everything.length === 0) {
    errors.push({ field: `${at}.targets`, message: `This system has no ${draft.by}.` });
  }
  if (errors.length > 0) return { axes: [], errors };
  const range: Axis = { label, edit, field: "scale", values: factors(low, high, count) };
  // The range divides as today; each way then divides that sum: as it is, or where it is worth most.
  const budget: Edit = { ...edit, scale: 1 };
  delete budget.spread;
  const ways: Axis = { label: "Divided", edit: budget, field: "spread", values: SPREADS };
  return {
    axes: draft.quantity === "budget" && draft.spread === "both" ? [range, ways] : [range],
    errors,
  };
}

/** How many axes of the server's form a draft stands for. */
export const axesOf = (draft: AxisDraft): number =>
  draft.quantity === "budget" && draft.spread === "both" ? 2 : 1;

/** Answers that a sweep needs: the grid and the model as it is, with every method. */
export const sweepSize = (axes: readonly Axis[], methods: number): number =>
  (1 + axes.reduce((product, axis) => product * axis.values.length, 1)) * methods;

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === "string");

/** The draft that would give these axes; null where the form has no words for them. */
export function draftsOf(axes: readonly Axis[], resource: string): AxisDraft[] | null {
  const drafts: AxisDraft[] = [];
  for (const axis of axes) {
    const last = drafts.at(-1);
    if (axis.field === "spread" && axis.edit.kind === "budget" && last?.quantity === "budget") {
      last.spread = "both";
      continue;
    }
    const draft = draftOf(axis, resource);
    if (draft === null) return null;
    drafts.push(draft);
  }
  return drafts;
}

function draftOf(axis: Axis, resource: string): AxisDraft | null {
  const { kind, ...fields } = axis.edit;
  if (!(kind in QUANTITIES)) return null;
  const quantity = kind as Quantity;
  const look = QUANTITIES[quantity];
  const draft = newAxis(quantity, resource);
  if (look.varies === "each") {
    return isNames(axis.values) && axis.field === FIELD[draft.by]
      ? { ...draft, targets: axis.values }
      : null;
  }
  if (axis.field !== "scale") return null;
  draft.by = look.of.find((by) => FIELD[by] in fields) ?? draft.by;
  const chosen = fields[FIELD[draft.by]];
  if (isNames(chosen)) draft.targets = chosen;
  draft.resource = typeof fields.resource === "string" ? fields.resource : resource;
  if (fields.spread === "in_proportion") draft.spread = "in_proportion";
  for (const [name, cost] of Object.entries((fields.unit_costs ?? {}) as Record<string, number>)) {
    draft.costs[name] = String(cost);
  }
  const percent = axis.values.map((value) => Number((Number(value) * 100).toPrecision(12)));
  draft.from = String(percent[0]);
  draft.to = String(percent.at(-1));
  draft.steps = String(percent.length);
  const again = readAxis(draft, 0, ["any"]).axes[0];
  return JSON.stringify(again?.values) === JSON.stringify(axis.values) ? draft : null;
}
