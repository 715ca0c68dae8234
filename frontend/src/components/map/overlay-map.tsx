/** A whole overlay: where its brokers stand, and its regions instead of them where there are too many. */
import { useMemo, useState } from "react";

import BrokerMap, {
  type MapConvoy,
  type MapEdge,
  type MapMove,
  type MapNode,
  type MapSlide,
} from "./broker-map";
import { bundle, groupsOf, GROUPS_FROM, unitOf, type Grouping } from "./groups";
import { placesOf, type LayoutName } from "./places";
import type { Joined } from "./tree";

import { Icon } from "@/components/ui/icons";
import { countText, fixed } from "@/lib/numbers";

export type OverlayNode = MapNode & { region?: string; x?: number | null; y?: number | null };
/** `changes`: it is not the same before and after; groups count these. */
export type OverlayEdge = MapEdge & { changes?: boolean };

const WIDEST = 9;
/** What is seen of several links of different looks: the one that changes. */
const FIRST: Record<string, number> = { dashdot: 4, dashed: 3, dotted: 1, solid: 0 };
const rank = (edge: OverlayEdge) =>
  edge.line === "solid" && edge.changes ? 2 : (FIRST[edge.line ?? "solid"] ?? 0);

const sameBrokers = (a: readonly OverlayNode[], b: readonly OverlayNode[]) =>
  a.length === b.length &&
  a.every(({ id, x, y, region }, index) => {
    const other = b[index];
    return other?.id === id && other.x === x && other.y === y && other.region === region;
  });

const sameLinks = (a: readonly Joined[], b: readonly Joined[]) =>
  a.length === b.length &&
  a.every(({ source, target }, index) => {
    const other = b[index];
    return other?.source === source && other.target === target;
  });

/** The value as it was first given, for as long as a new one says the same. */
function useKept<Value>(value: Value, same: (a: Value, b: Value) => boolean): Value {
  const [kept, keep] = useState(value);
  if (kept === value) return kept;
  if (same(kept, value)) return kept;
  keep(value);
  return value;
}

const mean = (values: readonly (number | null | undefined)[]) => {
  const known = values.filter((value) => typeof value === "number");
  return known.length === values.length && known.length > 0
    ? known.reduce((sum, value) => sum + value, 0) / known.length
    : null;
};

/** Open brokers as they are, closed groups as one unit each. */
function unitsOf(
  nodes: readonly OverlayNode[],
  grouping: Grouping,
  unit: (broker: string) => string,
  changing: ReadonlyMap<string, number>,
): OverlayNode[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const single = nodes.filter((node) => unit(node.id) === node.id);
  const closed = [...grouping.groups.values()].filter(
    ({ members }) => unit(members[0] ?? "") !== members[0],
  );
  return [
    ...closed.map(({ id, name, members }): OverlayNode => {
      const inside = members.flatMap((member) => byId.get(member) ?? []);
      const loads = inside.flatMap(({ fraction }) => (fraction === null ? [] : [fraction]));
      const changes = changing.get(id) ?? 0;
      return {
        id,
        name,
        fraction: loads.length > 0 ? Math.max(...loads) : null,
        count: members.length,
        note:
          `${loads.length > 0 ? "fullest of " : ""}${countText(members.length, "broker")}` +
          (changes > 0 ? `, ${fixed(changes)} changing` : ""),
        x: mean(inside.map(({ x }) => x)),
        y: mean(inside.map(({ y }) => y)),
      };
    }),
    ...single,
  ];
}

function grouped(edges: readonly OverlayEdge[], unit: (broker: string) => string) {
  const { between, inside } = bundle(edges, unit);
  const drawn = between.map(({ id, source, target, edges: own }): MapEdge => {
    const first = own.reduce((best, edge) => (rank(edge) > rank(best) ? edge : best));
    const many = own.length > 1;
    return {
      ...first,
      id: many ? id : first.id,
      source,
      target,
      width: many ? Math.min(WIDEST, 2 + Math.sqrt(own.length)) : first.width,
      label: many ? fixed(own.length) : first.label,
    };
  });
  const changing = new Map(
    [...inside].map(([id, own]) => [id, own.filter((edge) => edge.changes).length]),
  );
  return { drawn, changing };
}

