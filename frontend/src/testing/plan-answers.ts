/** What a server answers to the page of one plan. */
import type { Execution, PlanDetail } from "@/api/plans";
import { EXECUTION, outcomeDetail, PLAN, planDetail } from "@/testing/plan-samples";
import {
  broker,
  link,
  page,
  population,
  rate,
  run,
  session,
  SYSTEM,
  system,
} from "@/testing/samples";
import { ok } from "@/testing/server";

const ALLOCATION = "77777777-7777-4777-8777-777777777777";
const brokers = ["S0", "S1", "S2"].map((name) => broker({ id: `id-${name}`, name }));
const links = [
  link({ id: "l1", name: "S0-S1", source: "id-S0", target: "id-S1", target_name: "S1" }),
  link({ id: "l2", name: "S0-S2", source: "id-S0", target: "id-S2", target_name: "S2" }),
];

export const planPath = `/api/v1/plans/${PLAN}`;
export const executionPath = `/api/v1/executions/${EXECUTION}`;

export const answers = (plan: PlanDetail = planDetail(), execution?: Execution) => ({
  "GET /api/v1/session": ok(
    session({ display_name: "Tomás Reyes", roles: ["viewer", "approver"] }),
  ),
  [`GET /api/v1/systems/${SYSTEM}`]: ok(system()),
  [`GET ${planPath}`]: ok(plan),
  [`GET ${planPath}/levels`]: ok({ stops: [], unknown_because: "" }),
  [`GET ${planPath}/outcome`]: ok(outcomeDetail()),
  [`GET ${planPath}/change`]: ok({
    connection: null,
    connection_name: null,
    change: null,
    allows: true,
    because: "",
    waiting: [],
  }),
  ...(execution ? { [`GET ${executionPath}`]: ok(execution) } : {}),
  "GET /api/v1/brokers": ok(page(brokers)),
  "GET /api/v1/links": ok(page(links)),
  "GET /api/v1/overlays": ok(page([])),
  [`GET /api/v1/allocations/${ALLOCATION}/rates`]: ok(
    page([
      rate({ flow: "f1", rate_per_s: 80 }),
      rate({ flow: "f2", rate_per_s: 10 }),
      rate({ flow: "f3", rate_per_s: 55.5 }),
    ]),
  ),
  [`GET /api/v1/allocations/${ALLOCATION}/populations`]: ok(
    page([population({ consumer_class: "c1", admitted: 300 })]),
  ),
  [`GET /api/v1/runs/${run().id}/snapshot`]: ok({
    resources: ["cpu"],
    nodes: brokers.map(({ name }) => ({ id: name, capacity: { cpu: 1000 } })),
    links: [],
    flows: [
      { id: "f1", node_costs: { S1: { cpu: 5 } }, link_costs: {} },
      { id: "f2", node_costs: { S2: { cpu: 5 } }, link_costs: {} },
      { id: "f3", node_costs: { S0: { cpu: 2 } }, link_costs: {} },
    ],
    classes: [],
  }),
  "GET /api/v1/agents": ok(page([])),
  "GET /api/v1/telemetry": ok([]),
  "GET /api/v1/flow-status": ok({ rate_control: false, plan: null, plan_name: null, flows: [] }),
  "GET /api/v1/telemetry/series": ok({ broker: "", broker_name: "", minutes: 2, points: [] }),
});
