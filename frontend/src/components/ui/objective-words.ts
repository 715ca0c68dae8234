/** What an objective promises, and how it stands, in words. */
import type { Burn, SloCompliance } from "@/api/objectives";
import type { IconName } from "./icons";
import type { Tone } from "./state-badge";
import { countText, delayText, durationText, fixed, percentText, rateText } from "@/lib/numbers";

export type Quantity = SloCompliance["quantity"];
export type Standing = SloCompliance["standing"];

export const QUANTITIES: Record<Quantity, string> = {
  delay_p50_s: "Median delay",
  delay_p99_s: "p99 delay",
  delay_mean_s: "Mean delay",
  loss_ratio: "Lost messages",
  rate_per_s: "Delivered rate",
};

type Look = { tone: Tone; icon: IconName; word: string; about: string };

export const STANDINGS: Record<Standing, Look> = {
  page: {
    tone: "bad",
    icon: "flame",
    word: "Burns fast",
    about: "The budget burns so fast that somebody must look now.",
  },
  spent: {
    tone: "bad",
    icon: "x",
    word: "Budget spent",
    about: "More minutes were missed than the objective allows.",
  },
  ticket: {
    tone: "warn",
    icon: "flame",
    word: "Burns",
    about: "The budget burns faster than it lasts; somebody must look within days.",
  },
  holds: {
    tone: "good",
    icon: "check",
    word: "Holds",
    about: "Nothing burns, and there is some budget left.",
  },
  not_measured: {
    tone: "idle",
    icon: "clock",
    word: "Not measured",
    about: "Nobody measured the quantity in the window.",
  },
};

/** A value of a quantity with its unit: "95 ms", "0.20 %", "120 msg/s". */
export function valueText(quantity: Quantity, value: number | null | undefined): string {
  if (quantity === "loss_ratio") return percentText(value, 2);
  if (quantity === "rate_per_s") return `${rateText(value)} msg/s`;
  const { text, unit } = delayText(value);
  return `${text} ${unit}`;
}

/** A share as it was typed: "99.9 %". */
export const shareText = (share: number): string => `${Number((share * 100).toPrecision(8))} %`;

const spanText = (seconds: number): string => {
  const { text, unit } = durationText(seconds);
  return `${text} ${unit}`;
};

/** The target as it was typed: a ratio without further digits. */
export const targetText = ({ quantity, target }: SloCompliance): string =>
  quantity === "loss_ratio" ? shareText(target) : valueText(quantity, target);

/** "p99 delay at most 100 ms in 99 % of 30 d". */
export function promiseText(row: SloCompliance): string {
  const { quantity, objective, window_s } = row;
  const side = quantity === "rate_per_s" ? "at least" : "at most";
  return `${QUANTITIES[quantity]} ${side} ${targetText(row)} in ${shareText(objective)} of ${spanText(window_s)}`;
}

/** What is left of the budget: "62 %", or how often it was spent: "spent 1.4 times". */
export function budgetText(left: number | null): string {
  if (left === null) return percentText(null);
  if (left > 0 && left < 0.01) return "below 1 %";
  return left >= 0 ? percentText(left) : `spent ${fixed(1 - left, 1)} times`;
}

const minutesText = (minutes: number): string => spanText(minutes * 60);

/** "the last 60 min and 5 min". */
export const stretchText = (burn: Burn): string =>
  burn.long_minutes === burn.short_minutes
    ? minutesText(burn.long_minutes)
    : `${minutesText(burn.long_minutes)} and ${minutesText(burn.short_minutes)}`;

export const rateOfBurn = (rate: number): string => `${fixed(rate, 1)}×`;

/** What a reader must know to trust the figures; one sentence each. */
export function doubts(row: SloCompliance): string[] {
  const { measured_minutes: measured, too_few_minutes: few, at_gate_minutes: gate } = row;
  const sentences = [];
  if (few > 0) {
    sentences.push(
      `Low traffic: in ${few === measured ? "all measured minutes" : countText(few, "minute")} so few messages passed that a single one may have decided.`,
    );
  }
  if (gate > 0) {
    sentences.push(
      `Of ${gate === measured ? "all measured minutes" : countText(gate, "minute")} only the delay at the gate is known: brokers and links add to it.`,
    );
  }
  return sentences;
}
