/** A number with its unit and the digits rule of its quantity; unknown is a dash without a unit. */
import {
  delayText,
  durationText,
  fixed,
  priceText,
  rateFigure,
  rateText,
  signed,
  UNKNOWN,
  type Maybe,
} from "@/lib/numbers";

type Quantity =
  "rate" | "rate-figure" | "count" | "price" | "percent" | "duration" | "delay" | "utility";

function digits(value: Maybe, as: Quantity, decimals?: number): { text: string; unit: string } {
  switch (as) {
    case "rate":
      return { text: rateText(value), unit: "msg/s" };
    case "rate-figure":
      return rateFigure(value);
    case "price":
      return { text: priceText(value), unit: "" };
    case "percent":
      return {
        text: fixed(value === null || value === undefined ? value : value * 100, decimals ?? 0),
        unit: "%",
      };
    case "duration":
      return durationText(value);
    case "delay":
      return delayText(value);
    case "count":
    case "utility":
      return { text: fixed(value, decimals ?? 0), unit: "" };
  }
}

export function UnitNumber({
  value,
  as = "count",
  unit,
  decimals,
}: {
  value: Maybe;
  as?: Quantity;
  unit?: string;
  decimals?: number;
}) {
  const shown = digits(value, as, decimals);
  if (shown.text === UNKNOWN) return <span>{UNKNOWN}</span>;
  const label = unit ?? shown.unit;
  const title =
    as === "rate-figure" && label.startsWith("k") ? `${fixed(value, 2)} msg/s` : undefined;
  return (
    <span className="nowrap" title={title}>
      {shown.text}
      {label ? <span className="u">{label}</span> : null}
    </span>
  );
}

/** A difference; green and amber only where more is better (or worse) for the user. */
export function Delta({
  value,
  decimals = 0,
  better,
  unit,
}: {
  value: Maybe;
  decimals?: number;
  better?: "up" | "down";
  unit?: string;
}) {
  const text = signed(value, decimals);
  const flat = text === "\u00b10" || text === UNKNOWN;
  const good = better !== undefined && (better === "up") === (value ?? 0) > 0;
  const tone = flat ? "same" : better === undefined ? "" : good ? "up" : "worse";
  return (
    <span className={`nowrap ${tone}`}>
      {text}
      {unit && !flat ? <span className="u">{unit}</span> : null}
    </span>
  );
}
