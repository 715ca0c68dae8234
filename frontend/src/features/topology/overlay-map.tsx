/** The map: brokers as tanks, links coloured by load and as wide as their traffic. */
import { useMemo } from "react";

import { placesOf, type Graph } from "./graph";

import BrokerMap, { type MapEdge } from "@/components/map/broker-map";
import { loadLevel } from "@/lib/load";
import { fixed, percentText } from "@/lib/numbers";

const traffic = (load: number) => (load >= 1000 ? `${fixed(load / 1000, 1)}k` : fixed(load));

function edgesOf(graph: Graph): MapEdge[] {
  const most = Math.max(1e-9, ...graph.edges.map((edge) => edge.load ?? 0));
  return graph.edges.map(({ link, load, fraction, inOverlay }) => ({
    id: link.id,
    source: link.source,
    target: link.target,
    label:
      fraction === null || load === null ? "" : `${traffic(load)} \u00b7 ${percentText(fraction)}`,
    colour: fraction === null ? "line-2" : `load-${Math.max(1, loadLevel(fraction))}`,
    width: load === null ? 2 : 2 + 5 * Math.sqrt(load / most),
    line: inOverlay ? "solid" : "dashed",
  }));
}

export default function OverlayMap({
  graph,
  selected,
  onSelect,
}: {
  graph: Graph;
  selected: string | null;
  onSelect: (broker: string) => void;
}) {
  const nodes = useMemo(
    () =>
      graph.nodes.map(({ broker, fraction }) => ({ id: broker.id, name: broker.name, fraction })),
    [graph],
  );
  const edges = useMemo(() => edgesOf(graph), [graph]);
  // Where things stand is decided once per set of brokers and links; loads only repaint.
  const shape = JSON.stringify(
    [...graph.nodes.map((n) => n.broker.id), ...graph.edges.map((e) => e.link.id)].sort(),
  );
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the shape stands for the graph
  const places = useMemo(() => placesOf(graph), [shape]);
  return (
    <BrokerMap
      nodes={nodes}
      edges={edges}
      places={places}
      selected={selected}
      onSelect={onSelect}
      label={`Overlay of ${graph.nodes.length} brokers and ${graph.edges.length} links, load as colour; the table below has the same numbers`}
    />
  );
}
