/** What was found, in sentences: every number with its unit, nothing claimed that was not counted. */
import type {
  Analysis,
  AnalysisDetail,
  AnalysisOutcome,
  Period,
  Suggestion,
} from "@/api/correlation";
import { countText, decimalsFor, fixed, percentText, significant } from "@/lib/numbers";

/** A length of time in the digits that it has: "60 s", "12 ms", "0.3 ms" is "300 \u00b5s". */
export function lengthText(seconds: number, digits = 4): string {
  const [scale, unit] =
    seconds === 0 || seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "\u00b5s"];
  const value = Number((seconds * scale).toPrecision(digits));
  const fraction = /\.(\d+)$/.exec(String(value))?.[1] ?? "";
  return `${fixed(value, fraction.length)}\u00a0${unit}`;
}

/** A share that is not whole is never called whole. */
export const shareText = (share: number): string =>
  share < 1 && share >= 0.995 ? `Over ${percentText(0.99)}` : percentText(share);

/** What is not nothing is never called nothing. */
export function chanceText(share: number): string {
  const percent = share * 100;
  if (percent === 0) return "none";
  if (percent < 0.01) return "less than 0.01 %";
  return `${percent < 10 ? significant(percent, 1) : fixed(percent)} %`;
}

const span = (from: string, unit: string) => `${from}\u00a0${unit}`;

/** "28.0 s", "12 min", "3.5 h": how long a window is. */
export function windowText(seconds: number): string {
  if (seconds < 120) return span(fixed(seconds, decimalsFor(seconds, 2)), "s");
  if (seconds < 7200) return span(fixed(seconds / 60), "min");
  return span(fixed(seconds / 3600, 1), "h");
}

export const sourceText = ({ source, recording }: Pick<Analysis, "source" | "recording">) =>
  source === "measured" ? "measured by agents" : `recording ${recording}`;

export const titleOf = ({ kind, size, period_s: period }: Suggestion): string => {
  const who = countText(size, "publisher");
  return kind === "period" && period !== null
    ? `${who} send every ${lengthText(period)} at the same phase`
    : `${who} send together`;
};

/** Who leads: the first row of the example. */
const leaderOf = ({ example }: Suggestion) => example.rows[0]?.publisher ?? "the leader";

/** Why it is suggested. `within_s` is what counts as together. */
export function evidenceOf(suggestion: Suggestion, within_s: number): string {
  const { kind, size, share, by_chance: chance, spread_s: spread, bursts } = suggestion;
  const seen =
    bursts > 0
      ? ` ${countText(bursts, "burst")} had at least half of them.`
      : " No burst had half of them.";
  // Of one period chance is no share of moments: whose phases meet once meet every time.
  const bystanders = Math.round(chance * size);
  const byChance =
    kind === "event"
      ? `chance would have ${chanceText(chance)}`
      : bystanders === 0
        ? "none of them is expected to have that phase by chance"
        : `about ${fixed(bystanders)} of them ${bystanders === 1 ? "has" : "have"} that phase by chance`;
  return (
    `${shareText(share)} of their moments lie within ${lengthText(within_s)} of a moment of ${leaderOf(suggestion)}, ` +
    `half of these within ${lengthText(spread, 2)}; ${byChance}.${seen}`
  );
}

/** What is known of publishers of one period. */
export function periodText({ period_s: period, publishers, grouped }: Period): string {
  const every = lengthText(period);
  const alone = publishers - grouped;
  if (publishers === 1) return `1 publisher sends every ${every}.`;
  const who = `${fixed(publishers)} publishers send every ${every}`;
  if (grouped === 0) return `${who}, at different phases: not together.`;
  if (alone === 0) return `${who}, all at a phase that they share with others.`;
  return `${who}: ${fixed(grouped)} share their phase with others, ${fixed(alone)} do not.`;
}

/** Who was not judged, and why; empty where all were. */
export function leftOutTexts(
  { too_few: few, untimed }: AnalysisOutcome,
  left: AnalysisDetail["left_out"],
): string[] {
  const { wrong_clock: clocks = 0, unreported = 0, shortened = false } = left ?? {};
  return [
    ...(few > 0
      ? [
          `${countText(few, "publisher")} sent too seldom for a coincidence to mean anything: not judged.`,
        ]
      : []),
    ...(untimed > 0
      ? [
          `${countText(untimed, "publisher")} sent too often for single moments to be told apart: not judged.`,
        ]
      : []),
    ...(clocks > 0
      ? [
          `${countText(clocks, "publisher is", "publishers are")} at brokers whose clocks are wrong by more than 10 min: not judged. Set these clocks (NTP).`,
        ]
      : []),
    ...(unreported > 0
      ? [
          `Of a broker with more, agents report 5,000 publishers at most: ${countText(unreported, "connection")} of publishers, of any topic, ${unreported === 1 ? "was" : "were"} left out.`,
        ]
      : []),
    ...(shortened
      ? ["There were more reports than a search takes: the oldest were left out."]
      : []),
  ];
}

/** Which keys the members in the catalogue carry today. */
export function keysNowText({
  size,
  in_catalogue: known,
  without_key: without,
  keys_now: keys,
}: Suggestion): string {
  if (known === 0)
    return "None of them is a publisher of the topic in the catalogue, so none can get a key.";
  const strangers = size - known;
  const parts = [
    ...(without > 0 ? [`${fixed(without)} without a key`] : []),
    ...keys.map(({ name, publishers }) => `${fixed(publishers)} with ${name}`),
  ];
  const rest =
    strangers > 0
      ? ` ${countText(strangers, "other")} of the ${fixed(size)} ${strangers === 1 ? "is" : "are"} not in it and can get no key.`
      : "";
  return `In the catalogue: ${parts.join(", ")}.${rest}`;
}

type Key = Suggestion["keys_now"][number];

/** What an acceptance would change. */
export type Change = {
  /** Publishers who get the key. */
  gain: number;
  /** Keys that some of these lose. */
  lost: Key[];
  /** Keys that others keep. */
  kept: Key[];
  /** Publishers who carry the key already. */
  already: number;
};

export function changeOf(suggestion: Suggestion, name: string, replace: boolean): Change {
  const others = suggestion.keys_now.filter((key) => key.name !== name);
  const sum = others.reduce((all, { publishers }) => all + publishers, 0);
  return {
    gain: suggestion.without_key + (replace ? sum : 0),
    lost: replace ? others : [],
    kept: replace ? [] : others,
    already: suggestion.keys_now.find((key) => key.name === name)?.publishers ?? 0,
  };
}

/** "12 lose quay, 3 lose dock" */
export const keyList = (keys: readonly Key[], verb: (publishers: number) => string): string =>
  keys.map(({ name, publishers }) => `${fixed(publishers)} ${verb(publishers)} ${name}`).join(", ");
