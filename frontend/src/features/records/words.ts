/** Words of records: tables, batches, and what became of rows that were set aside. */
import type { RecordBatch, RecordTable, Replayed } from "@/api/records";
import { countText, fixed } from "@/lib/numbers";
import { clockText } from "@/lib/time";

/** Rows that one command takes. */
export const MOST_AT_ONCE = 100_000;

export const TABLES: Record<RecordTable, string> = {
  messages: "Messages",
  deliveries: "Deliveries",
  requests: "Requests",
  samples: "Samples",
};

const leftText = (left: number) =>
  left === 0
    ? ""
    : ` ${countText(left, "more row waits", "more rows wait")}: give the command again.`;

export function replayedText({ taken, set_aside: aside, left }: Replayed): string {
  const still = aside === 0 ? "" : `, ${fixed(aside)} still ${aside === 1 ? "does" : "do"} not fit`;
  return `${fixed(taken)} taken${still}.${leftText(left)}`;
}

export const discardedText = (discarded: number, left: number): string =>
  `${fixed(discarded)} discarded.${leftText(left)}`;

/** A batch that the sender gave no name has its hash for one; one of rows taken later has the id of
 * the batch that they arrived in. */
export function nameText({ name, sha256, replay_of: before }: RecordBatch): string {
  if (name === sha256) return name.slice(0, 12);
  return before === null ? name : name.replace(before, before.slice(0, 8));
}

const momentText = (seconds: number) => clockText(new Date(seconds * 1000));

/** From the first to the last moment of the rows that count; a day that both share stands once. */
export function spanText({ since_s: since, until_s: until }: RecordBatch): string | null {
  if (since === null || until === null) return null;
  const [first, last] = [momentText(since), momentText(until)];
  if (first === last) return first;
  const [clock = first, day] = first.split(", ");
  return `${day !== undefined && last.endsWith(`, ${day}`) ? clock : first} to ${last}`;
}
