/** What receiving and moving costs: the settings with their units and bounds, and what they mean. */
import type { MappingSettings } from "@/api/mappings";
import { countText, fixed, significant } from "@/lib/numbers";
import { readNumber } from "@/lib/parameters";
import type { FieldProblem } from "@/lib/problem";

export type WeightName =
  | "transport"
  | "messaging"
  | "aggregation"
  | "flow_move_work"
  | "stream_move_work"
  | "horizon_s"
  | "flows_per_s";

type Weight = {
  name: WeightName;
  label: string;
  unit: string;
  hint: string;
  least: number;
  most: number;
};

/** The bounds of the API. */
const LARGEST = 1e30;
const LONG = 1e8;

export const WEIGHTS: readonly Weight[] = [
  {
    ...{ name: "transport", label: "Receiving a packet", unit: "work/packet" },
    ...{ hint: "Of every group that a user joined.", least: 0, most: LARGEST },
  },
  {
    ...{ name: "messaging", label: "Receiving a message", unit: "work/msg" },
    ...{ hint: "Of every stream that a user takes.", least: 0, most: LARGEST },
  },
  {
    ...{ name: "aggregation", label: "Messages in a packet", unit: "msg/packet" },
    ...{ hint: "On average, at least 1.", least: 1, most: LONG },
  },
  {
    ...{ name: "flow_move_work", label: "Moving a flow", unit: "work" },
    ...{ hint: "To another stream, by all users.", least: 0, most: LARGEST },
  },
  {
    ...{ name: "stream_move_work", label: "Moving a stream", unit: "work" },
    ...{ hint: "To another group, by all users.", least: 0, most: LARGEST },
  },
  {
    ...{ name: "horizon_s", label: "Horizon", unit: "s", least: 1, most: LONG },
    hint: "The time over which a move has to pay for itself, at least 1 s.",
  },
  {
    ...{ name: "flows_per_s", label: "Pace", unit: "flows/s", least: 0.001, most: LONG },
    hint: "Flows, or streams, that a plan moves in a second.",
  },
];

export type WeightDraft = Record<WeightName, string>;
export type WeightValues = Record<WeightName, number>;

export const valuesOf = (row: MappingSettings): WeightValues => ({
  transport: row.transport ?? 0,
  messaging: row.messaging ?? 0,
  aggregation: row.aggregation ?? 1,
  flow_move_work: row.flow_move_work ?? 0,
  stream_move_work: row.stream_move_work ?? 0,
  horizon_s: row.horizon_s ?? 1,
  flows_per_s: row.flows_per_s ?? 1,
});

export function weightDraft(row: MappingSettings): WeightDraft {
  const values = valuesOf(row);
  return Object.fromEntries(WEIGHTS.map(({ name }) => [name, String(values[name])])) as WeightDraft;
}

/** What is typed, as numbers; what cannot be one is missing, and said at its field. */
export function readWeights(draft: WeightDraft) {
  const values: Partial<WeightValues> = {};
  const errors: FieldProblem[] = [];
  for (const { name, unit, least, most } of WEIGHTS) {
    const value = readNumber(draft[name]);
    const refuse = (message: string) => errors.push({ field: name, message });
    if (value === null) refuse("Give a number.");
    else if (Number.isNaN(value)) refuse(`"${draft[name]}" is not a number.`);
    else if (value < least) refuse(`Give at least ${plain(least)} ${unit}.`);
    else if (value > most) refuse(`Give at most ${most.toExponential(0)} ${unit}.`);
    else values[name] = value;
  }
  return { values, errors };
}

/** As many digits as were typed. */
export const plain = (value: number) =>
  value.toLocaleString("en", { maximumSignificantDigits: 15 });

const SPANS = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
] as const;

/** A span in the largest unit in which it is a whole number above one, else in seconds. */
export function spanText(seconds: number): string {
  const [size, unit] = SPANS.find(([of]) => seconds > of && seconds % of === 0) ?? [1, "s"];
  return `${plain(seconds / size)} ${unit}`;
}

const short = (value: number) => (Number.isInteger(value) ? fixed(value) : significant(value, 2));

/** What a move is charged while a map is looked for. */
export function chargeText({
  flow_move_work: flow,
  stream_move_work: stream,
  horizon_s: horizon,
}: Pick<WeightValues, "flow_move_work" | "stream_move_work" | "horizon_s">): string {
  const over = `work over ${spanText(horizon)}`;
  return (
    `A moved flow is charged ${short(flow / horizon)} work/s: ${plain(flow)} ${over}. ` +
    `A moved stream ${short(stream / horizon)} work/s: ${plain(stream)} ${over}.`
  );
}

/** What one message costs a user that does not want it, at both layers. */
export const filterText = ({
  transport,
  messaging,
  aggregation,
}: Pick<WeightValues, "transport" | "messaging" | "aggregation">): string =>
  `An unwanted message costs ${short(messaging)} work where its stream is taken, and ` +
  `${short(transport / aggregation)} work where the stream is dropped whole.`;

/** "transport 2, messaging 1, aggregation 8". */
export const weightsText = (
  weights: Pick<WeightValues, "transport" | "messaging" | "aggregation">,
): string =>
  `transport ${plain(weights.transport)}, messaging ${plain(weights.messaging)}, ` +
  `aggregation ${plain(weights.aggregation)}`;

export type WeightChange = { name: WeightName; label: string; text: string };

/** What differs, in the order of the fields. */
export const changesBetween = (
  before: WeightValues,
  after: Partial<WeightValues>,
): WeightChange[] =>
  WEIGHTS.flatMap(({ name, label, unit }) => {
    const value = after[name];
    if (value === undefined || value === before[name]) return [];
    return [{ name, label, text: `${plain(before[name])} to ${plain(value)} ${unit}` }];
  });

/** "200 streams in 20 groups". */
export const streamsText = (streams: number, groups: number) =>
  `${countText(streams, "stream")} in ${countText(groups, "group")}`;
