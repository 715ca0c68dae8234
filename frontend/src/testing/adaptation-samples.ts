/** Sample adaptations of the topic of the sample placements; their numbers agree with each other. */
import type { Adaptation, AdaptedPart, Decision } from "@/api/adaptation";

export const adaptedPart = (change: Partial<AdaptedPart> = {}): AdaptedPart => ({
  broker: "q-6",
  in_force_rate_per_s: 36_630,
  in_force_size: 15.98,
  rate_per_s: 36_630,
  size: 15.98,
  is_confirmed: true,
  is_silent: false,
  offered_per_s: 33_300,
  passed_per_s: 33_300,
  waiting: 0,
  work_peak: 9.4,
  ...change,
});

const PARTS: AdaptedPart[] = [
  adaptedPart({ rate_per_s: 49_500, size: 21.6, offered_per_s: 45_000, work_peak: 17.8 }),
  adaptedPart({ broker: "q-3", rate_per_s: 33_000, size: 14.4, offered_per_s: 30_000 }),
  adaptedPart({
    ...{ broker: "q-8", in_force_rate_per_s: 36_740, in_force_size: 16.04 },
    ...{ rate_per_s: 27_500, size: 12, offered_per_s: 25_000, work_peak: 6.1 },
  }),
];

export const decision = (change: Partial<Decision> = {}): Decision => ({
  id: 7,
  at: "2026-03-18T14:08:12.000Z",
  cause: "shift",
  sentence: "Rates follow the traffic of q-6: 45,000 msg/s over the last 10 s.",
  state: "done",
  shrunk_at: "2026-03-18T14:08:12.500Z",
  ended_at: "2026-03-18T14:08:12.800Z",
  because: "",
  moves: [
    {
      broker: "q-6",
      before: { rate_per_s: 40_000, size: 17.4 },
      after: { rate_per_s: 49_500, size: 21.6 },
    },
    {
      broker: "q-8",
      before: { rate_per_s: 37_000, size: 16.2 },
      after: { rate_per_s: 27_500, size: 12 },
    },
  ],
  ...change,
});

/** Of a topic whose parts follow its traffic since shortly after the placement. */
export const adaptation = (change: Partial<Adaptation> = {}): Adaptation => ({
  state: "running",
  because: "",
  window_s: 10,
  period_s: 1,
  least_share: 0.02,
  since: "2026-03-18T14:05:00Z",
  stopped_at: null,
  stopped_by: "",
  note: "",
  contract: { token_rate_per_s: 110_000, bucket: 48 },
  parts: PARTS,
  decisions: [
    decision(),
    decision({
      ...{ id: 6, at: "2026-03-18T14:07:31.000Z", ended_at: "2026-03-18T14:07:36.000Z" },
      ...{ state: "given_up", shrunk_at: null },
      because: "q-8 did not confirm within 5 s.",
    }),
    decision({
      ...{ id: 5, at: "2026-03-18T14:06:02.000Z", ended_at: "2026-03-18T14:06:02.900Z" },
      shrunk_at: "2026-03-18T14:06:02.400Z",
      sentence: "Messages wait at q-6 for tokens that others do not use.",
      cause: "backlog",
      moves: [
        {
          broker: "q-6",
          before: { rate_per_s: 36_630, size: 15.98 },
          after: { rate_per_s: 40_000, size: 17.4 },
        },
        {
          broker: "q-3",
          before: { rate_per_s: 36_630, size: 15.98 },
          after: { rate_per_s: 33_000, size: 14.4 },
        },
        {
          broker: "q-8",
          before: { rate_per_s: 36_740, size: 16.04 },
          after: { rate_per_s: 37_000, size: 16.2 },
        },
      ],
    }),
  ],
  allowed_commands: ["stop"],
  ...change,
});

/** Of a topic whose bucket is split, and whose parts stay as they are. */
export const noAdaptation = (change: Partial<Adaptation> = {}): Adaptation =>
  adaptation({
    ...{ state: "off", window_s: null, period_s: null, least_share: null, since: null },
    parts: PARTS.map((part) => ({
      ...part,
      rate_per_s: part.in_force_rate_per_s,
      size: part.in_force_size,
    })),
    ...{ decisions: [], allowed_commands: [] },
    ...change,
  });
