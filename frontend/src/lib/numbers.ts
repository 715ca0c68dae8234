/** Digits of every number on the screen: visual language, section 4. */

export const MINUS = "\u2212";
export const UNKNOWN = "\u2013";

export type Maybe = number | null | undefined;

const known = (value: Maybe): value is number => typeof value === "number" && !Number.isNaN(value);

/** Thousands separated, a true minus, a fixed number of decimals. */
export function fixed(value: Maybe, decimals = 0): string {
  if (!known(value)) return UNKNOWN;
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : `${MINUS}\u221e`;
  const text = Math.abs(value).toLocaleString("en", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  const isZero = !/[1-9]/.test(text);
  return value < 0 && !isZero ? MINUS + text : text;
}

/** Decimals that show `digits` significant digits of `value`. */
export function decimalsFor(value: number, digits: number): number {
  if (value === 0 || !Number.isFinite(value)) return 0;
  return Math.min(12, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
}

export function significant(value: Maybe, digits: number): string {
  if (!known(value)) return UNKNOWN;
  return fixed(value, decimalsFor(value, digits));
}

/** A rate in messages per second: two decimals under 100, none from there on. */
export function rateText(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return fixed(value, Math.abs(value) < 99.995 ? 2 : 0);
}

/** A rate as a figure: above 99,999 in thousands, the full number then belongs in the tooltip. */
export function rateFigure(value: Maybe): { text: string; unit: string } {
  if (known(value) && Math.abs(value) > 99_999) {
    return { text: fixed(value / 1000, 1), unit: "k msg/s" };
  }
  return { text: rateText(value), unit: "msg/s" };
}

/** One unit and one number of decimals for amounts that stand together: thousands where the largest is
 * above 99,999, two decimals where it is under 100. */
export function amountScale(values: readonly Maybe[], unit: string) {
  const largest = Math.max(0, ...values.filter(known).filter(Number.isFinite).map(Math.abs));
  const isLarge = largest > 99_999;
  const decimals = isLarge ? 1 : largest < 99.995 ? 2 : 0;
  const text = (value: Maybe) => fixed(known(value) && isLarge ? value / 1000 : value, decimals);
  return { unit: isLarge ? `k ${unit}` : unit, per: isLarge ? 1000 : 1, decimals, text };
}

/** A fraction of capacity; "108 %" with a space. */
export function percentText(fraction: Maybe, decimals = 0): string {
  return known(fraction) ? `${fixed(fraction * 100, decimals)} %` : UNKNOWN;
}

/** Signed, with ±0 for no change at the precision shown. */
export function signed(value: Maybe, decimals = 0): string {
  if (!known(value)) return UNKNOWN;
  const text = fixed(Math.abs(value), decimals);
  if (!/[1-9]/.test(text)) return "\u00b10";
  return (value > 0 ? "+" : MINUS) + text;
}

/** The change of a rate takes the decimals of the rate that it changes. */
export function rateChange(now: Maybe, before: Maybe): string {
  if (!known(now) || !known(before)) return UNKNOWN;
  return signed(now - before, Math.abs(now) < 99.995 ? 2 : 0);
}

/** Relative change, three significant digits as in "+1.59 %" and "−45.6 %". */
export function relativeChange(now: Maybe, before: Maybe): string {
  if (!known(now) || !known(before) || before === 0) return UNKNOWN;
  const change = ((now - before) / Math.abs(before)) * 100;
  if (change === 0) return "\u00b10";
  const text = signed(change, Math.min(2, decimalsFor(change, 3)));
  return text === "\u00b10" ? text : `${text} %`;
}

/** A relative gap in percent: never "0" unless proven equal, no digits that mean nothing. */
export function gapPercent(gap: Maybe): string {
  if (!known(gap)) return UNKNOWN;
  const percent = gap * 100;
  if (percent === 0) return "0";
  if (Math.abs(percent) < 1e-6) return "< 0.000001";
  return fixed(percent, decimalsFor(percent, Math.abs(percent) >= 0.1 ? 2 : 1));
}

/** Distance to the bound in percent of it. */
export function gapText(value: Maybe, bound: Maybe): string {
  if (!known(value) || !known(bound) || bound === 0) return UNKNOWN;
  return gapPercent((bound - value) / Math.abs(bound));
}

/** A price: four significant digits, noise is 0. */
export function priceText(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  return Math.abs(value) < PRICE_NOISE ? "0" : significant(value, 4);
}

/** Below this a price is what a falling price leaves behind, not a price. */
const PRICE_NOISE = 1e-9;

/** One number of decimals for a column of prices: four significant digits of its largest. */
export function priceDecimals(values: readonly Maybe[]): number {
  const largest = Math.max(0, ...values.filter(known).map(Math.abs));
  return largest < PRICE_NOISE ? 0 : decimalsFor(largest, 4);
}

/** The unit that gives 1 to 999; from a minute on, whole units. */
export function durationText(seconds: Maybe): { text: string; unit: string } {
  if (!known(seconds)) return { text: UNKNOWN, unit: "" };
  const s = Math.abs(seconds);
  const sign = seconds < 0 ? MINUS : "";
  const show = (value: number, unit: string, decimals: number) => ({
    text: sign + fixed(value, decimals),
    unit,
  });
  if (s === 0) return { text: "0", unit: "s" };
  if (s < 0.9995e-3) return show(s * 1e6, "\u00b5s", 0);
  if (s < 0.9995) return show(s * 1e3, "ms", s < 0.01 ? 2 : 0);
  if (s < 59.95) return show(s, "s", s < 10 ? 1 : 0);
  if (s < 3570) return show(s / 60, "min", 0);
  if (s < 86_000) return show(s / 3600, "h", 0);
  return show(s / 86_400, "d", 0);
}

/** Three digits of a time that is measured and typed: 2.15 s, 377 ms. */
export function secondsText(seconds: Maybe): string {
  if (known(seconds) && Math.abs(seconds) >= 0.9995) return `${significant(seconds, 3)} s`;
  const { text, unit } = durationText(seconds);
  return `${text} ${unit}`.trim();
}

/** One unit and one number of decimals for delays that stand together: microseconds where all are below
 * 0.1 ms, two decimals under 10. */
export function delayScale(seconds: readonly Maybe[]) {
  const some = seconds.filter(known).filter(Number.isFinite).map(Math.abs);
  const largest = Math.max(0, ...some);
  const isTiny = largest > 0 && largest < 1e-4;
  const perSecond = isTiny ? 1e6 : 1e3;
  const smallest = Math.min(...some.filter((value) => value > 0), largest) * perSecond;
  const decimals = smallest < 9.995 ? (isTiny ? 1 : 2) : smallest < 99.95 ? 1 : 0;
  return {
    unit: isTiny ? "\u00b5s" : "ms",
    perSecond,
    decimals,
    text: (value: Maybe) => fixed(known(value) ? value * perSecond : value, decimals),
  };
}

/** One delay, with its own unit and decimals: "0.68 ms", "42.0 \u00b5s". */
export function delayText(seconds: Maybe): { text: string; unit: string } {
  const scale = delayScale([seconds]);
  return { text: scale.text(seconds), unit: scale.unit };
}

const BYTE_UNITS = ["bytes", "KiB", "MiB", "GiB"] as const;

/** The unit of data that stands together, by the largest of it: "4.0 of 96.0 MiB". */
export function dataScale(largest: number) {
  const power = largest < 1 ? 0 : Math.min(3, Math.floor(Math.log2(largest) / 10));
  const unit = BYTE_UNITS[power] ?? "bytes";
  return {
    unit,
    text: (bytes: Maybe) => fixed(known(bytes) ? bytes / 1024 ** power : bytes, power && 1),
  };
}

/** One amount of data with its unit: "812 bytes", "1.5 MiB". */
export function dataText(bytes: number): string {
  const scale = dataScale(bytes);
  return `${scale.text(bytes)} ${bytes === 1 ? "byte" : scale.unit}`;
}

export function countText(n: number, one: string, many = `${one}s`): string {
  return `${fixed(n)} ${n === 1 ? one : many}`;
}

/** Ticks for an axis: round steps that cover [low, high]. */
export function axisTicks(low: number, high: number, wanted = 5): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? raw;
  const ticks: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

/** Short axis label: 1.20 M, 12 k, 0.5. */
export function axisText(value: number, step: number): string {
  const magnitude = Math.max(Math.abs(value), Math.abs(step));
  const [scale, suffix] = magnitude >= 1e6 ? [1e6, " M"] : magnitude >= 1e4 ? [1e3, " k"] : [1, ""];
  // As few decimals as tell the ticks apart: 2.5 needs one, 100,000 of a million needs one.
  const stepScaled = Number((Math.abs(step) / scale).toPrecision(6));
  const decimals = Math.min(
    6,
    (/\.(\d+)$/.exec(stepScaled.toFixed(6).replace(/0+$/, ""))?.[1] ?? "").length,
  );
  return value === 0 ? "0" : fixed(value / scale, decimals) + suffix;
}
