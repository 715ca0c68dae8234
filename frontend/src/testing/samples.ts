/** Sample answers; the compiler checks them against the API's schema. */
import type { Page, Schemas } from "@/api/client";

export const SYSTEM = "11111111-1111-4111-8111-111111111111";
const TIME = "2026-03-18T14:02:00Z";

export const page = <Row>(results: Row[], count = results.length): Page<Row> => ({
  count,
  next: null,
  previous: null,
  results,
});

export const session = (change: Partial<Schemas["Session"]> = {}): Schemas["Session"] => ({
  signed_in: true,
  user_id: "22222222-2222-4222-8222-222222222222",
  username: "demo",
  display_name: "Ines Moreau",
  roles: ["viewer", "editor"],
  allowed_commands: ["create_system", "start_run", "manage_tokens"],
  csrf_token: "token",
  ...change,
});

export const system = (change: Partial<Schemas["System"]> = {}): Schemas["System"] => ({
  id: SYSTEM,
  name: "Base workload",
  description: "",
  product: "simulated",
  product_name: "Simulated",
  model_only: false,
  resources: ["cpu"],
  model_version: 42,
  version: 1,
  unmanaged: "refuse",
  retention_s: 3600,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete", "add", "optimize"],
  ...change,
});

export const topic = (change: Partial<Schemas["Topic"]> = {}): Schemas["Topic"] => ({
  id: "33333333-3333-4333-8333-333333333333",
  system: SYSTEM,
  system_name: "Base workload",
  name: "trades.eu",
  version: 3,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  description: "",
  pattern: "one_to_many",
  delivery: "reliable",
  rate_min_per_s: 10,
  rate_max_per_s: 1000,
  source: null,
  source_name: null,
  token_rate_per_s: null,
  token_bucket: null,
  recorded_bucket: null,
  batch: 1,
  stream: null,
  stream_name: null,
  pinned_stream: null,
  pinned_stream_name: null,
  node_costs: [],
  link_costs: [],
  class_count: 2,
  ...change,
});

export const broker = (change: Partial<Schemas["Broker"]> = {}): Schemas["Broker"] => ({
  id: "44444444-4444-4444-8444-444444444444",
  system: SYSTEM,
  system_name: "Base workload",
  name: "S0",
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  region: "",
  map_x: null,
  map_y: null,
  capacities: [{ resource: "cpu", capacity: 900_000 }],
  ...change,
});

export const link = (change: Partial<Schemas["Link"]> = {}): Schemas["Link"] => ({
  id: "55555555-5555-4555-8555-555555555555",
  system: SYSTEM,
  system_name: "Base workload",
  name: "S0–S1",
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: [],
  source: "44444444-4444-4444-8444-444444444444",
  source_name: "S0",
  target: "44444444-4444-4444-8444-444444444445",
  target_name: "S1",
  capacity: 1000,
  latency_s: null,
  ...change,
});

/** What the run of an allocation has computed, in the fields of older servers, too. */
const ANSWERED = {
  allocation: "77777777-7777-4777-8777-777777777777",
  study: null,
  overlay_evaluation: null,
  computed: { id: "77777777-7777-4777-8777-777777777777", name: "A-27" },
  answer: { kind: "allocation", id: "77777777-7777-4777-8777-777777777777", name: "A-27" },
} as const;

export const run = (change: Partial<Schemas["Run"]> = {}): Schemas["Run"] => ({
  id: "66666666-6666-4666-8666-666666666666",
  number: 2041,
  kind: "allocation",
  system: SYSTEM,
  system_name: "Base workload",
  state: "succeeded",
  method: "lrgp",
  parameters: { max_iterations: 250 },
  seed: 7,
  time_limit_s: null,
  demand_estimate: null,
  demand_estimate_name: null,
  snapshot_hash: "9c41e0d7".repeat(8),
  model_version: 42,
  result_hash: "ab".repeat(32),
  kernel_version: "0.1.0",
  ...ANSWERED,
  asked_by: "Ines Moreau",
  asked_by_id: "5a111111-1111-4111-8111-111111111111",
  rerun_of: null,
  rerun_of_name: null,
  starts_from: null,
  starts_from_name: null,
  attempt: 1,
  worker: "w1",
  created_at: TIME,
  updated_at: TIME,
  started_at: TIME,
  finished_at: "2026-03-18T14:02:02Z",
  heartbeat_at: TIME,
  cancel_requested: false,
  progress: { iteration: 178, utility: 1_329_009.2, best_utility: 1_329_009.2 },
  failure_code: "",
  failure: "",
  allowed_commands: ["rerun"],
  ...change,
});

