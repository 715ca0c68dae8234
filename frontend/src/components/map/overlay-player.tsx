/** An overlay over the whole of a plan: the tree now, after every step and at the goal. */
import { useCallback, useMemo, useState } from "react";

import OverlayMap, { type OverlayEdge, type OverlayNode } from "./overlay-map";
import { PHASES, PhaseLegend } from "./phases";
import type { LayoutName } from "./places";
import type { MapConvoy, MapMove, MapSlide } from "./scene";
import { Scrubber, type Stop } from "./scrubber";
import { StopTable } from "./stop-table";
import {
  changeOf,
  convoysAt,
  edgeKey,
  edgesAt,
  nextMoves,
  wordsAt,
  type Move,
  type Timeline,
} from "./timeline";
import type { Joined } from "./tree";
import { edgesUnderWay, type UnderWay } from "./under-way";

import { Segments } from "@/components/ui/page";
import { Panel } from "@/components/ui/panel";
import { countText } from "@/lib/numbers";

export type PlayedBroker = {
  name: string;
  region?: string;
  x?: number | null;
  y?: number | null;
  fraction?: number | null;
  previous?: number | null;
};

type View = "map" | "tree" | "goal" | "table";

const VIEWS: readonly { value: View; label: string }[] = [
  { value: "map", label: "Map" },
  { value: "tree", label: "Tree" },
  { value: "goal", label: "Goal" },
  { value: "table", label: "Table" },
];

/** Messages a second as the width of a link; the busiest is 7 px. */
const widthOf = (traffic: number, most: number) =>
  most > 0 ? 1.75 + 5.25 * Math.sqrt(traffic / most) : 3;

export function moveOf(move: Move): MapMove | null {
  const { come, gone } = changeOf(move);
  if (!come || !gone || !move.source || !move.to || move.op === "exchange") return null;
  return { id: edgeKey(come), keeper: move.broker, from: move.source, to: move.to };
}

const joinedOf = (timeline: Timeline, goal: boolean): Joined[] => {
  const links = timeline.links.filter((link) => (goal ? link.inGoal : link.inStart));
  // Brokers that only one of the two trees has stand beside their neighbour in the other.
  const known = new Set(links.flatMap(({ a, b }) => [a, b]));
  const others = timeline.links.filter(
    (link) => (goal ? link.inStart : link.inGoal) && known.has(link.a) !== known.has(link.b),
  );
  return [...links, ...others].map(({ a, b }) => ({ source: a, target: b }));
};

/** What runs now: actions of the step that leads from the stop shown to the stop `toward`. */
export type Running = { toward: number; actions: readonly UnderWay[] };

type Picture = {
  edges: OverlayEdge[];
  moves: MapMove[];
  convoys: MapConvoy[];
  live: MapSlide[] | undefined;
};

/** What is drawn at a stop, or on the way from it while a step runs, ready for the map. */
export function pictureAt(
  timeline: Timeline,
  stop: number,
  traffic?: ReadonlyMap<string, number>,
  running?: Running | null,
): Picture {
  const most = traffic ? Math.max(0, ...traffic.values()) : 0;
  const drawn = running
    ? edgesUnderWay(timeline, stop, running.toward, running.actions)
    : edgesAt(timeline, stop);
  const edges = drawn.map(({ a, b, key, phase }): OverlayEdge => {
    const look = PHASES[phase];
    const load = traffic?.get(key);
    return {
      id: key,
      source: a,
      target: b,
      colour: look.colour,
      line: look.line,
      width: load === undefined || phase === "goal" ? look.width : widthOf(load, most),
      changes: phase !== "stays",
    };
  });
  const byKey = new Map(drawn.map((edge) => [edge.key, edge]));
  const convoys = convoysAt(timeline, stop).map(({ mover, keys }) => ({
    mover,
    others: keys.flatMap((key) => {
      const edge = byKey.get(key);
      return edge ? [edge.a === mover ? edge.b : edge.a] : [];
    }),
  }));
  const live = running?.actions.flatMap(({ move, share, words, waits }) => {
    const slide = moveOf(move);
    return slide ? [{ ...slide, share, words, waits }] : [];
  });
  const begun = new Set(live?.map(({ id }) => id));
  const moves = nextMoves(timeline, stop)
    .flatMap((move) => moveOf(move) ?? [])
    .filter(({ id }) => !begun.has(id));
  return { edges, moves, convoys, live };
}

export function OverlayPlayer({
  title = "Overlay",
  sub,
  brokers,
  timeline,
  stop,
  onStop,
  notes,
  traffic,
  selected,
  onSelect,
  firstLabel = "Now",
  running = null,
  children,
}: {
  title?: string;
  sub?: React.ReactNode;
  brokers: readonly PlayedBroker[];
  timeline: Timeline;
  stop: number;
  onStop: (stop: number) => void;
  /** What stands below each stop, the first being before any step. */
  notes?: readonly (string | undefined)[];
  /** Messages a second by link, so that busy links are wide. */
  traffic?: ReadonlyMap<string, number>;
  selected: string | null;
  onSelect: (broker: string) => void;
  firstLabel?: string;
  /** While a step runs and the stop before it is shown. */
  running?: Running | null;
  children?: React.ReactNode;
}) {
  const [view, setView] = useState<View>("map");
  const nodes = useMemo(
    () =>
      brokers.map((broker): OverlayNode => ({
        ...broker,
        id: broker.name,
        fraction: broker.fraction ?? null,
      })),
    [brokers],
  );
  const picture = useMemo(
    () => pictureAt(timeline, stop, traffic, running),
    [timeline, stop, traffic, running],
  );
  const tree = useMemo(() => joinedOf(timeline, view === "goal"), [timeline, view]);
  const stepMoves = useCallback(
    (step: number) => (timeline.steps[step] ?? []).flatMap((move) => moveOf(move) ?? []),
    [timeline],
  );
  const last = timeline.stops - 1;
  const stops = useMemo(
    () =>
      Array.from({ length: timeline.stops }, (_, index): Stop => ({
        label: index === 0 ? firstLabel : `Step ${index}`,
        note: notes?.[index],
      })),
    [timeline.stops, notes, firstLabel],
  );
  const where =
    stop === 0
      ? "before the first step"
      : stop === last
        ? `after step ${stop}, the goal`
        : `after step ${stop}`;
  const words = wordsAt(timeline, stop);
  const layout: LayoutName = view === "map" ? "map" : "tree";
  return (
    <Panel
      title={title}
      sub={sub}
      right={
        <>
          <PhaseLegend convoys={timeline.convoys.length > 0} />
          <Segments label="Overlay as" value={view} options={VIEWS} onChange={setView} />
        </>
      }
      flush
      className="wraphead player"
    >
      {view === "table" ? (
        <StopTable timeline={timeline} stop={stop} traffic={traffic} />
      ) : (
        <OverlayMap
          nodes={nodes}
          edges={picture.edges}
          tree={tree}
          layout={layout}
          selected={selected}
          onSelect={onSelect}
          label={`Overlay of ${countText(nodes.length, "broker")} ${where}. ${words}`}
          moves={picture.moves}
          convoys={picture.convoys}
          stop={stop}
          steps={stepMoves}
          live={picture.live}
        />
      )}
      <p className="vh" aria-live="polite">
        {where}: {words}
      </p>
      <Scrubber stops={stops} at={stop} onAt={onStop} />
      {children}
    </Panel>
  );
}
