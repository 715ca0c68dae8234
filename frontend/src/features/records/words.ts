/** Words of records: tables, batches, and what became of rows that were set aside. */
import type { RecordBatch, RecordTable, Replayed } from "@/api/records";
import { countText, fixed, UNKNOWN } from "@/lib/numbers";
import { clockText } from "@/lib/time";

/** Rows that one command takes. */
export const MOST_AT_ONCE = 20_000;

export const TABLES: Record<RecordTable, string> = {
  messages: "Messages",
  deliveries: "Deliveries",
  requests: "Requests",
  samples: "Samples",
  delays: "Delays",
};

const leftText = (left: number) =>
  left === 0
    ? ""
    : ` ${countText(left, "more row waits", "more rows wait")}: give the command again.`;

type Counts = Pick<Replayed, "taken" | "set_aside" | "left">;

export function replayedText({ taken, set_aside: aside, left }: Counts): string {
  const still = aside === 0 ? "" : `, ${fixed(aside)} still ${aside === 1 ? "does" : "do"} not fit`;
  return `${fixed(taken)} taken${still}.${leftText(left)}`;
}

export const discardedText = (discarded: number, left: number): string =>
  `${fixed(discarded)} discarded.${leftText(left)}`;

/** A batch that the sender gave no name has its SHA-256 for one. */
export const shortName = (name: string): string =>
  /^[0-9a-f]{64}$/.test(name) ? name.slice(0, 12) : name;

/** Rows taken later are a batch of their own, named after the one that they arrived in. */
export const nameText = ({ name, replay_of_name: before }: RecordBatch): string =>
  before === null
    ? shortName(isOfAgents({ name }) ? name.slice(AGENTS.length) : name)
    : `rows of ${shortName(before)}`;

const AGENTS = "weir:agents/";
/** What agents measured in a minute; no sender may take such a name. */
const isOfAgents = ({ name }: Pick<RecordBatch, "name">) => name.startsWith(AGENTS);

export const senderText = (batch: RecordBatch): string =>
  isOfAgents(batch) ? "Agents" : (batch.sent_by ?? UNKNOWN);

const momentText = (seconds: number) => clockText(new Date(seconds * 1000));

/** From the first to the last moment of the rows that count; a day that both share stands once. */
export function spanText({ since_s: since, until_s: until }: RecordBatch): string | null {
  if (since === null || until === null) return null;
  const [first, last] = [momentText(since), momentText(until)];
  if (first === last) return first;
  const [clock = first, day] = first.split(", ");
  return `${day !== undefined && last.endsWith(`, ${day}`) ? clock : first} to ${last}`;
}