export default function OverlayMap({
  nodes,
  edges,
  tree,
  layout,
  selected,
  onSelect,
  label,
  className,
  moves,
  convoys,
  stop,
  steps,
  live,
}: {
  nodes: readonly OverlayNode[];
  edges: readonly OverlayEdge[];
  /** Links that decide where brokers stand: the same ones at every stop. */
  tree: readonly Joined[];
  layout: LayoutName;
  selected: string | null;
  onSelect: (broker: string) => void;
  label: string;
  className?: string;
  moves?: readonly MapMove[];
  convoys?: readonly MapConvoy[];
  stop?: number;
  steps?: (step: number) => readonly MapMove[];
  live?: readonly MapSlide[];
}) {
  const many = nodes.length >= GROUPS_FROM;
  const [whole, setWhole] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const byGroup = many && !whole;
  // Levels and links change at every stop; who stands where does not.
  const where = useKept(nodes, sameBrokers);
  const joined = useKept(tree, sameLinks);
  const grouping = useMemo(() => (many ? groupsOf(where, joined) : null), [many, where, joined]);
  const unit = useMemo(
    () => (grouping && byGroup ? unitOf(grouping, open) : null),
    [grouping, byGroup, open],
  );
  const drawn = useMemo(() => {
    if (!grouping || !unit) return { nodes, edges };
    const { drawn: links, changing } = grouped(edges, unit);
    return { nodes: unitsOf(nodes, grouping, unit, changing), edges: links };
  }, [nodes, edges, grouping, unit]);
  const places = useMemo(() => {
    if (!grouping || !unit) return placesOf(where, joined, layout);
    const stood = unitsOf(
      where.map((node) => ({ ...node, fraction: null })),
      grouping,
      unit,
      new Map(),
    );
    const links = joined.map((edge) => ({ source: unit(edge.source), target: unit(edge.target) }));
    return placesOf(stood, links, layout);
  }, [where, joined, layout, grouping, unit]);
  const among = <Of,>(list: readonly Of[] | undefined, change: (one: Of) => Of | null) =>
    unit ? list?.flatMap((one) => change(one) ?? []) : list;
  const shownConvoys = useMemo(
    () =>
      among(convoys, ({ mover, others }) => {
        const at = unit?.(mover) ?? mover;
        const ends = [...new Set(others.map((other) => unit?.(other) ?? other))];
        const apart = ends.filter((end) => end !== at);
        return apart.length > 0 ? { mover: at, others: apart } : null;
      }),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- among depends on unit alone
    [convoys, unit],
  );
  return (
    <>
      <BrokerMap
        nodes={drawn.nodes}
        edges={drawn.edges}
        places={places}
        selected={selected === null || !unit ? selected : unit(selected)}
        onSelect={onSelect}
        label={label}
        className={className ?? (nodes.length > 60 ? "high" : "")}
        moves={unit ? undefined : moves}
        convoys={shownConvoys}
        stop={stop}
        steps={unit ? undefined : steps}
        live={unit ? undefined : live}
        onOpen={(group) => setOpen((now) => new Set([...now, group]))}
      />
      {many && grouping ? (
        <div className="mapgroups">
          <span>
            {byGroup
              ? `${countText(nodes.length, "broker")} in ${countText(grouping.groups.size, "group")}; a click opens one`
              : `All ${countText(nodes.length, "broker")}`}
          </span>
          {byGroup && open.size > 0 ? (
            <button type="button" className="btn sm" onClick={() => setOpen(new Set())}>
              <Icon name="up" small />
              Close {countText(open.size, "group")}
            </button>
          ) : null}
          <button
            type="button"
            className="btn sm"
            aria-pressed={whole}
            onClick={() => setWhole(!whole)}
          >
            {whole ? "Show groups" : "Show every broker"}
          </button>
        </div>
      ) : null}
    </>
  );
}
