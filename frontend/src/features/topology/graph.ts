/** The map's data: brokers and links with their loads, from what travels or from an allocation. */
import type { ResourceLoad } from "@/api/allocations";
import type { CatalogTypes } from "@/api/catalog";
import type { SystemTraffic } from "@/api/in-force";
import { natural } from "@/components/map/places";
import { edgeKey } from "@/components/map/timeline";
import { worstFraction } from "@/lib/load";

type BrokerTraffic = SystemTraffic["brokers"][number];
type LinkTraffic = SystemTraffic["links"][number];

export type BrokerNode = {
  broker: CatalogTypes["brokers"];
  fraction: number | null;
  resource: string | null;
  load: number | null;
  capacity: number | null;
  price: number | null;
  links: number;
  traffic: BrokerTraffic | null;
};

export type LinkEdge = {
  link: CatalogTypes["links"];
  load: number | null;
  fraction: number | null;
  price: number | null;
  inOverlay: boolean;
  traffic: LinkTraffic | null;
};

export type Graph = {
  nodes: BrokerNode[];
  edges: LinkEdge[];
  /** Links of the overlay in force by the names of their brokers; every link where none is in force. */
  tree: { a: string; b: string }[];
};

const pair = (a: string, b: string) => edgeKey({ a, b });

function grouped<Row>(rows: readonly Row[], key: (row: Row) => string): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const list = found.get(key(row));
    if (list) list.push(row);
    else found.set(key(row), [row]);
  }
  return found;
}

/** Allocations and traffic name things by the names of their snapshot, so loads are joined by name. */
export function makeGraph(
  brokers: readonly CatalogTypes["brokers"][],
  links: readonly CatalogTypes["links"][],
  overlay: CatalogTypes["overlays"] | undefined,
  loads: readonly ResourceLoad[],
  traffic?: Pick<SystemTraffic, "brokers" | "links">,
): Graph {
  const edgesInForce = new Set((overlay?.edges ?? []).map((edge) => pair(edge.a, edge.b)));
  const nodeLoads = grouped(
    loads.filter(({ place }) => place === "node"),
    ({ name }) => name,
  );
  const linkLoads = new Map(
    loads.filter(({ place }) => place === "link").map((load) => [load.name, load]),
  );
  const travels = new Map((traffic?.brokers ?? []).map((row) => [row.broker, row]));
  const crosses = new Map((traffic?.links ?? []).map((row) => [edgeKey(row), row]));
  const ends = new Map<string, number>();
  const drawn = overlay
    ? overlay.edges.map((edge) => [edge.a, edge.b] as const)
    : links.map((link) => [link.source, link.target] as const);
  for (const [a, b] of drawn) {
    ends.set(a, (ends.get(a) ?? 0) + 1);
    ends.set(b, (ends.get(b) ?? 0) + 1);
  }
  const nodes = brokers.map((broker): BrokerNode => {
    const own = nodeLoads.get(broker.name) ?? [];
    const worst = worstFraction(
      Object.fromEntries(own.map((load) => [load.resource ?? "", load.load])),
      Object.fromEntries(own.map((load) => [load.resource ?? "", load.capacity])),
    );
    const row = own.find((load) => load.resource === worst?.resource);
    const found = travels.get(broker.name) ?? null;
    const most = found?.capacity_per_s ?? null;
    // What travels now says more than what an allocation once allowed.
    const now = found && most !== null && most > 0 ? found.handled_per_s / most : null;
    return {
      broker,
      fraction: now ?? worst?.fraction ?? null,
      resource: now === null ? (worst?.resource ?? broker.capacities[0]?.resource ?? null) : "msg",
      load: now === null ? (row?.load ?? null) : (found?.handled_per_s ?? null),
      capacity: now === null ? (row?.capacity ?? broker.capacities[0]?.capacity ?? null) : most,
      price: row?.price ?? null,
      links: ends.get(broker.id) ?? 0,
      traffic: found,
    };
  });
  const edges = links.map((link): LinkEdge => {
    const row = linkLoads.get(link.name);
    const found = crosses.get(pair(link.source_name, link.target_name)) ?? null;
    const most = found?.capacity_per_s ?? null;
    const now = found && most !== null && most > 0 ? found.traffic_per_s / most : null;
    return {
      link,
      load: found?.traffic_per_s ?? row?.load ?? null,
      fraction: now ?? (row && row.capacity > 0 ? row.load / row.capacity : null),
      price: row?.price ?? null,
      inOverlay: edgesInForce.size === 0 || edgesInForce.has(pair(link.source, link.target)),
      traffic: found,
    };
  });
  return {
    nodes: nodes.sort(
      (a, b) => (b.fraction ?? -1) - (a.fraction ?? -1) || natural(a.broker.name, b.broker.name),
    ),
    edges: edges.sort(
      (a, b) =>
        (b.fraction ?? -1) - (a.fraction ?? -1) ||
        (b.load ?? -1) - (a.load ?? -1) ||
        natural(a.link.name, b.link.name),
    ),
    tree: overlay
      ? overlay.edges.map(({ a_name: a, b_name: b }) => ({ a, b }))
      : links.map(({ source_name: a, target_name: b }) => ({ a, b })),
  };
}
