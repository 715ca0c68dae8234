/** The map: brokers as tanks, links coloured by load and as wide as their traffic. */
import cytoscape, { type Core, type ElementDefinition, type StylesheetJson } from "cytoscape";
import { useEffect, useMemo, useRef } from "react";

import { placesOf, type Graph, type Places } from "./graph";

import { tankPicture } from "@/components/ui/broker-tank";
import { useKeys } from "@/lib/keyboard";
import { isOver, loadLevel } from "@/lib/load";
import { fixed, percentText } from "@/lib/numbers";
import { token, useTheme } from "@/lib/theme";

const PAD = { x: 64, top: 44, bottom: 58 };
/** Wider maps only lengthen the links. */
const WIDEST = 1100;
const FEW = 5;

const traffic = (load: number) => (load >= 1000 ? `${fixed(load / 1000, 1)}k` : fixed(load));

/** Spread the brokers over the box at full size, so that no text is scaled. */
function arrange(made: Core, places: Places) {
  // A handful of brokers stands together instead of in the corners.
  const share = places.size < FEW ? 0.55 : 1;
  const inner = (at: number) => 0.5 + (at - 0.5) * share;
  const width = Math.min(WIDEST, made.width());
  const left = (made.width() - width) / 2;
  made.batch(() => {
    for (const [id, place] of places) {
      made.getElementById(id).position({
        x: left + PAD.x + inner(place.x) * (width - 2 * PAD.x),
        y: PAD.top + inner(place.y) * (made.height() - PAD.top - PAD.bottom),
      });
    }
  });
  made.zoom(1);
  made.pan({ x: 0, y: 0 });
}

function elementsOf(graph: Graph): ElementDefinition[] {
  const most = Math.max(1e-9, ...graph.edges.map((edge) => edge.load ?? 0));
  return [
    ...graph.nodes.map(({ broker, fraction }): ElementDefinition => {
      return {
        group: "nodes",
        data: {
          id: broker.id,
          label: fraction === null ? broker.name : `${broker.name}  ${percentText(fraction)}`,
          picture: tankPicture(fraction, token),
          ink: fraction !== null && isOver(fraction) ? token("bad") : token("text"),
        },
      };
    }),
    ...graph.edges.map(({ link, load, fraction, inOverlay }): ElementDefinition => ({
      group: "edges",
      data: {
        id: link.id,
        source: link.source,
        target: link.target,
        label:
          fraction === null || load === null
            ? ""
            : `${traffic(load)} \u00b7 ${percentText(fraction)}`,
        colour:
          fraction === null ? token("line-2") : token(`load-${Math.max(1, loadLevel(fraction))}`),
        width: load === null ? 2 : 2 + 5 * Math.sqrt(load / most),
        style: inOverlay ? "solid" : "dashed",
      },
    })),
  ];
}

const styleOf = (): StylesheetJson => [
  {
    selector: "node",
    style: {
      width: 34,
      height: 40,
      shape: "rectangle",
      "background-opacity": 0,
      "background-image": "data(picture)",
      "background-fit": "contain",
      "background-image-opacity": 1,
      label: "data(label)",
      color: "data(ink)",
      "font-family": "Inter Variable, Inter, sans-serif",
      "font-size": 11.5,
      "font-weight": 600,
      "text-valign": "bottom",
      "text-margin-y": 5,
      "text-outline-color": token("surface"),
      "text-outline-width": 2.5,
      "overlay-opacity": 0,
    },
  },
  {
    selector: "node:selected",
    style: {
      "underlay-color": token("accent"),
      "underlay-opacity": 0.22,
      "underlay-padding": 6,
      "underlay-shape": "round-rectangle",
    },
  },
  {
    selector: "edge",
    style: {
      width: "data(width)",
      "line-color": "data(colour)",
      "line-style": "data(style)" as "solid",
      "curve-style": "straight",
      "source-endpoint": "inside-to-node",
      "target-endpoint": "inside-to-node",
      label: "data(label)",
      color: token("text-2"),
      "font-family": "Inter Variable, Inter, sans-serif",
      "font-size": 10,
      "text-background-color": token("surface"),
      "text-background-opacity": 1,
      "text-background-padding": "3px",
      "text-background-shape": "roundrectangle",
      "overlay-opacity": 0,
    },
  },
];

export default function OverlayMap({
  graph,
  selected,
  onSelect,
}: {
  graph: Graph;
  selected: string | null;
  onSelect: (broker: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  const select = useRef(onSelect);
  const places = useRef<Places>(new Map());
  const theme = useTheme();
  useEffect(() => {
    select.current = onSelect;
  });

  // Where things stand is decided once per set of brokers and links; loads only repaint.
  const shape = useMemo(
    () =>
      [...graph.nodes.map((n) => n.broker.id), ...graph.edges.map((e) => e.link.id)].sort().join(),
    [graph],
  );

  useEffect(() => {
    if (!box.current) return;
    const made = cytoscape({
      container: box.current,
      layout: { name: "preset" },
      minZoom: 0.2,
      maxZoom: 2.5,
      boxSelectionEnabled: false,
      autounselectify: true,
      userZoomingEnabled: false,
    });
    core.current = made;
    made.on("tap", "node", (event) => select.current((event.target as { id(): string }).id()));
    const resize = new ResizeObserver(() => {
      made.resize();
      arrange(made, places.current);
    });
    resize.observe(box.current);
    return () => {
      resize.disconnect();
      made.destroy();
      core.current = null;
    };
  }, [shape]);

  useEffect(() => {
    const made = core.current;
    if (!made) return;
    made.json({ elements: elementsOf(graph) });
    made.style(styleOf());
    if (made.scratch("arranged") !== true) {
      places.current = placesOf(graph);
      arrange(made, places.current);
      made.scratch("arranged", true);
    }
  }, [graph, theme, shape]);

  useEffect(() => {
    const made = core.current;
    if (!made) return;
    made.autounselectify(false);
    made.nodes().unselect();
    if (selected) made.getElementById(selected).select();
    made.autounselectify(true);
  }, [selected, graph, shape]);

  useKeys({
    f: () => {
      if (core.current) arrange(core.current, places.current);
    },
  });

  const summary = `Overlay of ${graph.nodes.length} brokers and ${graph.edges.length} links, load as colour; the table below has the same numbers`;
  return (
    <div className="map">
      <div ref={box} role="img" aria-label={summary} />
    </div>
  );
}
