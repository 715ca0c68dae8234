/** The overlay of a system: on the map, as a tree, or against a goal. */
import { useMemo, useState } from "react";

import type { Goal } from "./use-goals";
import type { Graph, LinkEdge } from "./graph";

import OverlayMap, { type OverlayEdge, type OverlayNode } from "@/components/map/overlay-map";
import { PHASES, PhaseLegend } from "@/components/map/phases";
import { edgeKey, type Edge } from "@/components/map/timeline";
import { LoadLegend } from "@/components/ui/bars";
import { Segments } from "@/components/ui/page";
import { Empty, Panel } from "@/components/ui/panel";
import { Select } from "@/components/ui/select";
import { loadLevel } from "@/lib/load";
import { countText, fixed, percentText } from "@/lib/numbers";

export type View = "map" | "tree" | "goal";

const VIEWS: readonly { value: View; label: string }[] = [
  { value: "map", label: "Map" },
  { value: "tree", label: "Tree" },
  { value: "goal", label: "Goal" },
];

/** More labels than this hide the links that they stand on. */
const LABELS = 40;

const traffic = (load: number) => (load >= 1000 ? `${fixed(load / 1000, 1)}k` : fixed(load));

function labelOf({ load, fraction }: LinkEdge): string {
  if (load === null) return "";
  return fraction === null ? traffic(load) : `${traffic(load)} \u00b7 ${percentText(fraction)}`;
}

/** Links of the overlay by their load; on the map also those that it does not use. */
export function edgesOf(graph: Graph, withSpare: boolean): OverlayEdge[] {
  const most = Math.max(1e-9, ...graph.edges.map((edge) => edge.load ?? 0));
  const known = new Map(
    graph.edges.map((edge) => [
      edgeKey({ a: edge.link.source_name, b: edge.link.target_name }),
      edge,
    ]),
  );
  const few = graph.tree.length <= LABELS;
  const used = graph.tree.map(({ a, b }): OverlayEdge => {
    const id = edgeKey({ a, b });
    const edge = known.get(id);
    const { load = null, fraction = null } = edge ?? {};
    return {
      id,
      source: a,
      target: b,
      label: few && edge ? labelOf(edge) : "",
      colour: fraction === null ? "line-2" : `load-${Math.max(1, loadLevel(fraction))}`,
      width: load === null ? 3 : 2 + 5 * Math.sqrt(load / most),
    };
  });
  if (!withSpare) return used;
  const spare = graph.edges.flatMap(({ link, inOverlay }): OverlayEdge[] => {
    if (inOverlay) return [];
    const [source, target] = [link.source_name, link.target_name];
    return [
      {
        id: edgeKey({ a: source, b: target }),
        source,
        target,
        colour: "line-2",
        width: 1.5,
        line: "dashed",
      },
    ];
  });
  return [...used, ...spare];
}

/** Today's tree against a goal: what stays, what will leave, what is to come. */
export function againstGoal(tree: readonly Edge[], goal: readonly Edge[]): OverlayEdge[] {
  const now = new Set(tree.map(edgeKey));
  const then = new Set(goal.map(edgeKey));
  const look = (edge: Edge, phase: "stays" | "leaves" | "goal"): OverlayEdge => {
    const { colour, line, width } = PHASES[phase];
    const changes = phase !== "stays";
    return { id: edgeKey(edge), source: edge.a, target: edge.b, colour, line, width, changes };
  };
  return [
    ...tree.map((edge) => look(edge, then.has(edgeKey(edge)) ? "stays" : "leaves")),
    ...goal.filter((edge) => !now.has(edgeKey(edge))).map((edge) => look(edge, "goal")),
  ];
}

const joined = (edges: readonly Edge[]) => edges.map(({ a, b }) => ({ source: a, target: b }));

export function OverlayPanel({
  graph,
  goals,
  goal,
  onGoal,
  view,
  onView,
  selected,
  onSelect,
  ask,
}: {
  graph: Graph;
  goals: readonly { id: string; name: string }[];
  goal: Goal | undefined;
  onGoal: (id: string) => void;
  view: View;
  onView: (view: View) => void;
  /** Name of a broker. */
  selected: string | null;
  onSelect: (broker: string) => void;
  /** The command that finds a goal where there is none. */
  ask?: React.ReactNode;
}) {
  const [spare, setSpare] = useState(false);
  const nodes = useMemo(
    () =>
      graph.nodes.map(({ broker, fraction }): OverlayNode => ({
        id: broker.name,
        name: broker.name,
        fraction,
        region: broker.region,
        x: broker.map_x,
        y: broker.map_y,
      })),
    [graph],
  );
  const atGoal = view === "goal" && goal !== undefined;
  const edges = useMemo(
    () => (atGoal ? againstGoal(graph.tree, goal.edges) : edgesOf(graph, spare)),
    [graph, atGoal, goal, spare],
  );
  const tree = useMemo(() => joined(atGoal ? goal.edges : graph.tree), [graph, atGoal, goal]);
  const spares = graph.edges.filter((edge) => !edge.inOverlay).length;
  const changing = edges.filter((edge) => edge.changes).length;
  const label = atGoal
    ? `Overlay of ${countText(nodes.length, "broker")} against ${goal.name}: ${countText(changing, "link differs", "links differ")}; the table below has the brokers`
    : `Overlay of ${countText(nodes.length, "broker")} and ${countText(graph.tree.length, "link")}, load as colour; the table below has the same numbers`;
  return (
    <Panel
      title={
        <span className="titleseg">
          Overlay <Segments label="Overlay as" value={view} options={VIEWS} onChange={onView} />
        </span>
      }
      right={
        view === "goal" ? (
          <>
            <PhaseLegend only={["stays", "leaves", "goal"]} />
            {goals.length > 1 ? (
              <Select
                className="headpick"
                label="Goal"
                value={goal?.id ?? ""}
                options={goals.map(({ id, name }) => ({ value: id, label: name }))}
                onChange={onGoal}
              />
            ) : null}
          </>
        ) : (
          <>
            <LoadLegend />
            <span>% of capacity</span>
          </>
        )
      }
      flush
      className="wraphead"
      footer={
        <span className="mapfoot">
          {atGoal ? (
            <span>
              <b>{goal.name}</b> {countText(changing, "link differs", "links differ")}
            </span>
          ) : (
            <>
              <span>
                <b>Tank</b> broker load, line is capacity
              </span>
              <span>
                <b>Link</b> colour is load, width is traffic
              </span>
              {spares > 0 && view !== "goal" ? (
                <button
                  type="button"
                  className="link"
                  aria-pressed={spare}
                  onClick={() => setSpare(!spare)}
                >
                  {spare ? "Hide" : "Show"} {countText(spares, "link")} outside of the overlay
                </button>
              ) : null}
            </>
          )}
          <span className="r">
            <kbd>F</kbd> fit <kbd>/</kbd> find a broker <kbd>J</kbd> <kbd>K</kbd> next, previous
          </span>
        </span>
      }
    >
      {view === "goal" && goal === undefined ? (
        <Empty command={ask}>
          A goal is a tree that would carry the traffic cheaper. This system has none yet: evaluate
          candidates, or store an overlay that is not in force.
        </Empty>
      ) : (
        <OverlayMap
          nodes={nodes}
          edges={edges}
          tree={tree}
          layout={view === "map" ? "map" : "tree"}
          selected={selected}
          onSelect={onSelect}
          label={label}
        />
      )}
    </Panel>
  );
}
