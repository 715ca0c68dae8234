/** Brokers as vessels and the links between them, on a canvas; what the links mean is the caller's. */
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";

import type { Point, Size } from "./camera";
import { readPalette, type Palette } from "./palette";
import type { Places } from "./places";
import {
  hit,
  paint,
  type MapConvoy,
  type MapEdge,
  type MapMove,
  type MapNode,
  type MapSlide,
} from "./scene";
import { MapTools } from "./map-tools";
import { useTravel } from "./use-travel";
import { cameraKey, useCamera, usePointer } from "./use-camera";

import { useKeys } from "@/lib/keyboard";
import { countText, percentText } from "@/lib/numbers";
import { useTheme, type Theme } from "@/lib/theme";

export type { MapConvoy, MapEdge, MapMove, MapNode, MapSlide } from "./scene";

const NO_MOVES: readonly MapMove[] = [];
const NO_CONVOYS: readonly MapConvoy[] = [];

function useSize(element: React.RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 800, height: 440 });
  useLayoutEffect(() => {
    const box = element.current;
    if (!box) return;
    const look = () => {
      const { clientWidth: width, clientHeight: height } = box;
      if (width > 0 && height > 0) {
        setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
      }
    };
    look();
    const watch = new ResizeObserver(look);
    watch.observe(box);
    return () => watch.disconnect();
  }, [element]);
  return size;
}

const spoken = (node: MapNode | undefined) =>
  node === undefined
    ? ""
    : `${node.name}${node.fraction === null ? "" : `, ${percentText(node.fraction)} of capacity`}` +
      (node.count === undefined ? "" : `, ${countText(node.count, "broker")}, closed`);

export default function BrokerMap({
  nodes,
  edges,
  places,
  selected,
  onSelect,
  label,
  className = "",
  moves = NO_MOVES,
  convoys = NO_CONVOYS,
  stop = 0,
  steps,
  live,
  onOpen,
}: {
  nodes: readonly MapNode[];
  edges: readonly MapEdge[];
  /** Keep the same object while the same brokers stand on the map: a new one moves them. */
  places: Places;
  selected: string | null;
  onSelect: (broker: string) => void;
  label: string;
  className?: string;
  /** What the step after this stop does. */
  moves?: readonly MapMove[];
  convoys?: readonly MapConvoy[];
  stop?: number;
  /** What a step did, so that a scrubber that goes on by one shows its links travel. */
  steps?: (step: number) => readonly MapMove[];
  /** What of a step that runs now is on its way; keep the same list while nothing of it changes. */
  live?: readonly MapSlide[];
  onOpen?: (group: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const points = useRef<ReadonlyMap<string, Point>>(new Map());
  const palette = useRef<{ theme: Theme; read: Palette } | null>(null);
  const size = useSize(box);
  const theme = useTheme();
  const { camera, setCamera, fit, zoom, centre } = useCamera(size);
  const [hover, setHover] = useState<{ id: string; at: Point } | null>(null);
  const travel = useTravel(stop, steps, live);
  const byId = useMemo(() => new Map(nodes.map((node) => [node.id, node])), [nodes]);

  // The picture is kept apart from the camera, so that dragging repaints and computes nothing else.
  const picture = useMemo(
    () => ({ nodes, edges, places, selected, moves, convoys, travel }),
    [nodes, edges, places, selected, moves, convoys, travel],
  );
  const density = window.devicePixelRatio || 1;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    element.width = Math.round(size.width * density);
    element.height = Math.round(size.height * density);
  }, [size, density]);
  useLayoutEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen) return;
    if (palette.current?.theme !== theme) palette.current = { theme, read: readPalette(pen) };
    pen.setTransform(density, 0, 0, density, 0, 0);
    points.current = paint(pen, picture, palette.current.read, size, camera);
  }, [picture, size, camera, theme, density]);

  const reach = Math.max(
    8,
    Math.min(
      26,
      0.4 * Math.sqrt((size.width * size.height) / Math.max(1, nodes.length)) * camera.zoom,
    ),
  );
  const choose = useCallback(
    (id: string) => {
      const group = byId.get(id)?.count !== undefined;
      if (group && onOpen) onOpen(id);
      else onSelect(id);
    },
    [byId, onOpen, onSelect],
  );
  usePointer(canvas, {
    onCamera: setCamera,
    onClick: (at) => {
      const id = hit(points.current, at, reach);
      if (id) choose(id);
    },
    onHover: (at) => {
      const id = at && hit(points.current, at, reach);
      setHover((old) => (at && id ? (old?.id === id ? old : { id, at }) : null));
    },
  });

  const go = (by: number) => {
    const index = nodes.findIndex((node) => node.id === selected);
    const next = nodes[(index + by + nodes.length) % nodes.length];
    if (next) show(next.id);
  };
  const show = (id: string) => {
    onSelect(id);
    const at = points.current.get(id);
    const off = at && (at.x < 0 || at.y < 0 || at.x > size.width || at.y > size.height);
    if (at && (off || camera.zoom > 1.5)) centre(at);
  };
  useKeys({
    f: fit,
    j: () => go(1),
    k: () => go(-1),
    "+": () => zoom(1.5),
    "-": () => zoom(1 / 1.5),
  });

  const hovered = hover ? byId.get(hover.id) : undefined;
  const chosen = selected === null ? undefined : byId.get(selected);
  return (
    <div className={`map ${className}`}>
      <div ref={box}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={label}
          // Arrows and Enter work on the picture.
          tabIndex={0}
          onKeyDown={(event) => {
            const change = cameraKey(event.key);
            if (change) {
              event.preventDefault();
              setCamera(change);
            } else if (event.key === "Enter" && selected !== null) choose(selected);
          }}
        />
        <p className="vh" role="status">
          {spoken(chosen)}
        </p>
        {hover && hovered ? (
          <div className="maptip" style={{ left: hover.at.x + 14, top: hover.at.y + 10 }}>
            <b>{hovered.name}</b> {hovered.fraction === null ? null : percentText(hovered.fraction)}{" "}
            {hovered.note}
            {hovered.count === undefined ? null : <div className="faint">Click to open</div>}
          </div>
        ) : null}
        <MapTools nodes={nodes} onFind={show} onZoom={zoom} onFit={fit} />
      </div>
    </div>
  );
}
