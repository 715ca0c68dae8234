/** What changed in the model between two allocations, in sentences. */
import type { Comparison, ModelChange } from "@/api/allocations";
import { countText, fixed, rateText, significant } from "@/lib/numbers";

const TOLD = 3;

const number = (value: number | null) =>
  value === null ? "nothing" : Math.abs(value) >= 1000 ? fixed(value) : significant(value, 4);

const verb = (change: ModelChange) =>
  (change.after ?? 0) > (change.before ?? 0) ? "raised" : "lowered";

const THINGS: Record<ModelChange["what"], string> = {
  node: "Node",
  link: "Link",
  flow: "Flow",
  class: "Class",
};

function moved(change: ModelChange, what: string, text = number): string {
  return `${what} was ${verb(change)} from ${text(change.before)} to ${text(change.after)}`;
}

export function causeSentence(change: ModelChange): string {
  const { name, field, detail, before_text, after_text } = change;
  switch (field) {
    case "added":
      return `${THINGS[change.what]} ${name} came.`;
    case "removed":
      return `${THINGS[change.what]} ${name} went.`;
    case "capacity":
      return `${moved(change, detail ? `${detail} of ${name}` : name)} unit/s.`;
    case "rate_min":
      return `${moved(change, `The lowest rate of ${name}`, rateText)} msg/s.`;
    case "rate_max":
      return `${moved(change, `The highest rate of ${name}`, rateText)} msg/s.`;
    case "population_max":
      return `${countText(change.after ?? 0, "consumer")} of ${name} ${change.after === 1 ? "wants" : "want"} in, ${fixed(change.before)} before.`;
    case "utility":
      return `The utility of ${name} went from ${before_text} to ${after_text}.`;
    case "flow":
    case "node":
      return `Class ${name} moved from ${before_text} to ${after_text}.`;
    default:
      return `${moved(change, `The cost of ${name}${detail ? `, ${detail},` : ""}`)}.`;
  }
}

/** Changes of one kind to many things are one sentence, not many. */
function grouped(causes: readonly ModelChange[]): string[] {
  const kinds = new Map<string, ModelChange[]>();
  for (const cause of causes) {
    const key = `${cause.what} ${cause.field} ${cause.after_text}`;
    kinds.set(key, [...(kinds.get(key) ?? []), cause]);
  }
  return [...kinds.values()].map(([first, ...rest]) => {
    if (first === undefined) return "";
    const sentence = causeSentence(first);
    return rest.length === 0
      ? sentence
      : `${sentence.slice(0, -1)}, and ${fixed(rest.length)} more like it.`;
  });
}

/** All of them, one sentence for each kind of change. */
export function causeList(comparison: Comparison, method: string): string[] {
  if (!comparison.causes_known) {
    return ["The models are too large to say here what changed between them."];
  }
  if (comparison.causes_in_all === 0) {
    return [
      comparison.other_method === method
        ? "The same model: seed, parameters or start differ."
        : `The same model: ${method} instead of ${comparison.other_method}.`,
    ];
  }
  return grouped(comparison.causes);
}

/** The first few, for where there is little room. */
export function causeSentences(comparison: Comparison, method: string): string {
  const sentences = causeList(comparison, method);
  if (!comparison.causes_known || comparison.causes_in_all === 0) return sentences.join(" ");
  const more = sentences.length - TOLD;
  const rest = more > 0 ? ` ${countText(more, "more kind", "more kinds")} of change.` : "";
  return `Cause: ${sentences.slice(0, TOLD).join(" ")}${rest}`;
}
