/** Sample correlation analyses of the topic of the sample placements; their numbers agree with each other. */
import { SYSTEM } from "./samples";

import type {
  Analysis,
  AnalysisDetail,
  AnalysisOutcome,
  Member,
  PublisherTimes,
  Suggestion,
} from "@/api/correlation";

const ANALYSIS = "cc111111-1111-4111-8111-111111111111";
export const TOPIC = "33333333-3333-4333-8333-333333333333";
/** 18 Mar 2026, 14:02:00 UTC. */
const SINCE_S = 1_773_842_520;

export const analysis = (change: Partial<Analysis> = {}): Analysis => ({
  id: ANALYSIS,
  name: "C-7",
  number: 7,
  system: SYSTEM,
  system_name: "Quarry",
  topic: TOPIC,
  topic_name: "market.depth",
  source: "measured",
  recording: "",
  since: "2026-03-18T14:02:00Z",
  until: "2026-03-18T14:32:00Z",
  within_s: 0.05,
  publishers: 1000,
  judged: 940,
  periodic: 320,
  groups: 2,
  note: "",
  run: "66666666-6666-4666-8666-666666666666",
  run_number: 2041,
  asked_by: "Ines Moreau",
  asked_by_id: "5a111111-1111-4111-8111-111111111111",
  created_at: "2026-03-18T14:33:00Z",
  updated_at: "2026-03-18T14:33:00Z",
  allowed_commands: ["rerun"],
  ...change,
});

export const outcome = (change: Partial<AnalysisOutcome> = {}): AnalysisOutcome => ({
  format: 1,
  topic: "market.depth",
  method: "coincidences",
  search: { within_s: 0.05, least_share: 0.5, smallest_group: 2, false_groups: 0.01 },
  since_s: SINCE_S,
  until_s: SINCE_S + 1800,
  messages: 123_456,
  publishers: 1000,
  judged: 940,
  too_few: 60,
  periodic: 320,
  untimed: 12,
  periods: [
    { period_s: 60, publishers: 280, grouped: 0 },
    { period_s: 0.25, publishers: 40, grouped: 25 },
  ],
  ...change,
});

export const analysisDetail = (change: Partial<AnalysisDetail> = {}): AnalysisDetail => ({
  ...analysis(),
  snapshot_hash: "9c41e0d7".repeat(8),
  model_version: 42,
  parameters: {},
  outcome: outcome(),
  left_out: { wrong_clock: 0, unreported: 0, shortened: false },
  open: 2,
  accepted: 0,
  rejected: 0,
  ...change,
});

export const suggestion = (change: Partial<Suggestion> = {}): Suggestion => ({
  id: "cd111111-1111-4111-8111-111111111111",
  number: 1,
  kind: "event",
  size: 51,
  share: 0.92,
  by_chance: 0.011,
  spread_s: 0.012,
  bursts: 47,
  period_s: null,
  phase_s: null,
  rate_per_s: 3.1,
  example: {
    since_s: SINCE_S,
    until_s: SINCE_S + 100,
    rows: [
      { publisher: "quay-01", at_s: [SINCE_S + 10, SINCE_S + 40, SINCE_S + 81] },
      { publisher: "quay-02", at_s: [SINCE_S + 10.012, SINCE_S + 40.02] },
      { publisher: "quay-03", at_s: [SINCE_S + 9.99, SINCE_S + 55] },
      { publisher: "quay-04", at_s: [SINCE_S + 40.05] },
    ],
  },
  state: "open",
  decided_at: null,
  decided_by: null,
  decided_by_id: null,
  note: "",
  key_id: null,
  key_name: "",
  effect: "",
  name: "quay-3",
  in_catalogue: 38,
  keys_now: [{ name: "quay", publishers: 12 }],
  without_key: 26,
  same_as_key: "",
  rejected_before: null,
  model_version: 42,
  undo: null,
  allowed_commands: ["accept", "reject"],
  ...change,
});

/** Heartbeats that share a phase. */
export const inPhase = (change: Partial<Suggestion> = {}): Suggestion =>
  suggestion({
    ...{ id: "cd111111-1111-4111-8111-111111111112", number: 2, kind: "period", size: 25 },
    ...{ period_s: 0.25, phase_s: 0.1, share: 0.998, by_chance: 0.08, spread_s: 0.0031 },
    ...{ name: "depth-burst-2", in_catalogue: 25, keys_now: [], without_key: 25 },
    ...change,
  });

export const member = (change: Partial<Member> = {}): Member => ({
  publisher: "quay-01",
  id: "99999999-9999-4999-8999-999999999991",
  correlation_key: "quay",
  ...change,
});

export const publisherTimes = (change: Partial<PublisherTimes> = {}): PublisherTimes => ({
  publishers: 40,
  heard: 38,
  timed: 30,
  since: "2026-03-18T14:02:00Z",
  until: "2026-03-18T14:32:00Z",
  messages: 1234,
  wrong_clock: 0,
  unreported: 0,
  shortened: false,
  ...change,
});
