/** Trees as arrays: who stands below whom, from the middle of the tree or from a given broker. */
export type Joined = { source: string; target: string };

const collator = new Intl.Collator("en", { numeric: true });

export const natural = (a: string, b: string) => collator.compare(a, b);

export type Rooted = {
  ids: readonly string[];
  /** Position in `ids` of the broker above; -1 at a root. */
  parent: Int32Array;
  children: readonly (readonly number[])[];
  depth: Int32Array;
  /** Every broker after the one above it. */
  order: readonly number[];
  roots: readonly number[];
};

function neighboursOf(ids: readonly string[], edges: readonly Joined[]): number[][] {
  const at = new Map(ids.map((id, index) => [id, index]));
  const found: number[][] = ids.map(() => []);
  for (const { source, target } of edges) {
    const [a, b] = [at.get(source), at.get(target)];
    if (a === undefined || b === undefined || a === b) continue;
    found[a]?.push(b);
    found[b]?.push(a);
  }
  return found;
}

/** The brokers left when the leaves are taken away round by round: one or two in the middle. */
function middleOf(neighbours: readonly (readonly number[])[]): Int32Array {
  const degree = neighbours.map((list) => list.length);
  const round = new Int32Array(neighbours.length);
  let leaves = degree.flatMap((count, index) => (count <= 1 ? [index] : []));
  for (let at = 1; leaves.length > 0; at += 1) {
    const next: number[] = [];
    for (const leaf of leaves) round[leaf] = at;
    for (const leaf of leaves) {
      for (const other of neighbours[leaf] ?? []) {
        const left = (degree[other] ?? 0) - 1;
        degree[other] = left;
        if (left === 1 && round[other] === 0) next.push(other);
      }
    }
    leaves = next;
  }
  // What stands on a cycle is never a leaf: it is the middle.
  return round.map((at) => (at === 0 ? neighbours.length + 1 : at));
}

/** A spanning forest, each tree rooted in its middle (or at `root`), children in the order of names. */
export function rooted(
  nodes: readonly { id: string; name: string }[],
  edges: readonly Joined[],
  root?: string,
): Rooted {
  const ids = nodes.map((node) => node.id);
  const names = nodes.map((node) => node.name);
  const neighbours = neighboursOf(ids, edges);
  const middle = middleOf(neighbours);
  const wanted = root === undefined ? -1 : ids.indexOf(root);
  const first = ids
    .map((_, index) => index)
    .sort(
      (a, b) =>
        Number(b === wanted) - Number(a === wanted) ||
        (middle[b] ?? 0) - (middle[a] ?? 0) ||
        (neighbours[b]?.length ?? 0) - (neighbours[a]?.length ?? 0) ||
        natural(names[a] ?? "", names[b] ?? ""),
    );
  const parent = new Int32Array(ids.length).fill(-1);
  const depth = new Int32Array(ids.length).fill(-1);
  const children: number[][] = ids.map(() => []);
  const order: number[] = [];
  const roots: number[] = [];
  for (const start of first) {
    if (depth[start] !== -1) continue;
    roots.push(start);
    depth[start] = 0;
    let head = order.length;
    order.push(start);
    while (head < order.length) {
      const here = order[head] ?? 0;
      head += 1;
      const below = (neighbours[here] ?? []).filter((other) => depth[other] === -1);
      below.sort((a, b) => natural(names[a] ?? "", names[b] ?? ""));
      for (const other of below) {
        if (depth[other] !== -1) continue;
        depth[other] = (depth[here] ?? 0) + 1;
        parent[other] = here;
        children[here]?.push(other);
        order.push(other);
      }
    }
  }
  return { ids, parent, children, depth, order, roots };
}
