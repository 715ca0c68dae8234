/** A shadow price in words. */
import { priceText } from "@/lib/numbers";

export function PriceTag({
  price,
  resource,
  place,
}: {
  price: number;
  resource: string;
  place: string;
}) {
  if (priceText(price) === "0") {
    return (
      <span>
        One more {resource} unit/s at <b>{place}</b> is worth nothing now: capacity is left.
      </span>
    );
  }
  return (
    <span>
      One more {resource} unit/s at <b>{place}</b> is worth {priceText(price)} utility.
    </span>
  );
}
