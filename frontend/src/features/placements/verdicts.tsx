/** What was measured against the objective: which broker decides, the badge, and why in words. */
import { delay } from "./sentences";

import type { Measured, MeasuredBroker, Promised, Verdict } from "@/api/placements";
import { Badge } from "@/components/ui/state-badge";
import { durationText, fixed, rateText, type Maybe } from "@/lib/numbers";

/** The worse a verdict, the sooner it decides. */
const WORST_FIRST: readonly Verdict[] = ["missed", "inconclusive", "kept", null];

/** The broker that decides how a round went: of the worst verdict the longest delay. */
export function decidingOf({ brokers }: Measured): MeasuredBroker | null {
  const rank = ({ verdict }: MeasuredBroker) => WORST_FIRST.indexOf(verdict);
  const [worst] = [...brokers].sort((a, b) => rank(a) - rank(b) || b.p99_s - a.p99_s);
  return worst ?? null;
}

/** Whether the mean alone was missed: then the percentile of the row says nothing of why. */
export function missesMeanAlone(
  row: MeasuredBroker,
  { slo_p99_s: p99, slo_mean_s: mean }: Promised,
) {
  const isBeyond = (low: Maybe, slo: Maybe) => (low ?? 0) > (slo ?? Infinity);
  return row.verdict === "missed" && isBeyond(row.mean_low_s, mean) && !isBeyond(row.low_s, p99);
}

/** "26 min" */
export function longText(seconds: number): string {
  const { text, unit } = durationText(seconds);
  return `${text} ${unit}`;
}

export function VerdictBadge({ verdict, title }: { verdict: Verdict; title?: string }) {
  switch (verdict) {
    case "kept":
      return (
        <Badge tone="good" icon="check">
          Kept
        </Badge>
      );
    case "missed":
      return (
        <Badge tone="warn" icon="alert" title={title}>
          Missed
        </Badge>
      );
    case "inconclusive":
      return (
        <Badge tone="waits" icon="hourglass">
          Inconclusive
        </Badge>
      );
    case null:
      return <span className="faint">no SLO</span>;
  }
}

/** What most of a missed delay is, beside its badge. */
export function causeText({ verdict, cause }: MeasuredBroker): string | null {
  if (verdict !== "missed" || cause === null) return null;
  switch (cause) {
    case "processing":
      return "mostly processing";
    case "rate":
      return "more is sent than tokens flow in";
    case "tokens":
      return "mostly the wait for tokens";
  }
}

/** What publishers send may differ by so much from their rates in the model. */
const MOST_APART = 1.25;

const sendsElse = ({ rate_per_s: measured, expected_rate_per_s: expected }: MeasuredBroker) =>
  measured > MOST_APART * expected || expected > MOST_APART * measured;

const of = (brokers: readonly MeasuredBroker[]) => {
  const names = brokers.map(({ broker }) => broker);
  if (names.length > 3)
    return `${names.slice(0, 3).join(", ")} and ${fixed(names.length - 3)} more`;
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
};

/** What to do about a round, one sentence for each thing that is wrong with it. */
export function adviceOn({ brokers, meets }: Measured): string[] {
  const missed = (cause: MeasuredBroker["cause"]) =>
    brokers.filter((one) => one.verdict === "missed" && one.cause === cause);
  const unclear = brokers.filter(({ verdict }) => verdict === "inconclusive");
  const [tokens, processing, unknown] = [missed("tokens"), missed("processing"), missed(null)];
  const rate = missed("rate");
  const other = brokers.filter(sendsElse);
  const shortest = Math.min(...unclear.map(({ seconds }) => seconds));
  return [
    rate.length > 0
      ? `Missed at ${of(rate)}: more is sent than tokens flow in, and what waits grows; raise the topic's token rate or send less. A larger bucket or other brokers do not help.`
      : "",
    tokens.length > 0
      ? `Missed at ${of(tokens)}: most of it is the wait for tokens; a larger bucket or fewer brokers helps, a faster broker does not.`
      : "",
    processing.length > 0
      ? `Missed at ${of(processing)}: most of it is processing; fewer publishers there or a faster broker helps, a larger bucket does not.`
      : "",
    unknown.length > 0 ? `Missed at ${of(unknown)}.` : "",
    unclear.length > 0
      ? `Inconclusive at ${of(unclear)}: measured for ${longText(shortest)}, measure longer.`
      : "",
    ...other.map(
      ({ broker, rate_per_s: measured, expected_rate_per_s: expected }) =>
        `At ${broker} ${rateText(measured)} msg/s were measured where the publishers' rates add up to ${rateText(expected)} msg/s: correct these before the topic is placed again.`,
    ),
    meets === true ? "Every broker kept the objective." : "",
  ].filter((text) => text !== "");
}

/** An interval of a measured percentile; nothing bounds it above where little is measured. */
export const intervalText = (low: number, high: number | null) =>
  high === null ? `from ${delay(low)} on, not bounded yet` : `${delay(low)} to ${delay(high)}`;
