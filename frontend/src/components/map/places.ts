/** Where brokers stand on a map, from 0 to 1 each way: stored places, else rows by distance from the hub. */
export type Placed = {
  id: string;
  name: string;
  x?: number | null;
  y?: number | null;
};

export type Joined = { source: string; target: string };

export type Places = ReadonlyMap<string, { x: number; y: number }>;

export const natural = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

/** Depth of every broker from the best connected one, level by level, in the order of names. */
function levelsOf(nodes: readonly Placed[], edges: readonly Joined[]): string[][] {
  const neighbours = new Map<string, string[]>(nodes.map((node) => [node.id, [] as string[]]));
  for (const { source, target } of edges) {
    neighbours.get(source)?.push(target);
    neighbours.get(target)?.push(source);
  }
  const names = new Map(nodes.map((node) => [node.id, node.name]));
  const byName = (a: string, b: string) => natural(names.get(a) ?? "", names.get(b) ?? "");
  const roots = [...neighbours.keys()].sort(
    (a, b) => (neighbours.get(b)?.length ?? 0) - (neighbours.get(a)?.length ?? 0) || byName(a, b),
  );
  const levels: string[][] = [];
  const seen = new Set<string>();
  for (const root of roots) {
    if (seen.has(root)) continue;
    seen.add(root);
    let level = [root];
    for (let depth = 0; level.length > 0; depth += 1) {
      (levels[depth] ??= []).push(...level);
      const next: string[] = [];
      for (const id of level) {
        for (const other of [...(neighbours.get(id) ?? [])].sort(byName)) {
          if (seen.has(other)) continue;
          seen.add(other);
          next.push(other);
        }
      }
      level = next;
    }
  }
  return levels;
}

/** Stretch what is stored over the whole width or height; one value alone stands in the middle. */
function spreadOf(values: readonly number[]): (value: number) => number {
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  return span > 0 ? (value) => (value - low) / span : () => 0.5;
}

export function placesOf(nodes: readonly Placed[], edges: readonly Joined[]): Places {
  const places = new Map<string, { x: number; y: number }>();
  if (nodes.every(({ x, y }) => typeof x === "number" && typeof y === "number")) {
    const across = spreadOf(nodes.map(({ x }) => x ?? 0));
    const down = spreadOf(nodes.map(({ y }) => y ?? 0));
    for (const { id, x, y } of nodes) places.set(id, { x: across(x ?? 0), y: down(y ?? 0) });
    return places;
  }
  const levels = levelsOf(nodes, edges);
  levels.forEach((level, depth) => {
    level.forEach((id, index) => {
      places.set(id, {
        x: (index + 1) / (level.length + 1),
        y: levels.length === 1 ? 0.5 : depth / (levels.length - 1),
      });
    });
  });
  return places;
}