export const runDetail = (change: Partial<Schemas["RunDetail"]> = {}): Schemas["RunDetail"] => ({
  ...run(),
  events: [{ at: TIME, command: "open", state: "queued", attempt: 0, note: "" }],
  infeasibility: null,
  ...change,
});

export const allocation = (
  change: Partial<Schemas["AllocationDetail"]> = {},
): Schemas["AllocationDetail"] => ({
  id: "77777777-7777-4777-8777-777777777777",
  number: 27,
  system: SYSTEM,
  system_name: "Base workload",
  run: "66666666-6666-4666-8666-666666666666",
  run_number: 2041,
  status: "solved",
  method: "lrgp",
  utility: 1_329_009.2,
  upper_bound: 1_329_012.8,
  iterations: 16,
  admitted: 1500,
  wanted: 4500,
  model_version: 42,
  demand_estimate: null,
  demand_estimate_name: null,
  snapshot_hash: "9c41e0d7".repeat(8),
  seed: 7,
  asked_by: "Ines Moreau",
  asked_by_id: "5a111111-1111-4111-8111-111111111111",
  started_from: null,
  started_at: TIME,
  finished_at: "2026-03-18T14:02:02Z",
  created_at: "2026-03-18T14:02:02Z",
  updated_at: "2026-03-18T14:02:02Z",
  allowed_commands: ["rerun", "compare"],
  trace: [],
  bounds: [],
  moments: [],
  previous: "77777777-7777-4777-8777-777777777776",
  in_force: "77777777-7777-4777-8777-777777777776",
  compared_with: "77777777-7777-4777-8777-777777777776",
  ...change,
});

export const rate = (change: Partial<Schemas["FlowRate"]> = {}): Schemas["FlowRate"] => ({
  flow: "f2",
  nodes: ["S1", "S2"],
  rate_min_per_s: 10,
  rate_max_per_s: 1000,
  rate_per_s: 10.06,
  admitted: 34,
  wanted: 3000,
  utility: 817,
  ...change,
});

export const population = (
  change: Partial<Schemas["ClassPopulation"]> = {},
): Schemas["ClassPopulation"] => ({
  consumer_class: "c8",
  flow: "f2",
  node: "S1",
  admitted: 0,
  wanted: 1500,
  utility: 0,
  value_of_one: 24.03,
  price_of_one: 56.44,
  scale: 10,
  ...change,
});

export const load = (change: Partial<Schemas["ResourceLoad"]> = {}): Schemas["ResourceLoad"] => ({
  place: "node",
  name: "S1",
  resource: "cpu",
  capacity: 900_000,
  load: 900_000,
  price: 0.2953,
  ...change,
});

export const modelChange = (
  change: Partial<Schemas["ModelChange"]> = {},
): Schemas["ModelChange"] => ({
  what: "node",
  name: "S2",
  field: "capacity",
  detail: "cpu",
  before: 780_000,
  after: 900_000,
  before_text: "",
  after_text: "",
  ...change,
});

export const explained = (
  change: Partial<Schemas["Explanation"]> = {},
  whole: Partial<Schemas["Explained"]> = {},
): Schemas["Explained"] => ({
  explanation: {
    consumer_class: "c8",
    flow: "f2",
    node: "S1",
    rate_per_s: 10.06,
    admitted: 0,
    wanted: 1500,
    value: 24.03,
    price: 56.44,
    price_per_message: 5.6107,
    needs: [
      {
        resource: "cpu",
        cost: 19,
        units_per_s: 191.1,
        price: 0.2953,
        worth: 56.44,
        room: 0,
        price_at_margin: 0.1257,
      },
    ],
    verdict: "costs_more",
    binding: "cpu",
    fits: false,
    given_up: 0,
    scale: 10,
    scale_name: "weight",
    scale_at_margin: 23.49,
    rate_at_margin_per_s: null,
    ...change,
  },
  gap: 3.6,
  has_prices: true,
  ...whole,
});

