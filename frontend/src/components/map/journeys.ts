/** What became of every link that a plan touches: where it was, where it ends, in which steps. */
import { changeOf, edgeKey, type Edge, type Timeline } from "./timeline";
import { natural } from "./tree";

export type Journey = {
  key: string;
  /** The broker that the link is said to move with. */
  mover: string;
  before: Edge | null;
  after: Edge | null;
  steps: number[];
};

const shared = (a: Edge, b: Edge) => [a.a, a.b].find((end) => end === b.a || end === b.b);

/** Slides hand one link on from end to end; what is at home again at the goal is left out. */
export function journeysOf({ links, steps }: Pick<Timeline, "links" | "steps">): Journey[] {
  const here = new Map<string, Journey>();
  const all: Journey[] = [];
  const begin = (edge: Edge, before: Edge | null): Journey => {
    const journey = { key: `${all.length}`, mover: "", before, after: edge, steps: [] };
    here.set(edgeKey(edge), journey);
    all.push(journey);
    return journey;
  };
  for (const { a, b, inStart } of links) if (inStart) begin({ a, b }, { a, b });
  steps.forEach((moves, step) => {
    for (const move of moves) {
      const { gone, come } = changeOf(move);
      const carried = gone ? here.get(edgeKey(gone)) : undefined;
      if (gone) here.delete(edgeKey(gone));
      const journey = carried ?? (come ? begin(come, null) : undefined);
      if (!journey) continue;
      journey.after = come;
      journey.mover = move.broker;
      if (journey.steps.at(-1) !== step) journey.steps.push(step);
      if (come) here.set(edgeKey(come), journey);
    }
  });
  return all
    .filter(({ before, after, steps: taken }) => {
      if (taken.length === 0) return false;
      return before === null || after === null || edgeKey(before) !== edgeKey(after);
    })
    .map((journey) => {
      const { before, after } = journey;
      const stays = before && after ? shared(before, after) : undefined;
      return { ...journey, mover: stays ?? journey.mover };
    })
    .sort((a, b) => (a.steps[0] ?? 0) - (b.steps[0] ?? 0) || natural(a.mover, b.mover));
}

export const linkName = ({ a, b }: Edge) =>
  natural(a, b) <= 0 ? `${a} \u2013 ${b}` : `${b} \u2013 ${a}`;

/** "1, 2, 3" or "1 to 9" where all of them follow each other. */
export function stepsText(steps: readonly number[]): string {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined) return "\u2013";
  if (steps.length > 3 && last - first === steps.length - 1) return `${first + 1} to ${last + 1}`;
  if (steps.length > 6) return `${first + 1} to ${last + 1}, ${steps.length} of them`;
  return steps.map((step) => step + 1).join(", ");
}
