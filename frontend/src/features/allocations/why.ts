/** The words of an explanation: what one consumer brings and costs, and where that would turn. */
import type { ClassPopulation, Explained, Trial } from "@/api/allocations";
import { fixed, priceText, rateText, signed, significant } from "@/lib/numbers";

/** Six figures need no decimals; anything smaller shows four digits that tell it from its price. */
export function amount(value: number): string {
  return Math.abs(value) >= 1000 ? fixed(value) : significant(value, 4);
}

export function question({ admitted, wanted }: ClassPopulation): string {
  if (wanted > 0 && admitted === 0) return "refused";
  return admitted >= wanted ? "admitted" : "admitted in part";
}

const everybody = (wanted: number, one: string, many: string) =>
  wanted === 1 ? `it ${one}` : `all ${fixed(wanted)} ${many}`;

/** Why the number admitted is what it is, by the prices of this answer. */
export function conclusion({ explanation: why, gap, has_prices }: Explained): string {
  const areIn = everybody(why.wanted, "is in", "are in");
  const stayOut = everybody(why.wanted, "stays out", "stay out");
  const some = `${fixed(why.admitted)} of ${fixed(why.wanted)}`;
  switch (why.verdict) {
    case "nobody":
      return "Nobody wants to join.";
    case "worthless":
      return "One adds nothing at this rate, so none is admitted.";
    case "free":
      return `Nothing that it takes is scarce, so ${areIn}.`;
    case "pays":
      return `It brings more than it costs, so ${areIn}.`;
    case "costs_more":
      return `It costs more than it brings, so ${stayOut}.`;
    case "margin":
      if (why.admitted === 0) {
        return `It sits at the margin: it would bring just what it costs, and the room went to others, so ${stayOut}.`;
      }
      if (why.admitted >= why.wanted) {
        return `It sits at the margin: it brings just what it costs, and ${areIn}.`;
      }
      return `It sits at the margin: ${some} fill what room is left.`;
    case "against_prices":
      return has_prices ? deviation(why, gap) : unpriced(why);
  }
}

/** Whole consumers and a method that stops early leave the letter of the prices. */
function deviation(why: Explained["explanation"], gap: number | null): string {
  const some =
    why.admitted === 0 ? "none is" : `${fixed(why.admitted)} of ${fixed(why.wanted)} are`;
  const reason =
    why.value > why.price
      ? why.fits
        ? `By these prices it would pay, and one more would fit, yet ${some} in: the method stopped before it was offered.`
        : `By these prices it would pay, but the node has no room left for one more whole consumer, so ${some} in.`
      : `By these prices it would not pay, yet ${fixed(why.admitted)} of ${fixed(why.wanted)} are in: they use room that was left.`;
  const within =
    gap !== null && why.given_up <= gap
      ? `, within the ${amount(gap)} that this allocation leaves at most`
      : gap === null
        ? ". This method proves no bound on what is left"
        : "";
  return `${reason} That gives up ${amount(why.given_up)} utility${within}.`;
}

function unpriced(why: Explained["explanation"]): string {
  const some =
    why.admitted === 0 ? "None is" : `${fixed(why.admitted)} of ${fixed(why.wanted)} are`;
  return why.fits
    ? `${some} in although one more would fit. This method gives no prices, so it names no reason.`
    : `${some} in, and the node has no room for one more. This method gives no prices to say who took it.`;
}

export type Lever = { what: string; value: string; now: string };

type Why = Explained["explanation"];

/** Not all are in, and not because one costs more than it brings. */
const isInPart = ({ admitted, wanted, verdict }: Why) =>
  admitted < wanted && (verdict === "margin" || verdict === "against_prices");

/** Where value is no less than price only room is missing: how much of what. */
function room(why: Why): Lever[] {
  const rest = why.wanted - why.admitted;
  const who = why.admitted === 0 ? fixed(rest) : `the other ${fixed(rest)}`;
  return why.needs
    .filter((need) => rest * need.units_per_s > need.room)
    .map((need) => ({
      what: `${need.resource} at ${why.node} that ${who} would take`,
      value: `${amount(rest * need.units_per_s)} unit/s`,
      now: `${amount(need.room)} left`,
    }));
}

/** Where the verdict turns, each with everything else as it is. */
export function levers({ explanation: why }: Explained): Lever[] {
  if (isInPart(why)) return room(why);
  const refused = why.verdict === "costs_more";
  if (!refused && why.verdict !== "pays") return [];
  const found: Lever[] = [];
  const say = (refusal: string, admission: string) => (refused ? refusal : admission);
  if (why.scale_at_margin !== null && why.scale_name !== null) {
    const name = why.scale_name.replaceAll("_", " ");
    found.push({
      what: say(`Admitted when its ${name} is at least`, `Stays in down to a ${name} of`),
      value: significant(why.scale_at_margin, 3),
      now: significant(why.scale, 3),
    });
  } else if (why.scale_at_margin !== null && why.value > 0) {
    found.push({
      what: say("Admitted when one is worth at least", "Stays in while one is worth at least"),
      value: amount(why.price),
      now: amount(why.value),
    });
  }
  const binding = why.needs.find((need) => need.resource === why.binding);
  if (binding?.price_at_margin !== null && binding !== undefined) {
    const what = why.needs.length > 1 ? `the price of ${binding.resource}` : "the price";
    found.push({
      what: say(`or ${what} at ${why.node} falls to`, `or ${what} at ${why.node} rises to`),
      value: priceText(binding.price_at_margin),
      now: priceText(binding.price),
    });
  }
  if (why.rate_at_margin_per_s !== null) {
    const falls = why.rate_at_margin_per_s < why.rate_per_s;
    found.push({
      what: `or the rate of ${why.flow} ${falls ? "falls" : "rises"} to`,
      value: rateText(why.rate_at_margin_per_s),
      now: rateText(why.rate_per_s),
    });
  }
  return found;
}

/** One lever, tried by solving everything again. */
export function trialSentence(why: Why, trial: Trial, utilityBefore: number): string {
  const { lever, resource, before, after, admitted, utility } = trial;
  const name = why.scale_name?.replaceAll("_", " ");
  const set =
    lever === "rate"
      ? `With the rate of ${why.flow} at ${after < before ? "most" : "least"} ${rateText(after)} msg/s`
      : lever === "capacity"
        ? `With ${fixed(after)} ${resource} unit/s at ${why.node} instead of ${fixed(before)}`
        : name
          ? `With a ${name} of ${significant(why.scale * after, 3)} instead of ${significant(why.scale, 3)}`
          : `With one worth ${amount(why.value * after)} instead of ${amount(why.value)}`;
  const gains = signed(utility - utilityBefore, Math.abs(utility - utilityBefore) < 100 ? 1 : 0);
  const outcome =
    admitted > why.admitted
      ? `${fixed(admitted)} of ${fixed(why.wanted)} are in, total utility ${gains}.`
      : admitted === 0
        ? "still none is in: prices rose with it."
        : `no more than ${fixed(admitted)} are in: prices rose with it.`;
  return `${set}, ${outcome}`;
}
