/** Sample mappings: the system Quarry of the visual language, whose numbers agree with each other. */
import { SYSTEM } from "./samples";

import type { Schemas } from "@/api/client";
import type {
  FlowMove,
  Heat,
  HandOver,
  HandOvers,
  MapInForce,
  Mappable,
  Mapping,
  MappingDetail,
  MappingMethod,
  MappingOutcome,
  MappingPin,
  MappingSettings,
  MapPoint,
  Receiver,
  ReceiverDetail,
  UnwantedFlow,
} from "@/api/mappings";

const MAPPING = "ee111111-1111-4111-8111-111111111111";
const TIME = "2026-03-18T14:02:00Z";

export const mapping = (change: Partial<Mapping> = {}): Mapping => ({
  id: MAPPING,
  name: "M-7",
  number: 7,
  system: SYSTEM,
  system_name: "Quarry",
  method: "joint",
  complete: true,
  run: "66666666-6666-4666-8666-666666666666",
  run_number: 2041,
  flows: 20_000,
  wanted_flows: 7_300,
  users: 500,
  interests: 35_000,
  streams: 200,
  groups: 20,
  cost: 182_900,
  former_cost: 231_500,
  kept_cost: 231_500,
  random_cost: 412_300,
  moved: 1_840,
  moved_streams: 8,
  unwanted_per_s: 124_700,
  asked_by: "Ines Moreau",
  asked_by_id: "5a111111-1111-4111-8111-111111111111",
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["rerun"],
  ...change,
});

export const costs = (transport: number, messaging: number, aggregated = 0.25) => ({
  cost: transport + messaging,
  transport_cost: transport,
  messaging_cost: messaging,
  unwanted_per_s: messaging,
  dropped_per_s: transport / aggregated,
});

export const mapPoint = (change: Partial<MapPoint> = {}): MapPoint => ({
  ...costs(58_200, 124_700),
  moved: 1_840,
  moved_streams: 8,
  placed: 0,
  retired: 0,
  opened_streams: 0,
  duration_s: 46.2,
  // Its work of moving, 1,920 thousand, by the 48,600 work/s that it saves.
  pays_after_s: 39.5,
  gain_share: 0.74,
  ...change,
});

export const mappingPin = (change: Partial<MappingPin> = {}): MappingPin => ({
  kind: "flow",
  name: "fx.eurusd",
  to: 14,
  number: null,
  price: 1_900,
  ...change,
});

export const mappingOutcome = (change: Partial<MappingOutcome> = {}): MappingOutcome => ({
  weights: {
    transport: 2,
    messaging: 1,
    aggregation: 8,
    move_cost: 1_000 / 3_600,
    stream_move_cost: 10_000 / 3_600,
    flow_move_work: 1_000,
    stream_move_work: 10_000,
    horizon_s: 3_600,
    flows_per_s: 40,
  },
  unmapped: 0,
  compared: [
    { map: "random", ...costs(120_000, 292_300) },
    { map: "flat", ...costs(0, 268_900) },
    { map: "in_force", ...costs(74_100, 157_400) },
    { map: "proposed", ...costs(58_200, 124_700) },
    { map: "anew", ...costs(49_000, 116_800) },
  ],
  points: [
    mapPoint({
      ...costs(74_100, 157_400),
      ...{ moved: 0, moved_streams: 0, duration_s: 0, pays_after_s: null, gain_share: 0 },
    }),
    mapPoint(),
    mapPoint({
      ...costs(49_000, 116_800),
      ...{ moved: 5_400, moved_streams: 150, duration_s: 138.75, pays_after_s: 105, gain_share: 1 },
    }),
  ],
  proposed: 1,
  pins: [mappingPin(), mappingPin({ kind: "stream", name: "s-07", number: 7, to: 3, price: 600 })],
  pin_count: 2,
  ...change,
});

/** Three rows of ten users over four columns, the last of two groups; sums are those of the cells. */
export const mapHeat = (
  unwanted: readonly (readonly number[])[] = [
    [20, 900, 0, 0],
    [0, 700, 40, 300],
    [0, 0, 30, 120],
  ],
): Heat => {
  const joined = [
    [10, 4, 0, 0],
    [0, 7, 10, 9],
    [0, 0, 10, 12],
  ];
  const dropped = unwanted.map((row) => row.map((amount) => amount / 2));
  const filtered = (row: number, column: number) => 1.5 * (unwanted[row]?.[column] ?? 0);
  const rows = [0, 1, 2];
  const columns = [0, 1, 2, 3];
  const sum = (amounts: readonly number[]) => amounts.reduce((all, one) => all + one, 0);
  return {
    groups: [[5], [3], [0], [7, 12]].map((numbers, column) => ({
      ...{ numbers, streams: 4, flows: 60, rate_per_s: 1_500 },
      users: sum(rows.map((row) => joined[row]?.[column] ?? 0)),
      unwanted_per_s: sum(rows.map((row) => filtered(row, column))),
    })),
    rows: rows.map((row) => ({
      ...{ first: `desk-${row}01`, last: `desk-${row}10`, users: 10 },
      unwanted_per_s: sum(columns.map((column) => filtered(row, column))),
    })),
    joined,
    wanted_per_s: joined.map((row) => row.map((users) => 25 * users)),
    unwanted_per_s: unwanted.map((row) => [...row]),
    dropped_per_s: dropped,
  };
};

