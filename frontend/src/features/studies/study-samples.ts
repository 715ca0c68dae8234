/** Sample studies; the compiler checks them against the API's schema. */
import type { StudyDetail, StudyPoint } from "@/api/studies";
import { SYSTEM } from "@/testing/samples";

const TIME = "2026-03-18T14:02:00Z";
export const STUDY = "99999999-9999-4999-8999-999999999999";

export const SWEEP = {
  kind: "sweep",
  methods: [{ method: "lrgp", label: "lrgp", parameters: {} }],
  base: [],
  groups: [],
  scenarios: [],
  seed: 0,
  time_limit_s: null,
  keep_rates: false,
  axes: [
    {
      label: "Broker capacity of S2",
      edit: { kind: "node_capacity", nodes: ["S2"] },
      field: "scale",
      values: [0.5, 1, 1.5],
    },
  ],
};

export const DAY = {
  kind: "schedule",
  methods: [
    { method: "lrgp", label: "lrgp", parameters: {} },
    { method: "greedy", label: "greedy", parameters: {} },
  ],
  base: [],
  groups: [
    { name: "Gold", classes: ["c0"] },
    { name: "Bronze", classes: ["c1"] },
  ],
  warm: true,
  segments: [
    { label: "Morning", duration_s: 3600, percent: { Gold: 100 } },
    { label: "Lunch", duration_s: 3600, percent: { Gold: 0 } },
  ],
};

export const study = (change: Partial<StudyDetail> = {}): StudyDetail => ({
  id: STUDY,
  number: 4,
  name: "Broker capacity of S2",
  kind: "sweep",
  system: SYSTEM,
  system_name: "Base workload",
  state: "succeeded",
  run: "66666666-6666-4666-8666-666666666666",
  run_number: 2041,
  allocation: null,
  allocation_number: null,
  author: "Ines Moreau",
  author_id: "5a111111-1111-4111-8111-111111111111",
  model_version: 42,
  snapshot_hash: "9c41e0d7".repeat(8),
  result_hash: "ab".repeat(32),
  failure: "",
  cancel_requested: false,
  created_at: TIME,
  updated_at: TIME,
  started_at: TIME,
  finished_at: "2026-03-18T14:02:04Z",
  points_done: 4,
  points_total: 4,
  version: 1,
  allowed_commands: ["rerun", "rename", "delete"],
  spec: SWEEP,
  ...change,
});

export const point = (change: Partial<StudyPoint> = {}): StudyPoint => ({
  index: 0,
  label: "As is",
  method: "lrgp",
  coordinates: [],
  status: "solved",
  reason: "",
  utility: 1_000_000,
  upper_bound: 1_000_100,
  gap: 0.0001,
  admitted: 8445,
  wanted: 22_800,
  rate_average_per_s: 14.96,
  moved: null,
  iterations: 178,
  runtime_s: 0.08,
  quantities: [],
  marginals: [],
  prices: [{ kind: "node", id: "S1", resource: "cpu", price: 0.2955 }],
  groups: [],
  division: {},
  rates: null,
  ...change,
});

/** The model as it is, and S2 at 50, 100 and 150 %; the least one fits nothing. */
export const sweepPoints = (): StudyPoint[] => [
  point(),
  point({
    index: 1,
    label: "Broker capacity of S2 50 %",
    coordinates: [0.5],
    status: "infeasible",
    reason: "S2 cannot carry the minimum rates.",
    utility: null,
    upper_bound: null,
    gap: null,
    admitted: null,
    quantities: [450_000],
    marginals: [null],
    prices: [],
  }),
  point({
    index: 2,
    label: "Broker capacity of S2 100 %",
    coordinates: [1],
    quantities: [900_000],
    marginals: [0.44],
  }),
  point({
    index: 3,
    label: "Broker capacity of S2 150 %",
    coordinates: [1.5],
    utility: 1_025_000,
    upper_bound: 1_025_000,
    gap: 0,
    quantities: [1_350_000],
    marginals: [0.1],
  }),
];
