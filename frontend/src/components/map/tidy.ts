/**
 * Tidy drawing of a tree: brokers of one depth in a row, every broker over the middle of its children,
 * subtrees as close as they fit. d3-hierarchy computes it in linear time and without recursion.
 *
 * Source: Buchheim, Jünger, Leipert: Improving Walker's Algorithm to Run in Linear Time (2002),
 * after Reingold and Tilford.
 */
import { hierarchy, tree as tidyTree } from "d3-hierarchy";

import type { Rooted } from "./tree";

/** Room between the subtrees of different parents, in units of the room between siblings. */
const APART = 1.4;

const layout = tidyTree<number>()
  .nodeSize([1, 1])
  .separation((a, b) => (a.parent === b.parent ? 1 : APART));

/** How far right every broker stands, in units of the room between siblings; trees side by side. */
export function tidy(tree: Rooted): Float64Array {
  const n = tree.ids.length;
  const x = new Float64Array(n);
  // One root above all trees keeps them apart; it is not drawn.
  const top = hierarchy(n, (v) => (v === n ? tree.roots : tree.children[v]));
  for (const node of layout(top)) {
    if (node.data < n) x[node.data] = node.x;
  }
  return x;
}
