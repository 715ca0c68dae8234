/**
 * Tidy drawing of a tree: brokers of one depth in a row, every broker over the middle of its children,
 * subtrees as close as they fit. Linear time, and no recursion: a path of 10,000 brokers is a tree too.
 *
 * Source: Buchheim, Jünger, Leipert: Improving Walker's Algorithm to Run in Linear Time (2002),
 * after Reingold and Tilford.
 */
import type { Rooted } from "./tree";

/** Room between the subtrees of different parents, in units of the room between siblings. */
const APART = 1.4;

type State = {
  children: readonly (readonly number[])[];
  parent: Int32Array;
  place: Int32Array;
  prelim: Float64Array;
  mod: Float64Array;
  change: Float64Array;
  shift: Float64Array;
  thread: Int32Array;
  ancestor: Int32Array;
};

const nextLeft = (s: State, v: number) => s.children[v]?.[0] ?? s.thread[v] ?? -1;
const nextRight = (s: State, v: number) => s.children[v]?.at(-1) ?? s.thread[v] ?? -1;
const get = (of: Float64Array, v: number) => of[v] ?? 0;

function moveSubtree(s: State, left: number, right: number, by: number) {
  const between = (s.place[right] ?? 0) - (s.place[left] ?? 0);
  s.change[right] = get(s.change, right) - by / between;
  s.shift[right] = get(s.shift, right) + by;
  s.change[left] = get(s.change, left) + by / between;
  s.prelim[right] = get(s.prelim, right) + by;
  s.mod[right] = get(s.mod, right) + by;
}

/** Push the subtree of v away from those left of it, along both contours at once. */
function apportion(s: State, v: number, fallback: number): number {
  const siblings = s.children[s.parent[v] ?? -1] ?? [];
  const w = siblings[(s.place[v] ?? 0) - 1];
  if (w === undefined) return fallback;
  let [insideRight, outsideRight, insideLeft, outsideLeft] = [v, v, w, siblings[0] ?? w];
  let sumInsideRight = get(s.mod, insideRight);
  let sumOutsideRight = get(s.mod, outsideRight);
  let sumInsideLeft = get(s.mod, insideLeft);
  let sumOutsideLeft = get(s.mod, outsideLeft);
  let result = fallback;
  for (;;) {
    const [right, left] = [nextRight(s, insideLeft), nextLeft(s, insideRight)];
    if (right === -1 || left === -1) break;
    insideLeft = right;
    insideRight = left;
    outsideLeft = nextLeft(s, outsideLeft);
    outsideRight = nextRight(s, outsideRight);
    s.ancestor[outsideRight] = v;
    const overlap =
      get(s.prelim, insideLeft) + sumInsideLeft - (get(s.prelim, insideRight) + sumInsideRight) +
      (s.parent[insideLeft] === s.parent[insideRight] ? 1 : APART);
    if (overlap > 0) {
      const above = s.ancestor[insideLeft] ?? -1;
      const from = s.parent[above] === s.parent[v] ? above : result;
      moveSubtree(s, from, v, overlap);
      sumInsideRight += overlap;
      sumOutsideRight += overlap;
    }
    sumInsideLeft += get(s.mod, insideLeft);
    sumInsideRight += get(s.mod, insideRight);
    sumOutsideLeft += get(s.mod, outsideLeft);
    sumOutsideRight += get(s.mod, outsideRight);
  }
  if (nextRight(s, insideLeft) !== -1 && nextRight(s, outsideRight) === -1) {
    s.thread[outsideRight] = nextRight(s, insideLeft);
    s.mod[outsideRight] = get(s.mod, outsideRight) + sumInsideLeft - sumOutsideRight;
  }
  if (nextLeft(s, insideRight) !== -1 && nextLeft(s, outsideLeft) === -1) {
    s.thread[outsideLeft] = nextLeft(s, insideRight);
    s.mod[outsideLeft] = get(s.mod, outsideLeft) + sumInsideRight - sumOutsideLeft;
    result = v;
  }
  return result;
}

/** Children before the broker above them, left to right. */
function bottomUp(children: readonly (readonly number[])[], root: number): number[] {
  const found: number[] = [];
  const stack: [number, number][] = [[root, 0]];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const [v, next] = top;
    const child = children[v]?.[next];
    top[1] += 1;
    if (child === undefined) {
      found.push(v);
      stack.pop();
    } else stack.push([child, 0]);
  }
  return found;
}

/** How far right every broker stands, in units of the room between siblings; trees side by side. */
export function tidy(tree: Rooted): Float64Array {
  const n = tree.ids.length;
  // One root above all trees keeps them apart; it is not drawn.
  const children = [...tree.children, tree.roots];
  const parent = new Int32Array(n + 1);
  parent.set(tree.parent);
  for (const root of tree.roots) parent[root] = n;
  parent[n] = -1;
  const place = new Int32Array(n + 1);
  for (const list of children) list.forEach((child, index) => (place[child] = index));
  const s: State = {
    children,
    parent,
    place,
    prelim: new Float64Array(n + 1),
    mod: new Float64Array(n + 1),
    change: new Float64Array(n + 1),
    shift: new Float64Array(n + 1),
    thread: new Int32Array(n + 1).fill(-1),
    ancestor: Int32Array.from({ length: n + 1 }, (_, index) => index),
  };
  const fallback = Int32Array.from({ length: n + 1 }, (_, v) => children[v]?.[0] ?? -1);
  for (const v of bottomUp(children, n)) {
    const list = children[v] ?? [];
    let [shift, change] = [0, 0];
    for (let index = list.length - 1; index >= 0; index -= 1) {
      const w = list[index] ?? 0;
      s.prelim[w] = get(s.prelim, w) + shift;
      s.mod[w] = get(s.mod, w) + shift;
      change += get(s.change, w);
      shift += get(s.shift, w) + change;
    }
    const middle =
      list.length > 0
        ? (get(s.prelim, list[0] ?? 0) + get(s.prelim, list.at(-1) ?? 0)) / 2
        : 0;
    const siblings = children[parent[v] ?? -1] ?? [];
    const left = siblings[(place[v] ?? 0) - 1];
    if (left === undefined) s.prelim[v] = middle;
    else {
      s.prelim[v] = get(s.prelim, left) + 1;
      s.mod[v] = get(s.prelim, v) - middle;
    }
    const above = parent[v] ?? -1;
    if (above !== -1) fallback[above] = apportion(s, v, fallback[above] ?? -1);
  }
  const x = new Float64Array(n);
  const carried = new Float64Array(n + 1);
  carried[n] = get(s.mod, n);
  for (const v of tree.order) {
    const sum = get(carried, parent[v] ?? n);
    x[v] = get(s.prelim, v) + sum;
    carried[v] = sum + get(s.mod, v);
  }
  return x;
}
