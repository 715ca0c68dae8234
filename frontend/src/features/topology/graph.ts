/** The map's data: brokers and links with their loads from an allocation, and where they stand. */
import type { ResourceLoad } from "@/api/allocations";
import type { CatalogTypes } from "@/api/catalog";
import { worstFraction } from "@/lib/load";

export type BrokerNode = {
  broker: CatalogTypes["brokers"];
  fraction: number | null;
  resource: string | null;
  load: number | null;
  capacity: number | null;
  price: number | null;
  links: number;
};

export type LinkEdge = {
  link: CatalogTypes["links"];
  load: number | null;
  fraction: number | null;
  price: number | null;
  inOverlay: boolean;
};

export type Graph = { nodes: BrokerNode[]; edges: LinkEdge[] };

const natural = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });
const pair = (a: string, b: string) => [a, b].sort().join(" ");

/** Allocations name things by the names of their snapshot, so loads are joined by name. */
export function makeGraph(
  brokers: readonly CatalogTypes["brokers"][],
  links: readonly CatalogTypes["links"][],
  overlay: CatalogTypes["overlays"] | undefined,
  loads: readonly ResourceLoad[],
): Graph {
  const edgesInForce = new Set((overlay?.edges ?? []).map((edge) => pair(edge.a, edge.b)));
  const nodes = brokers.map((broker): BrokerNode => {
    const own = loads.filter((load) => load.place === "node" && load.name === broker.name);
    const worst = worstFraction(
      Object.fromEntries(own.map((load) => [load.resource ?? "", load.load])),
      Object.fromEntries(own.map((load) => [load.resource ?? "", load.capacity])),
    );
    const row = own.find((load) => load.resource === worst?.resource);
    return {
      broker,
      fraction: worst?.fraction ?? null,
      resource: worst?.resource ?? broker.capacities[0]?.resource ?? null,
      load: row?.load ?? null,
      capacity: row?.capacity ?? broker.capacities[0]?.capacity ?? null,
      price: row?.price ?? null,
      links: links.filter((link) => link.source === broker.id || link.target === broker.id).length,
    };
  });
  const edges = links.map((link): LinkEdge => {
    const row = loads.find((load) => load.place === "link" && load.name === link.name);
    return {
      link,
      load: row?.load ?? null,
      fraction: row && row.capacity > 0 ? row.load / row.capacity : null,
      price: row?.price ?? null,
      inOverlay: edgesInForce.size === 0 || edgesInForce.has(pair(link.source, link.target)),
    };
  });
  return {
    nodes: nodes.sort(
      (a, b) => (b.fraction ?? -1) - (a.fraction ?? -1) || natural(a.broker.name, b.broker.name),
    ),
    edges: edges.sort(
      (a, b) => (b.fraction ?? -1) - (a.fraction ?? -1) || natural(a.link.name, b.link.name),
    ),
  };
}

export type Places = ReadonlyMap<string, { x: number; y: number }>;

/** Depth of every broker from the best connected one, level by level, in the order of names. */
function levelsOf(graph: Graph): string[][] {
  const neighbours = new Map<string, string[]>(
    graph.nodes.map((node) => [node.broker.id, [] as string[]]),
  );
  for (const { link } of graph.edges) {
    neighbours.get(link.source)?.push(link.target);
    neighbours.get(link.target)?.push(link.source);
  }
  const names = new Map(graph.nodes.map((node) => [node.broker.id, node.broker.name]));
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

/** Stored places where every broker has one; else rows by distance from the hub, always the same. */
export function placesOf(graph: Graph): Places {
  const places = new Map<string, { x: number; y: number }>();
  const stored = graph.nodes.every(
    ({ broker }) => typeof broker.map_x === "number" && typeof broker.map_y === "number",
  );
  if (stored) {
    const across = spreadOf(graph.nodes.map(({ broker }) => broker.map_x ?? 0));
    const down = spreadOf(graph.nodes.map(({ broker }) => broker.map_y ?? 0));
    for (const { broker } of graph.nodes) {
      places.set(broker.id, { x: across(broker.map_x ?? 0), y: down(broker.map_y ?? 0) });
    }
    return places;
  }
  const levels = levelsOf(graph);
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
