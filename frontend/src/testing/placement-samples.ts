/** Sample placements: the system Quarry of the visual language, whose numbers agree with each other. */
import { SYSTEM } from "./samples";

import type {
  BrokerShare,
  Measured,
  MeasuredBroker,
  Move,
  Outcome,
  Placement,
  PlacementDetail,
  PlacementMethod,
  Round,
  Rounds,
  SplitOption,
} from "@/api/placements";

const PLACEMENT = "aa111111-1111-4111-8111-111111111111";
const TOPIC = "33333333-3333-4333-8333-333333333333";

const MAX = 80_000;
const EXISTING: readonly (readonly [string, number])[] = [
  ...([["q-6", 21_400] as const, ["q-3", 22_900] as const, ["q-8", 24_100] as const] as const),
  ...([["q-1", 26_000] as const, ["q-5", 29_300] as const, ["q-2", 33_800] as const] as const),
  ...([["q-7", 38_600] as const, ["q-4", 47_200] as const, ["q-9", 51_000] as const] as const),
];
const FREE_SHARE = 24.9;

export const option = (change: Partial<SplitOption> = {}): SplitOption => {
  const { brokers = 3 } = change;
  return {
    brokers,
    names: EXISTING.slice(0, brokers).map(([name]) => name),
    fits: true,
    chosen: false,
    meets: null,
    p99_s: 0.00068,
    processing_p99_s: 0.00044,
    penalty_s: 0.00024,
    moved: 334,
    free_bucket: FREE_SHARE * brokers,
    ...change,
  };
};

const CURVE: SplitOption[] = [
  option({
    ...{ brokers: 1, fits: false, moved: 0, free_bucket: null },
    ...{ p99_s: null, processing_p99_s: null, penalty_s: null },
  }),
  ...(
    [
      [2, 1.13, 0.02],
      [3, 0.44, 0.24],
      [4, 0.37, 0.47],
      [5, 0.36, 0.69],
      [6, 0.37, 0.92],
      [7, 0.39, 1.14],
      [8, 0.48, 1.37],
      [9, 0.53, 1.59],
    ] as const
  ).map(([brokers, processing, penalty]) =>
    option({
      brokers,
      chosen: brokers === 3,
      meets: processing + penalty <= 1,
      p99_s: (processing + penalty) / 1e3,
      processing_p99_s: processing / 1e3,
      penalty_s: penalty / 1e3,
    }),
  ),
];

export const share = (change: Partial<BrokerShare> = {}): BrokerShare => ({
  broker: "q-6",
  max_rate_per_s: MAX,
  allocated_rate_per_s: 21_400,
  drained: false,
  publishers: 0,
  publishers_today: 0,
  rate_per_s: 0,
  rate_today_per_s: 0,
  token_rate_per_s: null,
  bucket: null,
  p99_s: null,
  processing_p99_s: null,
  penalty_s: null,
  wait_p99_s: null,
  below_one_token: false,
  ...change,
});

const used = (publishers: number, p99_ms: number): Partial<BrokerShare> => ({
  publishers,
  rate_per_s: publishers * 100,
  token_rate_per_s: publishers * 110,
  bucket: publishers * 0.048,
  p99_s: p99_ms / 1e3,
  processing_p99_s: (p99_ms - 0.24) / 1e3,
  penalty_s: 0.00024,
  wait_p99_s: 0.00031,
});
const TODAY = { publishers_today: 500, rate_today_per_s: 50_000 };
const SHARES: Readonly<Record<string, Partial<BrokerShare>>> = {
  "q-6": { ...used(333, 0.65), ...TODAY },
  "q-3": { ...used(333, 0.67), ...TODAY },
  "q-8": used(334, 0.68),
};

export const outcome = (change: Partial<Outcome> = {}): Outcome => ({
  status: "solved",
  method: "srtm",
  contract: {
    rate_per_s: 100_000,
    token_rate_per_s: 110_000,
    bucket: 48,
    batch: 1,
    slo_p99_s: 0.001,
  },
  unassigned: 0,
  need_brokers: null,
  publishers: 1000,
  moved: 334,
  p99_s: 0.00068,
  processing_p99_s: 0.00044,
  penalty_s: 0.00024,
  meets: true,
  today: {
    ...{ brokers: 2, publishers: 1000, meets: false },
    ...{ p99_s: 0.00115, processing_p99_s: 0.00113, penalty_s: 0.00002 },
  },
  curve: CURVE,
  shares: EXISTING.map(([broker, allocated_rate_per_s]) =>
    share({ broker, allocated_rate_per_s, ...SHARES[broker] }),
  ),
  groups: [
    {
      name: "feed-A",
      publishers: 120,
      by_broker: { "q-6": 40, "q-3": 40, "q-8": 40 },
      within_one: true,
    },
    {
      name: "feed-B",
      publishers: 64,
      by_broker: { "q-6": 22, "q-3": 21, "q-8": 21 },
      within_one: true,
    },
    {
      name: "feed-C",
      publishers: 31,
      by_broker: { "q-6": 10, "q-3": 10, "q-8": 11 },
      within_one: true,
    },
    {
      name: null,
      publishers: 785,
      by_broker: { "q-6": 261, "q-3": 262, "q-8": 262 },
      within_one: true,
    },
  ],
  largest_share_per_s: 36_740,
  ...change,
});

