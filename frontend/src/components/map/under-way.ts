/** Between two stops: the tree while the links of one step are on their way. */
import { changeOf, edgeKey, edgesAt, type DrawnEdge, type Move, type Timeline } from "./timeline";

/** An action that has begun. */
export type UnderWay = {
  move: Move;
  /** How much of the way is done: 0 at the old end, 1 in place. */
  share: number;
  /** What it is doing, for people; empty once it is in place. */
  words: string;
  /** Brokers whose answer it needs. */
  waits: readonly string[];
};

/** Slides are drawn as they travel; what only joins or leaves shows once it is done. */
const slides = ({ move, share }: UnderWay) => {
  const { gone, come } = changeOf(move);
  return share === 1 || (gone !== null && come !== null);
};

/** The tree at `stop` with what has begun of the step that leads to the stop `toward`. */
export function edgesUnderWay(
  timeline: Timeline,
  stop: number,
  toward: number,
  actions: readonly UnderWay[],
): DrawnEdge[] {
  const [gone, placed] = [new Set<string>(), new Set<string>()];
  for (const action of actions.filter(slides)) {
    const change = changeOf(action.move);
    if (change.gone) gone.add(edgeKey(change.gone));
    if (change.come && action.share === 1) placed.add(edgeKey(change.come));
  }
  const then = new Map(edgesAt(timeline, toward).map((edge) => [edge.key, edge]));
  return [
    ...edgesAt(timeline, stop).filter(({ key }) => !gone.has(key) && !placed.has(key)),
    // A link that goes may be one of the goal: it is still to come, then.
    ...[...gone, ...placed].flatMap((key) => then.get(key) ?? []),
  ];
}
