/** What is in force at each stop of the scrubber: settings, loads and links, before and after every step. */
import type { Execution, PlanAction, PlanDetail, PlanLevels } from "@/api/plans";
import type { Move } from "@/components/map/timeline";

/** The frozen problem of a run, as far as loads need it. */
export type Problem = {
  resources: string[];
  nodes: { id: string; capacity: Record<string, number> }[];
  links: { id: string; capacity: number }[];
  flows: {
    id: string;
    node_costs: Record<string, Record<string, number>>;
    link_costs: Record<string, number>;
  }[];
  classes: { id: string; flow: string; node: string; costs: Record<string, number> }[];
};

export type Proposal = {
  rates: ReadonlyMap<string, number>;
  populations: ReadonlyMap<string, number>;
};

export const stopsOf = (plan: Pick<PlanDetail, "steps">): string[] => [
  "Now",
  ...plan.steps.map((_, index) => `Step ${index + 1}`),
];

const numberOf = (values: PlanAction["before"], name: string): number | null => {
  const value = values?.[name];
  return typeof value === "number" ? value : null;
};

export const isTree = (action: Pick<PlanAction, "kind" | "target">) => moveOf(action) !== null;

export const hasTree = (plan: Pick<PlanDetail, "steps">) =>
  plan.steps.some((step) => step.actions.some(isTree));

/** A plan that moves flows and streams in the map alone touches no broker. */
export const touchesBrokers = (plan: Pick<PlanDetail, "steps">) =>
  plan.steps.some((step) => step.actions.some(({ brokers }) => brokers.length > 0));

/**
 * A quantity of the proposal at a stop: its final value less what later steps still change.
 * Null while one of those is not enforced before its step: then nothing is known about it.
 */
function at(
  plan: Pick<PlanDetail, "steps">,
  stop: number,
  kind: string,
  member: "flow" | "class",
  value: string,
  proposal: ReadonlyMap<string, number>,
): Map<string, number | null> {
  const found = new Map<string, number | null>(proposal);
  plan.steps.slice(stop).forEach((step) => {
    for (const action of step.actions) {
      const name = action.target[member];
      if (action.kind !== kind || name === undefined) continue;
      const known = found.get(name);
      const before = numberOf(action.before, value);
      const after = numberOf(action.after, value);
      found.set(
        name,
        known === null || known === undefined || before === null || after === null
          ? null
          : known - after + before,
      );
    }
  });
  return found;
}

export const ratesAt = (plan: Pick<PlanDetail, "steps">, stop: number, proposal: Proposal) =>
  at(plan, stop, "set_flow_rate", "flow", "rate_per_s", proposal.rates);

export const limitsAt = (plan: Pick<PlanDetail, "steps">, stop: number, proposal: Proposal) =>
  at(plan, stop, "set_population", "class", "limit", proposal.populations);

export type LoadsAt = {
  /** Broker -> load over capacity of its fullest resource; null where a limit is not known. */
  brokers: ReadonlyMap<string, number | null>;
  /** Link -> units per second; null where a rate is not known. */
  links: ReadonlyMap<string, number | null>;
};

/** Equations 4 and 5 of the paper, at the rates and populations of one stop. */
export function loadsAt(
  plan: Pick<PlanDetail, "steps">,
  stop: number,
  proposal: Proposal,
  problem: Problem,
): LoadsAt {
  const rates = ratesAt(plan, stop, proposal);
  const limits = limitsAt(plan, stop, proposal);
  const nodes = new Map<string, Map<string, number | null>>();
  const links = new Map<string, number | null>();
  const add = (node: string, resource: string, amount: number | null) => {
    const here = nodes.get(node) ?? new Map<string, number | null>();
    const sum = here.get(resource);
    here.set(resource, amount === null || sum === null ? null : (sum ?? 0) + amount);
    nodes.set(node, here);
  };
  // What costs nothing loads nothing, however fast it is.
  const times = (cost: number, amount: number | null) =>
    cost === 0 ? 0 : amount === null ? null : cost * amount;
  for (const flow of problem.flows) {
    const rate = rates.get(flow.id) ?? null;
    for (const [node, costs] of Object.entries(flow.node_costs)) {
      for (const [resource, cost] of Object.entries(costs)) add(node, resource, times(cost, rate));
    }
    for (const [link, cost] of Object.entries(flow.link_costs)) {
      const amount = times(cost, rate);
      const sum = links.get(link);
      links.set(link, amount === null || sum === null ? null : (sum ?? 0) + amount);
    }
  }
  for (const consumers of problem.classes) {
    const rate = rates.get(consumers.flow) ?? null;
    const limit = limits.get(consumers.id) ?? null;
    const messages = limit === 0 ? 0 : rate === null || limit === null ? null : rate * limit;
    for (const [resource, cost] of Object.entries(consumers.costs)) {
      add(consumers.node, resource, times(cost, messages));
    }
  }
  const brokers = new Map<string, number | null>();
  for (const node of problem.nodes) {
    let worst: number | null = 0;
    for (const resource of problem.resources) {
      const load: number | null = nodes.get(node.id)?.get(resource) ?? 0;
      const unknown = nodes.get(node.id)?.get(resource) === null;
      const capacity = node.capacity[resource] ?? 0;
      if (unknown) worst = null;
      else if (worst !== null && capacity > 0) worst = Math.max(worst, load / capacity);
    }
    brokers.set(node.id, worst);
  }
  return { brokers, links };
}

