/** Which brokers have a colour of their own: the picture and the table of parts give the same. */
import type { Adaptation } from "@/api/adaptation";
import { fixed } from "@/lib/numbers";

/** As many as there are colours. */
const COLOURS = 6;

export type Band = { name: string; brokers: readonly string[]; isRest: boolean };

/** The largest parts in force by name, in the order of the answer; the rest are one band. */
export function foldedOf({ parts }: Adaptation): Band[] {
  const alone = (broker: string): Band => ({ name: broker, brokers: [broker], isRest: false });
  const names = parts.map(({ broker }) => broker);
  if (names.length <= COLOURS) return names.map(alone);
  // By what is in force, not by what is asked now: a broker keeps its colour while parts move.
  const largest = new Set(
    [...parts]
      .sort((a, b) => b.in_force_rate_per_s - a.in_force_rate_per_s)
      .slice(0, COLOURS)
      .map(({ broker }) => broker),
  );
  const rest = names.filter((name) => !largest.has(name));
  return [
    ...names.filter((name) => largest.has(name)).map(alone),
    { name: `${fixed(rest.length)} others`, brokers: rest, isRest: true },
  ];
}

/** The token of a band's colour. */
export const colourName = (bands: readonly Band[], at: number): string =>
  bands[at]?.isRest === false ? `c${at + 1}` : "text-3";

export const colourOfBroker = (bands: readonly Band[], broker: string): string =>
  colourName(
    bands,
    bands.findIndex(({ brokers }) => brokers.includes(broker)),
  );