export const mappingDetail = (change: Partial<MappingDetail> = {}): MappingDetail => ({
  ...mapping(),
  model_version: 42,
  snapshot_hash: "9c41e0d7".repeat(8),
  seed: 0,
  parameters: {},
  note: "",
  outcome: mappingOutcome(),
  ...change,
});

export const mappable = (change: Partial<Mappable> = {}): Mappable => ({
  flows: 20_000,
  wanted_flows: 7_300,
  mapped_flows: 7_280,
  users: 500,
  interests: 35_000,
  streams: 200,
  groups: 20,
  pinned_flows: 2,
  pinned_streams: 1,
  because: "",
  ...change,
});

export const mapInForce = (change: Partial<MapInForce> = {}): MapInForce => ({
  model_version: 42,
  because: "",
  wanted_flows: 7_300,
  mapped_flows: 7_280,
  missing_flows: 20,
  costs: costs(74_100, 157_400),
  measured: null,
  ...change,
});

export const mappingSettings = (change: Partial<MappingSettings> = {}): MappingSettings => ({
  id: "ee222222-2222-4222-8222-222222222222",
  system: SYSTEM,
  system_name: "Quarry",
  transport: 2,
  messaging: 1,
  aggregation: 8,
  flow_move_work: 1_000,
  stream_move_work: 10_000,
  horizon_s: 3_600,
  flows_per_s: 40,
  version: 3,
  updated_at: TIME,
  allowed_commands: ["edit"],
  ...change,
});

export const mappingMethod = (change: Partial<MappingMethod> = {}): MappingMethod => ({
  name: "joint",
  is_default: true,
  title: "Both layers at once",
  summary: "Streams and groups by turns, then moves on the joint cost.",
  parameters: [
    {
      ...{ name: "effort", type: "number", unit: null, minimum: 0, maximum: null },
      ...{ exclusive: false, help: "Trials per interest", required: false, default: 20 },
    },
  ],
  ...change,
});

export const unwantedFlow = (change: Partial<UnwantedFlow> = {}): UnwantedFlow => ({
  flow: "fx.gbpusd",
  rate_per_s: 120,
  stream: 14,
  group: 3,
  layer: "messaging",
  cost: 120,
  because: "fx.eurusd",
  ...change,
});

export const receiver = (change: Partial<Receiver> = {}): Receiver => ({
  user: "desk-014",
  flows: 70,
  wanted_per_s: 1_240,
  streams: 22,
  groups: 6,
  unwanted_per_s: 310,
  dropped_per_s: 480,
  cost: 430,
  ...change,
});

export const receiverDetail = (change: Partial<ReceiverDetail> = {}): ReceiverDetail => ({
  ...receiver(),
  unwanted_flows: 41,
  dearest: [
    unwantedFlow(),
    unwantedFlow({ flow: "bond.10y", stream: 31, layer: "transport", rate_per_s: 90, cost: 22.5 }),
  ],
  ...change,
});

export const flowMove = (change: Partial<FlowMove> = {}): FlowMove => ({
  flow: "fx.usdjpy",
  rate_per_s: 84,
  users: 31,
  from_stream: 7,
  from_group: 3,
  to_stream: 14,
  to_group: 3,
  ...change,
});

export const stream = (change: Partial<Schemas["Stream"]> = {}): Schemas["Stream"] => ({
  id: "ee333333-3333-4333-8333-333333333307",
  system: SYSTEM,
  system_name: "Quarry",
  name: "s-07",
  version: 2,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  number: 7,
  group: null,
  group_name: null,
  pinned_group: null,
  pinned_group_name: null,
  ...change,
});

export const group = (change: Partial<Schemas["Group"]> = {}): Schemas["Group"] => ({
  id: "ee444444-4444-4444-8444-444444444403",
  system: SYSTEM,
  system_name: "Quarry",
  name: "g-03",
  version: 1,
  created_at: TIME,
  updated_at: TIME,
  allowed_commands: ["edit", "delete"],
  number: 3,
  ...change,
});

export const handOver = (change: Partial<HandOver> = {}): HandOver => ({
  flow: "fx.EURO",
  broker: "0b7c2f1e-3f0a-4a53-9a7b-0d3d5c7b1a01",
  broker_name: "e1",
  from_stream: 7,
  from_group: 1,
  to_stream: 12,
  to_group: 3,
  phase: "done",
  began_at: "2026-03-02T09:30:00.125Z",
  took_s: 0.0054,
  unready: 0,
  ...change,
});

/** Of a system where no agent sends flows on streams, unless there are rows. */
export const handOvers = (rows: HandOver[] = [], change: Partial<HandOvers> = {}): HandOvers => {
  const took = rows.flatMap(({ took_s }) => (took_s === null ? [] : [took_s]));
  return {
    brokers: Math.min(rows.length, 1),
    moving: rows.length - took.length,
    done: took.length,
    median_s: took[0] ?? null,
    longest_s: took.length ? Math.max(...took) : null,
    unready: rows.reduce((sum, { unready }) => sum + unready, 0),
    rows,
    ...change,
  };
};