/** Levels of the brokers at a stop: of the proposal, and where it knows none, of the server's model. */
export function levelsAt(
  stop: number,
  proposed: LoadsAt["brokers"] | undefined,
  levels: PlanLevels | undefined,
): Map<string, number | null> {
  const shares = (levels?.stops[stop] ?? []).map(({ broker, share }) => [broker, share] as const);
  const found = new Map<string, number | null>(shares);
  for (const [broker, share] of proposed ?? []) if (share !== null) found.set(broker, share);
  return found;
}

export type Setting = {
  key: string;
  name: string;
  unit: string;
  value: number | null;
  /** Said where there is nothing to limit; else empty. */
  absent: string;
  /** The stop is at or past the step that changes it. */
  changed: boolean;
  step: number;
};

/**
 * What to say instead of a limit where there is nothing to limit at a stop: the class is not served
 * then, or the flow not carried. Empty where it is there, so that no limit means no limit.
 */
export function absentAt(
  plan: Pick<PlanDetail, "steps">,
  stop: number,
  target: PlanAction["target"],
): string {
  const kind = target.class ? "serve_class" : "carry_flow";
  const moments = plan.steps.flatMap(({ actions }, index) =>
    actions
      .filter(
        (action) =>
          action.kind === kind &&
          (target.class
            ? action.target.class === target.class && action.target.broker === target.broker
            : action.target.flow === target.flow),
      )
      .map((action) => ({ action, passed: stop > index })),
  );
  const last = moments.filter(({ passed }) => passed).at(-1)?.action;
  const next = moments.find(({ passed }) => !passed)?.action;
  const there = last ? last.after !== null : next ? next.before !== null : true;
  if (there) return "";
  return kind === "serve_class" ? "not served" : "not carried";
}

/** The limits at one broker that this plan touches, as of a stop; null is not enforced. */
export function settingsAt(
  plan: Pick<PlanDetail, "steps">,
  stop: number,
  broker: string,
): Setting[] {
  const found = new Map<string, Setting>();
  plan.steps.forEach((step, index) => {
    for (const action of step.actions) {
      if (isTree(action) || !action.brokers.includes(broker)) continue;
      if (action.kind === "carry_flow" || action.kind === "serve_class") continue;
      // An order limits nothing by itself: the parts that it moves stand beside it.
      if (action.kind === "adapt_parts") continue;
      const name = action.target.class ?? action.target.flow ?? action.title;
      const key = `${action.kind} ${name}`;
      const passed = stop > index;
      const earlier = found.get(key);
      if (earlier && !passed) continue;
      const values = passed ? action.after : action.before;
      if (action.kind === "assign_publishers") {
        const value = typeof values?.publishers === "number" ? values.publishers : null;
        const absent = "every publisher";
        found.set(key, {
          key,
          name,
          unit: "publishers",
          value,
          absent,
          changed: passed,
          step: index,
        });
        continue;
      }
      const member = action.kind === "set_population" ? "limit" : "rate_per_s";
      found.set(key, {
        key,
        name,
        unit: member === "limit" ? "consumers" : "msg/s",
        value: numberOf(values, member),
        absent: absentAt(plan, stop, action.target),
        changed: passed,
        step: index,
      });
    }
  });
  return [...found.values()];
}

/** The action as a move of the tree; null where it changes something else. */
export function moveOf({ kind, target }: Pick<PlanAction, "kind" | "target">): Move | null {
  const { i = "", j = "", k = "", broker = "", to = "", from = "", at } = target;
  switch (kind) {
    case "shift_link":
      return { op: "shift", broker: i, source: j, to: k };
    case "append_broker":
      return { op: "append", broker, to };
    case "detach_broker":
      return { op: "detach", broker, source: from };
    case "move_link":
      return { op: "move", broker: broker || i, source: from || j, to: to || k };
    case "exchange_link":
      return { op: "exchange", broker: broker || i, source: from || j, to: to || k, at };
    default:
      return null;
  }
}

export const movesOf = (plan: Pick<PlanDetail, "steps">): Move[][] =>
  plan.steps.map((step) => step.actions.flatMap((action) => moveOf(action) ?? []));

/** Steps of the plan that an execution has carried out and not taken back. */
export function stepsDone(
  plan: Pick<PlanDetail, "state" | "steps">,
  execution?: Execution,
): number {
  if (plan.state === "executed") return plan.steps.length;
  if (!execution || execution.state === "rolled_back") return 0;
  const forward = execution.steps.filter((step) => step.direction === "forward");
  const first = forward.findIndex((step) => step.state !== "completed");
  const done = first === -1 ? forward.length : first;
  const begun = forward.filter(({ actions }) =>
    actions.some(({ state }) => state === "done"),
  ).length;
  const undone = execution.steps.filter(
    (step) => step.direction === "undo" && step.state === "completed",
  ).length;
  // A step that was broken off half-way is undone first, and was never counted as done.
  return Math.max(0, Math.min(done, begun - undone));
}
