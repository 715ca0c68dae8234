/** The scale of the penalty chart: what fits on it, what is cut, what has no bound. */
import type { Outcome, SplitOption } from "@/api/placements";
import { axisTicks, delayScale } from "@/lib/numbers";

export type Verdict = "chosen" | "meets" | "misses" | "";

export type Bar = {
  option: SplitOption;
  kind: "delay" | "unbounded" | "full";
  /** In seconds, as high as it is drawn. */
  processing: number;
  whole: number;
  cut: boolean;
  verdict: Verdict;
  /** Above the bar. */
  label: string;
};

/** What is cut is more than this many times what one has to tell apart. */
const CUT = 4;
/** Room above the highest bar for its value. */
const AIR = 1.12;

const verdictOf = ({ chosen, fits, meets }: SplitOption): Verdict => {
  if (chosen) return "chosen";
  if (!fits || meets === null) return "";
  return meets ? "meets" : "misses";
};

export function chartOf({ curve, contract }: Outcome) {
  const slo = contract.slo_p99_s;
  const known = curve.flatMap(({ p99_s: p99 }) => p99 ?? []);
  const chosen = curve.find((option) => option.chosen)?.p99_s ?? 0;
  const highest = Math.max(...known, slo ?? 0, 0);
  const focus = Math.max(slo ?? 0, chosen, known.length > 0 ? Math.min(...known) : 0);
  const most = (focus > 0 ? Math.min(highest * AIR, focus * CUT) : highest * AIR) || 1e-3;
  const unit = delayScale([...known, slo]);
  const bars = curve.map((option): Bar => {
    const { fits, p99_s: p99, processing_p99_s: processing } = option;
    const part = Math.min(processing ?? most, most);
    const common = { option, verdict: verdictOf(option) };
    if (!fits) {
      return {
        ...common,
        kind: "full",
        processing: 0,
        whole: most * 0.56,
        cut: false,
        label: "does not fit",
      };
    }
    if (p99 === null) {
      return {
        ...common,
        kind: "unbounded",
        processing: part,
        whole: most,
        cut: true,
        label: "no bound",
      };
    }
    const cut = p99 > most;
    return {
      ...common,
      kind: "delay",
      processing: part,
      whole: Math.min(p99, most),
      cut,
      label: unit.text(p99),
    };
  });
  const ticks = axisTicks(0, most * unit.perSecond, 5);
  return { bars, most, ticks, step: (ticks[1] ?? most) - (ticks[0] ?? 0), unit, slo };
}
