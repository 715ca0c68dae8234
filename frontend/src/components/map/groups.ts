/** Many brokers as few groups: by region, and where none is given by branches of the tree. */
import { rooted, type Joined } from "./tree";

export type Regional = { id: string; name: string; region?: string };

export type Group = { id: string; name: string; members: readonly string[] };

export type Grouping = { groups: ReadonlyMap<string, Group>; of: ReadonlyMap<string, string> };

/** Above this many brokers a map begins with its regions. */
export const GROUPS_FROM = 1500;

/** A region with more brokers than this is one group still; a reader opens it. */
const branchSize = (brokers: number) => Math.max(12, Math.round(2 * Math.sqrt(brokers)));

/** Cut the tree into connected branches of about `size` brokers, from the leaves up. */
function branchesOf(nodes: readonly Regional[], edges: readonly Joined[]): Map<string, string> {
  const tree = rooted(nodes, edges);
  const size = branchSize(nodes.length);
  const weight = new Int32Array(nodes.length).fill(1);
  const cut = new Uint8Array(nodes.length);
  for (let at = tree.order.length - 1; at >= 0; at -= 1) {
    const v = tree.order[at] ?? 0;
    const above = tree.parent[v] ?? -1;
    if (above === -1 || (weight[v] ?? 0) >= size) cut[v] = 1;
    else weight[above] = (weight[above] ?? 0) + (weight[v] ?? 0);
  }
  const head = new Int32Array(nodes.length);
  const of = new Map<string, string>();
  for (const v of tree.order) {
    head[v] = cut[v] ? v : (head[tree.parent[v] ?? v] ?? v);
    of.set(nodes[v]?.id ?? "", nodes[head[v] ?? v]?.name ?? "");
  }
  return of;
}

export function groupsOf(nodes: readonly Regional[], edges: readonly Joined[]): Grouping {
  const regions = new Set(nodes.map(({ region }) => region ?? ""));
  const bare = nodes.filter(({ region }) => !region);
  // One region for all says nothing: then the tree's branches do.
  const single = regions.size === 1;
  const branch = branchesOf(single ? nodes : bare, edges);
  const of = new Map<string, string>();
  const members = new Map<string, string[]>();
  const names = new Map<string, string>();
  for (const { id, region } of nodes) {
    const root = branch.get(id);
    const name = root === undefined ? (region ?? "") : `around ${root}`;
    const group = `group ${name}`;
    of.set(id, group);
    names.set(group, name);
    const list = members.get(group) ?? [];
    list.push(id);
    members.set(group, list);
  }
  const groups = new Map(
    [...members].map(([id, list]) => [id, { id, name: names.get(id) ?? "", members: list }]),
  );
  return { groups, of };
}

/** Which of the drawn units a broker belongs to: itself once its group is open. */
export const unitOf =
  (grouping: Grouping, open: ReadonlySet<string>) =>
  (broker: string): string => {
    const group = grouping.of.get(broker);
    return group === undefined || open.has(group) ? broker : group;
  };

export type Bundle<Of> = { id: string; source: string; target: string; edges: Of[] };

/** Links between units, those of the same two together; links inside of a unit by that unit. */
export function bundle<Of extends Joined & { id: string }>(
  edges: readonly Of[],
  unit: (broker: string) => string,
): { between: Bundle<Of>[]; inside: Map<string, Of[]> } {
  const between = new Map<string, Bundle<Of>>();
  const inside = new Map<string, Of[]>();
  for (const edge of edges) {
    const [source, target] = [unit(edge.source), unit(edge.target)];
    if (source === target) {
      const list = inside.get(source) ?? [];
      list.push(edge);
      inside.set(source, list);
      continue;
    }
    const id = source < target ? `${source}\n${target}` : `${target}\n${source}`;
    const found = between.get(id) ?? { id, source, target, edges: [] };
    found.edges.push(edge);
    between.set(id, found);
  }
  return { between: [...between.values()], inside };
}
