/** The map's data: brokers and links with their loads from an allocation, and where they stand. */
import type { ResourceLoad } from "@/api/allocations";
import type { CatalogTypes } from "@/api/catalog";
import { natural, placesOf as placesByNodes, type Places } from "@/components/map/places";
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

/** Stored places where every broker has one; else rows by distance from the hub, always the same. */
export const placesOf = (graph: Graph): Places =>
  placesByNodes(
    graph.nodes.map(({ broker }) => ({
      id: broker.id,
      name: broker.name,
      x: broker.map_x,
      y: broker.map_y,
    })),
    graph.edges.map(({ link }) => link),
  );