export const comparison = (change: Partial<Schemas["Comparison"]> = {}): Schemas["Comparison"] => ({
  other: "77777777-7777-4777-8777-777777777776",
  other_number: 26,
  other_model_version: 41,
  other_method: "lrgp",
  other_in_force: true,
  causes: [modelChange()],
  causes_in_all: 1,
  causes_known: true,
  changes: [
    { kind: "node_price", name: "S1", detail: "cpu", before: 0.2274, after: 0.2953, share: 0.23 },
    { kind: "rate", name: "f2", detail: "", before: 10, after: 10.06, share: 0.006 },
  ],
  changes_in_all: { rate: 1, admitted: 0, node_price: 1, link_price: 0 },
  utility: { name: "utility", before: 1_308_265, after: 1_329_009.2 },
  utility_by_other: null,
  admitted: { name: "admitted", before: 1466, after: 1500 },
  rates: [{ name: "f2", before: 10, after: 10.06 }],
  populations: [{ name: "c8", before: 0, after: 0 }],
  node_prices: [{ name: "S1.cpu", before: 0.2274, after: 0.2953 }],
  node_capacities: [{ name: "S2.cpu", before: 780_000, after: 900_000 }],
  link_prices: [],
  ...change,
});

export const backlog = (change: Partial<Schemas["Backlog"]> = {}): Schemas["Backlog"] => ({
  topic: "customs",
  topic_id: "88888888-8888-4888-8888-888888888888",
  broker: "b4",
  waiting: 17_049,
  slope_per_s: 104,
  full_in_s: 797,
  limit: "messages",
  most: 100_000,
  why: "",
  growth: "alarm",
  sentence:
    "customs: 17,049 messages wait at b4, 104 msg/s more arrive than leave; full in 13 minutes (100,000 messages).",
  ...change,
});

export const overview = (change: Partial<Schemas["Overview"]> = {}): Schemas["Overview"] => ({
  id: SYSTEM,
  name: "Base workload",
  description: "",
  product: "simulated",
  product_name: "Simulated",
  model_version: 42,
  brokers: 3,
  topics: 6,
  consumer_classes: 20,
  active_runs: 0,
  latest_run: run(),
  latest_allocation: allocation(),
  allocation_in_force: allocation(),
  model_moved: false,
  loads: {
    basis: "in_force",
    detail: "Computed for A-27, which is in force; nothing is measured now.",
    allocation: allocation().id,
  },
  node_loads: [
    { name: "S0", utilisation: 1 },
    { name: "S1", utilisation: 0.93 },
    { name: "S2", utilisation: 0.4 },
  ],
  backlogs: [],
  ...change,
});

export const optimizers: Schemas["Optimizers"] = {
  results: [
    {
      name: "lrgp",
      is_default: true,
      title: "LRGP",
      summary: "Prices steer the rates.",
      parameters: [
        {
          name: "max_iterations",
          type: "integer",
          unit: "",
          minimum: 1,
          maximum: 1_000_000,
          exclusive: false,
          help: "Iterations at most",
          required: false,
          default: 250,
        },
      ],
    },
  ],
};

export const standing = (change: Partial<Schemas["Standing"]> = {}): Schemas["Standing"] => ({
  method: "lrgp",
  title: "LRGP",
  allocation: allocation(),
  run: null,
  ...change,
});

export const consumerClass = (
  change: Partial<Schemas["ConsumerClass"]> = {},
): Schemas["ConsumerClass"] => ({
  id: "88888888-8888-4888-8888-888888888881",
  system: SYSTEM,
  system_name: "Base workload",
  name: "c8",
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  topic: "33333333-3333-4333-8333-333333333333",
  topic_name: "f2",
  broker: "44444444-4444-4444-8444-444444444444",
  broker_name: "S1",
  utility: "88888888-8888-4888-8888-888888888888",
  utility_name: "gold",
  population_max: 1500,
  costs: [{ resource: "cpu", cost: 19 }],
  ...change,
});

