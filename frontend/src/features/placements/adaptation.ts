/** What the page reads out of an adaptation: what has moved, how it moved, and the words for it. */
import {
  isElse,
  isMoved,
  type AdaptedPart,
  type Adaptation,
  type AdaptationOrder,
  type Decision,
} from "@/api/adaptation";
import { durationText, fixed, percentText, rateChange, rateText, signed } from "@/lib/numbers";
import { clockText, exactTime } from "@/lib/time";

export const movedParts = ({ parts }: Adaptation): AdaptedPart[] => parts.filter(isMoved);

export const sizeText = (size: number): string => fixed(size, Math.abs(size) < 999.995 ? 2 : 0);

export type Change = { text: string; word: string; tone: "gains" | "gives" | "same" };

const changeOf = (now: number, then: number, text: string): Change =>
  !isElse(now, then) || !/[1-9]/.test(text)
    ? { text: "\u00b10", word: "as in force", tone: "same" }
    : { text, ...(now > then ? MORE : LESS) };
const MORE = { word: "more", tone: "gains" } as const;
const LESS = { word: "less", tone: "gives" } as const;

export const rateMove = (now: number, then: number): Change =>
  changeOf(now, then, rateChange(now, then));
export const sizeMove = (now: number, then: number): Change =>
  changeOf(now, then, signed(now - then, Math.abs(now) < 999.995 ? 2 : 0));

const seconds = (value: number): string => {
  const { text, unit } = durationText(value);
  return `${text} ${unit}`;
};

/** "0.5 s shrink, 300 ms grow"; what has not ended yet has no duration. */
export function tookText({ at, shrunk_at: shrunk, ended_at: ended, state }: Decision): string {
  const between = (from: string, until: string) =>
    seconds(Math.max(0, (Date.parse(until) - Date.parse(from)) / 1000));
  if (state === "given_up") return ended === null ? "" : `after ${between(at, ended)}`;
  return [
    ...(shrunk === null ? [] : [`${between(at, shrunk)} shrink`]),
    ...(shrunk === null || ended === null ? [] : [`${between(shrunk, ended)} grow`]),
  ].join(", ");
}

const MOVES_SHOWN = 3;

/** Who gained and who gave, the gains first; where rates stayed, the sizes. */
export function movesText({ moves }: Decision): string {
  const by = moves.map(({ broker, before, after }) => ({
    broker,
    rate: after.rate_per_s - before.rate_per_s,
    size: after.size - before.size,
    rateText: rateChange(after.rate_per_s, before.rate_per_s),
  }));
  const rates = moves.some(({ before, after }) => isElse(after.rate_per_s, before.rate_per_s));
  const sorted = by.sort((a, b) => (rates ? b.rate - a.rate : b.size - a.size));
  const shown = sorted
    .slice(0, MOVES_SHOWN)
    .map((move) =>
      rates
        ? `${move.broker} ${move.rateText}/s`
        : `${move.broker} ${signed(move.size, 2)} ${Math.abs(move.size) === 1 ? "token" : "tokens"}`,
    );
  const more = sorted.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${fixed(more)} more` : "");
}

/** To the second: decisions follow each other that fast. The date only where it is another day. */
export const momentText = (value: string, now = new Date()): string =>
  exactTime(value).slice(0, 8) + clockText(value, now).slice(5);

export const orderText = ({
  window_s,
  period_s,
  least_share,
}: Pick<Adaptation, keyof AdaptationOrder>): string =>
  `every ${fixed(period_s, decimals(period_s))} s by the last ${fixed(window_s, decimals(window_s))} s; an idle broker keeps ${percentText(least_share, decimals((least_share ?? 0) * 100))} of the bucket where demand leaves enough, and at least a tenth of that`;

const decimals = (value: number | null) =>
  value === null || Math.abs(value - Math.round(value)) < 1e-9 ? 0 : 1;

/** The values of the order, where there is one. */
export function orderOf(adaptation: Adaptation): AdaptationOrder | null {
  const { state, window_s, period_s, least_share } = adaptation;
  return state === "off" || window_s === null || period_s === null || least_share === null
    ? null
    : { window_s, period_s, least_share };
}

/** Sums of what is asked of brokers now, against those of the parts in force. */
export function sumsOf({ parts }: Adaptation) {
  const sum = (of: (part: AdaptedPart) => number) => parts.reduce((all, one) => all + of(one), 0);
  return {
    rate: sum((part) => part.rate_per_s),
    size: sum((part) => part.size),
    rateInForce: sum((part) => part.in_force_rate_per_s),
    sizeInForce: sum((part) => part.in_force_size),
  };
}

export const partText = (rate: number, size: number): string =>
  `${rateText(rate)} tokens/s and ${sizeText(size)} tokens`;

/** Rates by broker at one time. */
export type Moment = { at: number; rates: Readonly<Record<string, number>> };

/** The decisions of the order in force, newest first; those of orders before are not drawn. */
export const drawnOf = ({ decisions, since }: Adaptation): Decision[] => {
  const begin = since === null ? -Infinity : Date.parse(since);
  return decisions.filter(({ at }) => Date.parse(at) >= begin);
};

/** How rates moved under the order in force, oldest first, back from what is asked now. */
export function historyOf(adaptation: Adaptation, now: number): Moment[] {
  const { parts, since } = adaptation;
  const rates: Record<string, number> = Object.fromEntries(
    parts.map((part) => [part.broker, part.rate_per_s]),
  );
  const begin = since === null ? -Infinity : Date.parse(since);
  const own = drawnOf(adaptation);
  const ends = own.map(({ at, ended_at }) => Date.parse(ended_at ?? at));
  const until = Math.max(now, ...ends);
  const newestFirst: Moment[] = own.length > 0 ? [{ at: until, rates: { ...rates } }] : [];
  for (const { at, ended_at, moves } of own) {
    newestFirst.push({ at: Date.parse(ended_at ?? at), rates: { ...rates } });
    // What moved since stays as it is; what moved here was another before.
    for (const { broker, before } of moves) if (broker in rates) rates[broker] = before.rate_per_s;
  }
  const oldest = own.at(-1);
  if (oldest) {
    const start = Date.parse(oldest.at);
    // Somewhat before the first decision, so that what it began from is seen.
    const lead = Math.max(1000, (until - start) * 0.05);
    newestFirst.push({ at: Math.max(begin, start - lead), rates: { ...rates } });
  }
  return newestFirst.reverse();
}
