import { bundle, groupsOf, unitOf } from "./groups";
import { hasPlaces, layered, placesOf, radial } from "./places";
import { tidy } from "./tidy";
import { rooted, type Joined } from "./tree";

const nodesOf = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ id: `b${i}`, name: `b${i}` }));
/** The same pseudo-random tree every time. */
function randomTree(n: number, seed: number): Joined[] {
  let state = seed;
  const next = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  return Array.from({ length: n - 1 }, (_, i) => ({
    source: `b${i + 1}`,
    target: `b${next(i + 1)}`,
  }));
}
const path = (n: number): Joined[] =>
  Array.from({ length: n - 1 }, (_, i) => ({ source: `b${i}`, target: `b${i + 1}` }));

it("roots a tree in its middle and knows every broker's place below it", () => {
  const tree = rooted(nodesOf(5), path(5));
  expect(tree.roots.map((root) => tree.ids[root])).toEqual(["b2"]);
  expect([...tree.depth]).toEqual([2, 1, 0, 1, 2]);
  expect(tree.order).toHaveLength(5);
});

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "draws tree %i without one broker on another or links that cross",
  (seed) => {
    const n = 20 + 37 * seed;
    const [nodes, edges] = [nodesOf(n), randomTree(n, seed)];
    const tree = rooted(nodes, edges);
    const x = tidy(tree);
    const rows = new Map<number, number[]>();
    for (const v of tree.order) {
      const row = rows.get(tree.depth[v] ?? 0) ?? [];
      row.push(v);
      rows.set(tree.depth[v] ?? 0, row);
    }
    for (const row of rows.values()) {
      const sorted = [...row].sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
      sorted.slice(1).forEach((v, index) => {
        const left = sorted[index] ?? 0;
        expect((x[v] ?? 0) - (x[left] ?? 0)).toBeGreaterThan(1 - 1e-9);
        // Rows keep the order of the row above: then no two links between them cross.
        expect(x[tree.parent[left] ?? 0] ?? 0).toBeLessThanOrEqual(
          (x[tree.parent[v] ?? 0] ?? 0) + 1e-9,
        );
      });
    }
    tree.children.forEach((children, v) => {
      const [first, last] = [children[0], children.at(-1)];
      if (first === undefined || last === undefined) return;
      expect(x[v]).toBeCloseTo(((x[first] ?? 0) + (x[last] ?? 0)) / 2);
    });
  },
);

it("draws a path of 20,000 brokers, which is as deep as a tree can be", () => {
  const x = tidy(rooted(nodesOf(20_000), path(20_000)));
  // Two arms side by side, both straight.
  expect(new Set(x).size).toBeLessThanOrEqual(3);
});

it("keeps several trees apart, and a cycle is drawn as the tree in it", () => {
  const places = layered(nodesOf(6), [
    { source: "b0", target: "b1" },
    { source: "b1", target: "b2" },
    { source: "b2", target: "b0" },
    { source: "b3", target: "b4" },
  ]);
  expect(places.size).toBe(6);
  expect(new Set([...places.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(6);
});

it("bends rows into rings: the middle in the middle, nobody twice in one place", () => {
  const [nodes, edges] = [nodesOf(400), randomTree(400, 3)];
  const places = radial(nodes, edges);
  const root = rooted(nodes, edges).roots.map((v) => nodes[v]?.id ?? "")[0] ?? "";
  expect(places.get(root)).toEqual({ x: 0.5, y: 0.5 });
  const spots = [...places.values()].map(({ x, y }) => `${x.toFixed(9)} ${y.toFixed(9)}`);
  expect(new Set(spots).size).toBe(400);
  for (const { x, y } of places.values())
    expect(Math.hypot(x - 0.5, y - 0.5)).toBeLessThan(0.5 + 1e-9);
});

it("stands brokers where they are stored only if all of them are", () => {
  const nodes = nodesOf(3).map((node, i) => ({ ...node, x: i / 4, y: 0.2 }));
  expect(hasPlaces(nodes)).toBe(true);
  expect(placesOf(nodes, path(3)).get("b1")).toEqual({ x: 0.5, y: 0.5 });
  expect(placesOf(nodes, path(3), "tree")).toEqual(layered(nodes, path(3)));
  const half = nodes.map((node, i) => ({ ...node, x: i === 0 ? null : node.x }));
  expect(placesOf(half, path(3))).toEqual(layered(half, path(3)));
});

describe("groups", () => {
  it("are the regions, and branches of the tree where there is none", () => {
    const nodes = nodesOf(6).map((node, i) => ({ ...node, region: i < 3 ? "eu" : "us" }));
    const { groups } = groupsOf(nodes, path(6));
    expect([...groups.values()].map(({ name, members }) => [name, members.length])).toEqual([
      ["eu", 3],
      ["us", 3],
    ]);
    const bare = nodesOf(2000);
    const found = groupsOf(bare, randomTree(2000, 5));
    const sizes = [...found.groups.values()].map(({ members }) => members.length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2000);
    expect(found.groups.size).toBeGreaterThan(8);
    expect(found.groups.size).toBeLessThan(60);
    // Every branch hangs together: brokers less links inside is one.
    const unit = unitOf(found, new Set());
    const { inside } = bundle(
      randomTree(2000, 5).map((edge, id) => ({ ...edge, id: String(id) })),
      unit,
    );
    for (const { id, members } of found.groups.values()) {
      expect(members.length - (inside.get(id)?.length ?? 0)).toBe(1);
    }
  });

  it("bundle the links between two of them, and an open one shows its brokers", () => {
    const nodes = nodesOf(6).map((node, i) => ({ ...node, region: i % 2 ? "eu" : "us" }));
    const grouping = groupsOf(nodes, path(6));
    const edges = path(6).map((edge, id) => ({ ...edge, id: String(id) }));
    const closed = bundle(edges, unitOf(grouping, new Set()));
    expect(closed.between).toHaveLength(1);
    expect(closed.between[0]?.edges).toHaveLength(5);
    const open = bundle(edges, unitOf(grouping, new Set(["group eu"])));
    expect(open.between.map(({ edges: own }) => own.length).sort()).toEqual([1, 2, 2]);
  });
});