export const utilityFunction = (
  change: Partial<Schemas["UtilityFunction"]> = {},
): Schemas["UtilityFunction"] => ({
  id: "88888888-8888-4888-8888-888888888888",
  system: SYSTEM,
  system_name: "Base workload",
  name: "gold",
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  kind: "log",
  parameters: { weight: 100 },
  class_count: 1,
  ...change,
});

const parameter = (name: string, type: string, unit: string): Schemas["ParameterDescription"] => ({
  name,
  type,
  unit,
  minimum: type === "points" ? null : 0,
  maximum: null,
  exclusive: false,
  help: "What it is for",
  required: true,
  default: null,
});

export const utilityKinds: Schemas["UtilityKinds"] = {
  results: [
    {
      kind: "log",
      summary: "w ln(1 + r).",
      parameters: [parameter("weight", "number", "utility")],
    },
    {
      kind: "piecewise",
      summary: "Linear between points.",
      parameters: [parameter("points", "points", "[1/s, utility]")],
    },
    {
      kind: "latency",
      summary: "C (1 - T_rt(r) / D).",
      parameters: [
        parameter("max_utility", "number", "utility"),
        parameter("threshold_s", "number", "s"),
      ],
    },
  ],
};

/** The drawing of a log or of a line of points, as the kernel draws them. */
export function drawn(asked: Schemas["DrawnCurveRequestRequest"]): Schemas["DrawnCurve"] {
  const span = asked.rate_max ?? 100;
  const weight = Number(asked.parameters.weight ?? 1);
  const isLog = asked.kind === "log";
  const rates = Array.from({ length: 41 }, (_, i) => (i * span) / 40);
  return {
    points: isLog
      ? rates.map((r) => ({
          rate_per_s: r,
          utility: weight * Math.log(1 + r),
          marginal_utility: weight / (1 + r),
          latency_s: null,
        }))
      : [],
    knots: [],
    concave: true,
    problems: [],
    derived: null,
  };
}

export const preview = (change: Partial<Schemas["Preview"]> = {}): Schemas["Preview"] => ({
  status: "solved",
  reason: "",
  method: "lrgp",
  model_version: 42,
  start: "77777777-7777-4777-8777-777777777777",
  utility_before: 1_329_009.2,
  utility_after: 1_333_663.6,
  saved_utility_before: 1_329_009.2,
  saved_utility_after: 1_328_500.1,
  admitted_before: 8438,
  admitted_after: 8385,
  changes: [
    { kind: "rate", name: "f5", detail: "", before: 23.97, after: 25, of_draft: true },
    {
      kind: "node_price",
      name: "S1",
      detail: "cpu",
      before: 0.2955,
      after: 0.3417,
      of_draft: false,
    },
    { kind: "admitted", name: "c9", detail: "f2", before: 34, after: 0, of_draft: false },
  ],
  changes_in_all: 3,
  runtime_s: 0.21,
  ...change,
});

/** 25 requesters where 20 are typed, whose answers alone are not known. */
export const requestLoop = (
  change: Partial<Schemas["RequestLoop"]> = {},
): Schemas["RequestLoop"] => ({
  consumer_class: "0b8f6f5e-0000-4000-8000-000000000011",
  consumer_class_name: "gold",
  topic: "0b8f6f5e-0000-4000-8000-000000000012",
  topic_name: "quotes",
  utility: "0b8f6f5e-0000-4000-8000-000000000013",
  utility_name: "answers",
  typed_senders: 20,
  typed_think_s: 1,
  typed_exec_s: 0.25,
  minutes: 120,
  answers_per_s: 12.5,
  response_s: { low: 0.7, median: 0.8, high: 0.9, minutes: 118 },
  senders: { low: 24.1, median: 25.2, high: 26.3, minutes: 118 },
  think_s: { low: 1.1, median: 1.2345, high: 1.3, minutes: 118 },
  why: "",
  exec_s: null,
  exec_why: "In 118 of 118 minutes requests waited at the gate for most of their time.",
  is_gate_measured: true,
  ...change,
});

export const requestLoops = (...rows: Schemas["RequestLoop"][]): Schemas["RequestLoops"] => ({
  since: "2026-03-17T14:00:00Z",
  until: "2026-03-18T14:00:00Z",
  count: rows.length,
  rows,
});
