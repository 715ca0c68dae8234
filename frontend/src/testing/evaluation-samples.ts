/** Sample evaluations and candidates; the compiler checks them against the API's schema. */
import type { Candidate, CandidateDetail, Evaluation, TopologyTool } from "@/api/evaluations";
import type { SystemTraffic } from "@/api/in-force";
import { SYSTEM } from "@/testing/samples";

const TIME = "2026-03-18T14:02:00Z";

export const EVALUATION = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
export const TODAY = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
export const BETTER = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";

export const evaluation = (change: Partial<Evaluation> = {}): Evaluation => ({
  id: EVALUATION,
  number: 12,
  name: "O-12",
  system: SYSTEM,
  system_name: "Base workload",
  state: "succeeded",
  run: "66666666-6666-4666-8666-666666666666",
  run_number: 2038,
  failure: "",
  progress: { done: 4, total: 4 },
  cancel_requested: false,
  created_at: TIME,
  updated_at: TIME,
  started_at: TIME,
  finished_at: TIME,
  model_version: 42,
  snapshot_hash: "9c41e0d7".repeat(8),
  overlay: "dddddddd-dddd-4ddd-8ddd-dddddddddddd",
  overlay_name: "v31",
  current: true,
  goals: [],
  objective: "actions",
  methods: [{ name: "minimum_cost", parameters: {} }],
  planners: [{ name: "slides", parameters: {} }],
  seeds: [0],
  options: {},
  horizon_s: 86_400,
  window_s: 60,
  traffic: {
    source: "model",
    detail: "From the model.",
    window_s: 60,
    flows: 3,
    published_per_s: 450,
  },
  shift_pause_s: 0.036,
  shifts_measured: 20,
  note: "",
  why: ["Minimum cost tree saves 36,800 link messages a second."],
  continues: null,
  continues_name: null,
  author: "Ines Moreau",
  author_id: "5a111111-1111-4111-8111-111111111111",
  candidates_count: 2,
  chosen: BETTER,
  chosen_name: "minimum_cost",
  allowed_commands: ["rerun"],
  ...change,
});

export const candidate = (change: Partial<Candidate> = {}): Candidate => ({
  id: BETTER,
  evaluation: EVALUATION,
  evaluation_name: "O-12",
  system: SYSTEM,
  system_name: "Base workload",
  index: 1,
  kind: "method",
  name: "minimum_cost",
  method: "minimum_cost",
  seed: 0,
  title: "Minimum cost tree",
  goal: null,
  goal_name: null,
  rank: 1,
  chosen: true,
  status: "designed",
  reason: "",
  same_as: "",
  routing_cost_per_s: 173_200,
  traffic_per_s: 173_200,
  in_flight: 3111,
  busiest_broker: "lon-1",
  busiest_share: 0.9,
  overloaded: [],
  max_degree: 4,
  links_changed: 1,
  saved_per_s: 36_800,
  planner: "slides",
  plan_status: "optimal",
  actions: 2,
  lower_bound_actions: 2,
  steps_count: 2,
  lower_bound_steps: 1,
  transformation_cost: 400,
  held_messages: 120,
  pause_s: 0.2,
  disturbed_subscribers: 340,
  net_benefit: 3_179_519_600,
  runtime_s: 0.1,
  frontier: [
    {
      actions: 2,
      steps_count: 2,
      transformation_cost: 400,
      net_benefit: 3_179_519_600,
      planner: "slides",
      objective: "actions",
    },
  ],
  allowed_commands: ["plan"],
  ...change,
});

export const today = (change: Partial<Candidate> = {}): Candidate =>
  candidate({
    id: TODAY,
    index: 0,
    kind: "today",
    name: "today",
    method: "",
    title: "Keep today\u2019s tree",
    rank: 2,
    chosen: false,
    status: "designed",
    routing_cost_per_s: 210_000,
    traffic_per_s: 210_000,
    in_flight: 3363,
    busiest_broker: "ams-1",
    busiest_share: 1.08,
    overloaded: ["ams-1"],
    links_changed: 0,
    saved_per_s: 0,
    planner: "",
    plan_status: "",
    actions: 0,
    lower_bound_actions: 0,
    steps_count: 0,
    lower_bound_steps: 0,
    transformation_cost: 0,
    held_messages: 0,
    pause_s: 0,
    disturbed_subscribers: 0,
    net_benefit: 0,
    frontier: [],
    allowed_commands: [],
    ...change,
  });

