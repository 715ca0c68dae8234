/** The parts of a promise: how each is named, its figures in its unit, and what became of it. */
import type { PromisePart } from "@/api/plans";
import type { IconName } from "@/components/ui/icons";
import type { Tone } from "@/components/ui/state-badge";
import { delayText, fixed, percentText, rateText, significant, UNKNOWN } from "@/lib/numbers";

export const QUANTITIES: Record<PromisePart["quantity"], string> = {
  rate: "Rate",
  consumers: "Consumers",
  load: "Load",
  delay: "Delay",
  traffic: "Traffic",
  filtering: "Filtering",
  wait: "Wait",
};

export const KEPT: Record<PromisePart["kept"], { word: string; tone: Tone; icon: IconName }> = {
  kept: { word: "Kept", tone: "good", icon: "check" },
  missed: { word: "Missed", tone: "warn", icon: "x" },
  unknown: { word: "Cannot be told", tone: "idle", icon: "info" },
};

/** A figure of a part with its unit. */
export function figureText({ quantity }: PromisePart, value: number | null): string {
  if (value === null) return UNKNOWN;
  switch (quantity) {
    case "rate":
      return `${rateText(value)} msg/s`;
    case "consumers":
      return fixed(value, Number.isInteger(value) ? 0 : 1);
    case "load":
      return percentText(value, 1);
    case "traffic":
      return `${rateText(value)} msg/s`;
    case "filtering":
      return `${significant(value, 3)} work/s`;
    case "delay":
    case "wait": {
      // In seconds from one on: a message that waits behind a gate waits for minutes.
      if (value >= 1) return `${significant(value, 3)} s`;
      const { text, unit } = delayText(value);
      return `${text} ${unit}`;
    }
  }
}

/** What was promised of a part: a limit, or that all may come; of a load and a delay the most. */
export const promisedText = (part: PromisePart): string =>
  part.promised === null
    ? "no limit"
    : part.quantity === "rate" || part.quantity === "consumers"
      ? figureText(part, part.promised)
      : `\u2264 ${figureText(part, part.promised)}`;
