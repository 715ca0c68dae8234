/** Sample plans and executions; the compiler checks them against the API's schema. */
import type { Execution, Plan, PlanDetail } from "@/api/plans";
import { SYSTEM } from "@/testing/samples";

const TIME = "2026-03-18T14:02:00Z";

export const PLAN = "88888888-8888-4888-8888-888888888888";
export const EXECUTION = "99999999-9999-4999-8999-999999999999";
export const HASH = "4be07a1c".repeat(8);

export const plan = (change: Partial<Plan> = {}): Plan => ({
  id: PLAN,
  number: 118,
  name: "P-118",
  title: "Enact A-27 of Base workload",
  kind: "allocation",
  system: SYSTEM,
  system_name: "Base workload",
  state: "pending_review",
  author: "Ines Moreau",
  answerable: null,
  created_at: TIME,
  submitted_at: TIME,
  waiting_since: TIME,
  model_version: 42,
  content_hash: HASH,
  run: "66666666-6666-4666-8666-666666666666",
  run_name: "R-2041",
  source: { kind: "allocation", id: "77777777-7777-4777-8777-777777777777", name: "A-27" },
  blast_radius: {
    brokers: 2,
    brokers_total: 3,
    topics: 2,
    topics_total: 6,
    links: 0,
    actions: 3,
    consumers_admitted: 34,
    consumers_released: 200,
  },
  approvals_given: 1,
  approvals_needed: 2,
  expires_at: null,
  stale_because: "",
  superseded_by: null,
  execution: null,
  allowed_commands: ["dry_run"],
  ...change,
});

export const planDetail = (change: Partial<PlanDetail> = {}): PlanDetail => ({
  ...plan(),
  why: ["S1 is worth 0.2953 per unit.", "Rates of 2 flows change."],
  promise: [
    { name: "utility", unit: "", before: 1_308_265, after: 1_329_009 },
    { name: "highest broker load", unit: "share", before: 1.08, after: 0.9 },
  ],
  steps: [
    {
      index: 0,
      actions: [
        {
          index: 0,
          kind: "set_population",
          title: "Admit 300 of c1 at S1, was 500",
          undo_title: "Admit 500 of c1 at S1, was 300",
          brokers: ["S1"],
          target: { class: "c1", flow: "f1", broker: "S1" },
          before: { limit: 500 },
          after: { limit: 300 },
          effect: "c1 costs 56.44 and brings 24.03.",
        },
        {
          index: 1,
          kind: "set_flow_rate",
          title: "Set f1 at S1 from 120 msg/s to 80 msg/s, burst 8",
          undo_title: "Set f1 at S1 from 80 msg/s to 120 msg/s, burst 12",
          brokers: ["S1"],
          target: { flow: "f1", broker: "S1" },
          before: { rate_per_s: 120, burst: 12 },
          after: { rate_per_s: 80, burst: 8 },
          effect: "S1 is full.",
        },
      ],
    },
    {
      index: 1,
      actions: [
        {
          index: 0,
          kind: "set_flow_rate",
          title: "Set f2 at S2 to 10 msg/s, burst 2",
          undo_title: "Stop limiting f2 at S2 (was 10 msg/s)",
          brokers: ["S2"],
          target: { flow: "f2", broker: "S2" },
          before: null,
          after: { rate_per_s: 10, burst: 2 },
          effect: "",
        },
      ],
    },
  ],
  left_out: [],
  changes: [
    {
      kind: "set_population",
      label: "c1 at S1",
      unit: "consumers",
      before: 500,
      after: 300,
      step: 0,
      reason: "c1 costs 56.44 and brings 24.03.",
    },
    {
      kind: "set_flow_rate",
      label: "f1 at S1",
      unit: "msg/s",
      before: 120,
      after: 80,
      step: 0,
      reason: "S1 is full.",
    },
    {
      kind: "set_flow_rate",
      label: "f2 at S2",
      unit: "msg/s",
      before: null,
      after: 10,
      step: 1,
      reason: "",
    },
  ],
  checks: [
    { name: "model", title: "Model unchanged since the run", state: "pass", detail: "v42" },
    { name: "agents", title: "Every agent answers", state: "fail", detail: "S2 is silent" },
  ],
  approvals: [
    {
      person: "Jon Vale",
      decision: "approve",
      comment: "Dry run clean.",
      at: TIME,
      valid: true,
      invalid_because: "",
    },
  ],
  policy: {
    approvals_needed: 2,
    reason: "Two people approve what touches 2 brokers.",
    window_open: true,
    next_window_at: null,
    window_text: "",
  },
  envelope: [],
  events: [
    {
      at: TIME,
      actor: "Ines Moreau",
      command: "create",
      title: "made the plan from A-27",
      note: "",
    },
    {
      at: "2026-03-18T14:05:00Z",
      actor: "Ines Moreau",
      command: "submit",
      title: "sent it for review",
      note: "",
    },
  ],
  executions: [],
  ...change,
});

type Action = Execution["steps"][number]["actions"][number];

export const executionAction = (change: Partial<Action> = {}): Action => ({
  id: "a1",
  index: 0,
  kind: "set_population",
  title: "Admit 300 of c1 at S1, was 500",
  brokers: ["S1"],
  target: { class: "c1", flow: "f1", broker: "S1" },
  before: { limit: 500 },
  after: { limit: 300 },
  effect: "",
  state: "done",
  attempt: 1,
  detail: "",
  deadline_at: null,
  started_at: "2026-03-18T14:06:00Z",
  ended_at: "2026-03-18T14:06:03Z",
  pause_s: null,
  waiting_for: [],
  ...change,
});

export const execution = (change: Partial<Execution> = {}): Execution => ({
  id: EXECUTION,
  name: "E-9",
  number: 9,
  plan: PLAN,
  plan_name: "P-118",
  plan_title: "Enact A-27 of Base workload",
  system: SYSTEM,
  system_name: "Base workload",
  state: "running",
  started_by: "Aiko Brandt",
  created_at: "2026-03-18T14:05:58Z",
  started_at: "2026-03-18T14:05:58Z",
  ended_at: null,
  failure: "",
  pace_s: 0,
  max_parallel: 8,
  actions_done: 1,
  actions_total: 3,
  steps: [
    {
      index: 0,
      direction: "forward",
      state: "in_progress",
      started_at: "2026-03-18T14:06:00Z",
      ended_at: null,
      actions: [
        executionAction(),
        executionAction({
          id: "a2",
          index: 1,
          kind: "set_flow_rate",
          title: "Set f1 at S1 from 120 msg/s to 80 msg/s, burst 8",
          target: { flow: "f1", broker: "S1" },
          state: "preparing",
          ended_at: null,
          waiting_for: ["S1"],
        }),
      ],
    },
    {
      index: 1,
      direction: "forward",
      state: "pending",
      started_at: null,
      ended_at: null,
      actions: [
        executionAction({
          id: "a3",
          kind: "set_flow_rate",
          title: "Set f2 at S2 to 10 msg/s, burst 2",
          target: { flow: "f2", broker: "S2" },
          brokers: ["S2"],
          state: "pending",
          started_at: null,
          ended_at: null,
        }),
      ],
    },
  ],
  allowed_commands: ["pause", "stop", "roll_back"],
  ...change,
});
