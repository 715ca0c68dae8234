/** Where brokers stand on a map, from 0 to 1 each way: stored places, or a drawing of the tree. */
import { tidy } from "./tidy";
import { natural, rooted, type Joined } from "./tree";

export { natural, type Joined };

export type Placed = {
  id: string;
  name: string;
  x?: number | null;
  y?: number | null;
};

export type Places = ReadonlyMap<string, { x: number; y: number }>;

/** "map": where they are stored; "tree": rows by distance, or rings where rows would be too long. */
export type LayoutName = "map" | "tree";

/** From here on rows are too long for a screen, and the tree is drawn in rings. */
export const RINGS_FROM = 70;

/** Stretch what is stored over the whole width or height; one value alone stands in the middle. */
function spreadOf(values: Iterable<number>): (value: number) => number {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const span = high - low;
  return span > 0 ? (value) => (value - low) / span : () => 0.5;
}

export const hasPlaces = (nodes: readonly Placed[]) =>
  nodes.length > 0 && nodes.every(({ x, y }) => typeof x === "number" && typeof y === "number");

function stored(nodes: readonly Placed[]): Places {
  const across = spreadOf(nodes.map(({ x }) => x ?? 0));
  const down = spreadOf(nodes.map(({ y }) => y ?? 0));
  return new Map(nodes.map(({ id, x, y }) => [id, { x: across(x ?? 0), y: down(y ?? 0) }]));
}

/** Rows by distance from the middle of the tree, nobody's links cross. */
export function layered(nodes: readonly Placed[], edges: readonly Joined[], root?: string): Places {
  const tree = rooted(nodes, edges, root);
  const x = tidy(tree);
  const across = spreadOf(x);
  const deepest = tree.depth.reduce((most, depth) => Math.max(most, depth), 0);
  return new Map(
    tree.ids.map((id, index) => [
      id,
      {
        x: across(x[index] ?? 0),
        y: deepest === 0 ? 0.5 : (tree.depth[index] ?? 0) / deepest,
      },
    ]),
  );
}

/** The same rows bent into rings around the middle of the tree. */
export function radial(nodes: readonly Placed[], edges: readonly Joined[], root?: string): Places {
  const tree = rooted(nodes, edges, root);
  const x = tidy(tree);
  const [low, high] = x.reduce<[number, number]>(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Infinity, -Infinity],
  );
  const alone = tree.roots.length === 1;
  const rings = tree.depth.reduce((most, depth) => Math.max(most, depth), 0) + (alone ? 0 : 1);
  return new Map(
    tree.ids.map((id, index) => {
      const angle = (((x[index] ?? 0) - low) / (high - low + 1)) * 2 * Math.PI;
      const ring = (tree.depth[index] ?? 0) + (alone ? 0 : 1);
      const radius = rings === 0 ? 0 : ring / rings / 2;
      return [id, { x: 0.5 + radius * Math.sin(angle), y: 0.5 - radius * Math.cos(angle) }];
    }),
  );
}

export const treePlaces = (nodes: readonly Placed[], edges: readonly Joined[]): Places =>
  nodes.length >= RINGS_FROM ? radial(nodes, edges) : layered(nodes, edges);

/** Stored places where every broker has one; else the tree, drawn the same way every time. */
export const placesOf = (
  nodes: readonly Placed[],
  edges: readonly Joined[],
  layout: LayoutName = "map",
): Places => (layout === "map" && hasPlaces(nodes) ? stored(nodes) : treePlaces(nodes, edges));
