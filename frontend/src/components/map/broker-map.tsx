/** Brokers as tanks and the links between them, drawn with Cytoscape; what the links mean is the caller's. */
import cytoscape, { type Core, type ElementDefinition, type StylesheetJson } from "cytoscape";
import { useEffect, useRef } from "react";

import type { Places } from "./places";

import { tankPicture } from "@/components/ui/broker-tank";
import { useKeys } from "@/lib/keyboard";
import { isOver } from "@/lib/load";
import { percentText } from "@/lib/numbers";
import { token, useTheme } from "@/lib/theme";

export type MapNode = { id: string; name: string; fraction: number | null };

export type MapEdge = {
  id: string;
  source: string;
  target: string;
  label?: string;
  /** Name of a colour token. */
  colour: string;
  width: number;
  line?: "solid" | "dashed" | "dotted" | "dashdot";
};

const PAD = { x: 64, top: 44, bottom: 58 };
/** Wider maps only lengthen the links. */
const WIDEST = 1100;
const FEW = 5;

const PATTERNS = { solid: [1], dashed: [7, 4], dotted: [1, 5], dashdot: [8, 3, 2, 3] } as const;

/** A browser without a canvas shows no picture; the label and the tables say the same. */
const canDraw = () => document.createElement("canvas").getContext("2d") !== null;

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

function elementsOf(nodes: readonly MapNode[], edges: readonly MapEdge[]): ElementDefinition[] {
  return [
    ...nodes.map(
      ({ id, name, fraction }): ElementDefinition => ({
        group: "nodes",
        data: {
          id,
          label: fraction === null ? name : `${name}  ${percentText(fraction)}`,
          picture: tankPicture(fraction, token),
          ink: fraction !== null && isOver(fraction) ? token("bad") : token("text"),
        },
      }),
    ),
    ...edges.map(
      ({ id, source, target, label = "", colour, width, line = "solid" }): ElementDefinition => ({
        group: "edges",
        data: {
          id,
          source,
          target,
          label,
          colour: token(colour),
          width,
          style: line === "solid" ? "solid" : "dashed",
          cap: line === "dotted" ? "round" : "butt",
          pattern: PATTERNS[line],
        },
      }),
    ),
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
      "line-dash-pattern": "data(pattern)" as unknown as number[],
      "line-cap": "data(cap)" as "butt",
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

export default function BrokerMap({
  nodes,
  edges,
  places,
  selected,
  onSelect,
  label,
  className = "",
}: {
  nodes: readonly MapNode[];
  edges: readonly MapEdge[];
  /** Keep the same object while the same brokers stand on the map: a new one moves them. */
  places: Places;
  selected: string | null;
  onSelect: (broker: string) => void;
  label: string;
  className?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const core = useRef<Core | null>(null);
  const select = useRef(onSelect);
  const standing = useRef<Places>(new Map());
  const theme = useTheme();
  useEffect(() => {
    select.current = onSelect;
  });

  useEffect(() => {
    if (!box.current) return;
    const draws = canDraw();
    const made = cytoscape({
      container: draws ? box.current : null,
      headless: !draws,
      layout: { name: "preset" },
      minZoom: 0.2,
      maxZoom: 2.5,
      boxSelectionEnabled: false,
      autounselectify: true,
      userZoomingEnabled: false,
    });
    core.current = made;
    standing.current = new Map();
    made.on("tap", "node", (event) => select.current((event.target as { id(): string }).id()));
    const resize = new ResizeObserver(() => {
      made.resize();
      arrange(made, standing.current);
    });
    resize.observe(box.current);
    return () => {
      resize.disconnect();
      made.destroy();
      core.current = null;
    };
  }, []);

  useEffect(() => {
    const made = core.current;
    if (!made) return;
    made.json({ elements: elementsOf(nodes, edges) });
    made.style(styleOf());
    if (standing.current !== places) {
      standing.current = places;
      arrange(made, places);
    }
  }, [nodes, edges, places, theme]);

  useEffect(() => {
    const made = core.current;
    if (!made) return;
    made.autounselectify(false);
    made.nodes().unselect();
    if (selected) made.getElementById(selected).select();
    made.autounselectify(true);
  }, [selected, nodes]);

  useKeys({
    f: () => {
      if (core.current) arrange(core.current, standing.current);
    },
  });

  return (
    <div className={`map ${className}`}>
      <div ref={box} role="img" aria-label={label} />
    </div>
  );
}