const link = (a: string, b: string, traffic_per_s: number) => ({ a, b, traffic_per_s });
/** All at first, then what a step changes. */
const CARRIED = [
  [link("S0", "S1", 20_400), link("S0", "S2", 12_000), link("S2", "S3", 5000)],
  [link("S1", "S2", 20_400), link("S0", "S2", 9000)],
  [link("S1", "S3", 20_400)],
];
const HANDLED = [
  [
    { broker: "S0", handled_per_s: 108 },
    { broker: "S2", handled_per_s: 20 },
    { broker: "S3", handled_per_s: 20 },
  ],
  [
    { broker: "S0", handled_per_s: 51 },
    { broker: "S2", handled_per_s: 64 },
  ],
  [
    { broker: "S2", handled_per_s: 20 },
    { broker: "S3", handled_per_s: 30 },
  ],
];

/** S1 hangs on S0 and goes over S2 to S3: two slides. */
export const candidateDetail = (change: Partial<CandidateDetail> = {}): CandidateDetail => ({
  ...candidate(),
  edges: [
    ["S0", "S2"],
    ["S2", "S3"],
    ["S1", "S3"],
  ],
  edges_before: [
    ["S0", "S1"],
    ["S0", "S2"],
    ["S2", "S3"],
  ],
  steps: [
    [{ op: "shift", broker: "S1", from: "S0", to: "S2" }],
    [{ op: "shift", broker: "S1", from: "S2", to: "S3" }],
  ],
  moments: [210_000, 190_000, 173_200].map((traffic_per_s, step) => ({
    routing_cost_per_s: traffic_per_s,
    traffic_per_s,
    in_flight: [3363, 3252, 3111][step] ?? null,
    busiest_broker: "S0",
    busiest_share: 0.9,
    removed: [[], [["S0", "S1"]], [["S1", "S2"]]][step] ?? [],
    added: [[], [["S1", "S2"]], [["S1", "S3"]]][step] ?? [],
    links: CARRIED[step] ?? [],
    brokers: HANDLED[step] ?? [],
  })),
  brokers: [
    { broker: "S0", now_per_s: 108, then_per_s: 51, capacity_per_s: 100 },
    { broker: "S3", now_per_s: 20, then_per_s: 30, capacity_per_s: 100 },
    { broker: "S2", now_per_s: 20, then_per_s: 20, capacity_per_s: 100 },
  ],
  links: [
    { a: "S1", b: "S3", traffic_per_s: 20_400, latency_s: 0.0042, measured: true },
    { a: "S0", b: "S2", traffic_per_s: 9000, latency_s: 0.002, measured: true },
  ],
  plans: [],
  ...change,
});

export const tool = (change: Partial<TopologyTool> = {}): TopologyTool => ({
  name: "minimum_cost",
  is_default: true,
  title: "Minimum cost tree",
  summary: "The cheapest tree for the traffic.",
  seeded: true,
  parameters: [],
  ...change,
});

export const systemTraffic = (change: Partial<SystemTraffic> = {}): SystemTraffic => ({
  source: "model",
  detail: "From the model.",
  window_s: 60,
  model_version: 42,
  overlay: null,
  overlay_name: "v31",
  published_per_s: 450,
  traffic_per_s: 210_000,
  in_flight: 3363,
  overloaded: [],
  pairs: [],
  links: [
    {
      a: "S0",
      b: "S1",
      traffic_per_s: 20_400,
      measured_per_s: null,
      latency_s: 0.0051,
      capacity_per_s: 30_000,
    },
  ],
  brokers: [],
  ...change,
});