export const placement = (change: Partial<Placement> = {}): Placement => ({
  id: PLACEMENT,
  name: "L-4",
  number: 4,
  round: 1,
  system: SYSTEM,
  system_name: "Quarry",
  topic: TOPIC,
  topic_name: "market.depth",
  method: "srtm",
  run: "66666666-6666-4666-8666-666666666666",
  run_number: 2041,
  asked_by: "Ines Moreau",
  asked_by_id: "5a111111-1111-4111-8111-111111111111",
  created_at: "2026-03-18T14:02:00Z",
  updated_at: "2026-03-18T14:02:00Z",
  allowed_commands: ["rerun", "what_if"],
  brokers: 3,
  publishers: 1000,
  moved: 334,
  p99_s: 0.00068,
  processing_p99_s: 0.00044,
  penalty_s: 0.00024,
  mean_s: 0.00021,
  slo_p99_s: 0.001,
  slo_mean_s: null,
  meets: true,
  ...change,
});

export const placementDetail = (change: Partial<PlacementDetail> = {}): PlacementDetail => ({
  ...placement(),
  model_version: 42,
  snapshot_hash: "9c41e0d7".repeat(8),
  seed: 0,
  parameters: {},
  drained_brokers: [],
  based_on: null,
  note: "",
  outcome: outcome(),
  ...change,
});

export const move = (change: Partial<Move> = {}): Move => ({
  publisher: "md-0001",
  group: "feed-A",
  rate_per_s: 100,
  from_broker: "q-6",
  to_broker: "q-8",
  must_move: false,
  p99_without_s: 0.00071,
  ...change,
});

export const placementMethod = (change: Partial<PlacementMethod> = {}): PlacementMethod => ({
  name: "srtm",
  is_default: true,
  title: "Fewest brokers, even parts (SRTM)",
  summary: "Takes as few brokers as have room and splits groups over all of them.",
  parameters: [],
  ...change,
});

/** Placed again by it: without that, and without speeds, it is what is measured now. */
export const measuredBroker = (change: Partial<MeasuredBroker> = {}): MeasuredBroker => ({
  broker: "q-6",
  publishers: 333,
  rate_per_s: 33_263,
  expected_rate_per_s: 33_300,
  messages: 51_890_280,
  seconds: 1560,
  predicted_p99_s: 0.00065,
  p99_s: 0.00069,
  low_s: 0.00062,
  high_s: 0.00077,
  processing_p99_s: 0.00045,
  processing_low_s: 0.00042,
  processing_high_s: 0.00048,
  verdict: "kept",
  cause: null,
  speed_before_per_s: null,
  speed_per_s: null,
  fitted: null,
  ...change,
});

export const measured = (...brokers: MeasuredBroker[]): Measured => {
  const all = (verdict: string) => brokers.every((one) => one.verdict === verdict);
  return {
    of: PLACEMENT,
    meets: all("kept") ? true : brokers.some((one) => one.verdict === "missed") ? false : null,
    brokers,
  };
};

/** The placement of the samples as a round that nobody has planned yet. */
export const round = (change: Partial<Round> = {}): Round => ({
  placement: PLACEMENT,
  name: "L-4",
  round: 1,
  created_at: "2026-03-18T14:02:00Z",
  brokers: 3,
  moved: 334,
  predicted_p99_s: 0.00068,
  predicted_mean_s: 0.00021,
  slo_p99_s: 0.001,
  slo_mean_s: null,
  is_in_force: false,
  measured: null,
  ...change,
});

export const rounds = (change: Partial<Rounds> = {}): Rounds => ({
  results: [round()],
  can_place_again: false,
  because: "L-4 is not in force: make a plan of it and execute it first.",
  measured_rounds: 0,
  search_rounds: null,
  ...change,
});
