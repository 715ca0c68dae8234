/** Another kind for the same function: what one had there before, else points taken from the curve. */
import { sampled, type XY } from "./points";

import type { UtilityDraft } from "@/features/catalog/spec";
import type { UtilityKind } from "@/features/catalog/utility-kinds";
import { parameterDraft } from "@/lib/parameters";

export function switchedTo(
  kind: UtilityKind,
  {
    from,
    stored,
    tried,
    curve,
    rates,
  }: {
    from: UtilityDraft;
    stored: UtilityDraft;
    tried: Map<string, UtilityDraft>;
    curve: readonly XY[];
    /** Where points would say most: the lowest rate, the rate in force, the end of the chart. */
    rates: readonly number[];
  },
): UtilityDraft {
  tried.set(from.kind, from);
  const before = tried.get(kind.kind) ?? (stored.kind === kind.kind ? stored : undefined);
  if (before) return before;
  const fresh = parameterDraft(kind.parameters);
  const line = kind.parameters.find((parameter) => parameter.type === "points");
  if (line && curve.length > 1) {
    const points = sampled(curve, rates);
    if (points.length > 1) fresh[line.name] = points;
  }
  // What both kinds call the same keeps its value: a weight stays a weight.
  for (const parameter of kind.parameters) {
    const same = from.parameters[parameter.name];
    if (typeof same === "string" && same !== "" && fresh[parameter.name] === "") {
      fresh[parameter.name] = same;
    }
  }
  // A share strictly between two ends, such as an exponent, begins in the middle.
  for (const { name, minimum, maximum, type } of kind.parameters) {
    if (fresh[name] === "" && type === "number" && minimum === 0 && maximum === 1) {
      fresh[name] = "0.5";
    }
  }
  return { kind: kind.kind, parameters: fresh };
}
