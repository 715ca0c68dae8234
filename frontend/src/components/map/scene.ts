/** One picture of an overlay: what is drawn where, on a canvas, at one position of the camera. */
import { CROWD, project, TOOLS, vesselHeight, type Camera, type Point, type Size } from "./camera";
import { LINE, placeLabels, type Box, type Wanted } from "./labels";
import {
  paintArrow,
  paintConvoy,
  paintLinks,
  type LineStyle,
  type PaintedLink,
} from "./paint-links";
import { paintTold, paintTravel } from "./paint-travel";
import { paintVessels, vesselWidth, type Vessel } from "./paint-vessels";
import type { Palette } from "./palette";
import type { Places } from "./places";

import { isOver } from "@/lib/load";
import { percentText } from "@/lib/numbers";

export type MapNode = {
  id: string;
  name: string;
  fraction: number | null;
  /** Where its level was before. */
  previous?: number | null;
  /** A group of this many brokers; opened by a click. */
  count?: number;
  /** More to say after the name. */
  note?: string;
};

export type MapEdge = {
  id: string;
  source: string;
  target: string;
  label?: string;
  /** Name of a colour token. */
  colour: string;
  width: number;
  line?: LineStyle;
};

/** A link that moves: the broker that keeps it, the end that it leaves, the end that it gets. */
export type MapMove = { id: string; keeper: string; from: string; to: string };

/** One that is on its way: 0 at the old end, 1 at the new one. */
export type MapSlide = MapMove & {
  share: number;
  /** Of a step that runs now: what it is doing, and the brokers whose answer it needs. */
  words?: string;
  waits?: readonly string[];
};

export type MapConvoy = { mover: string; others: readonly string[] };

export type Picture = {
  nodes: readonly MapNode[];
  edges: readonly MapEdge[];
  places: Places;
  selected: string | null;
  /** What the next step does; arrows where there is room. */
  moves: readonly MapMove[];
  convoys: readonly MapConvoy[];
  /** Links of the step just shown, or of the one that runs now. */
  travel: readonly MapSlide[];
};

const FONT = '11.5px "Inter Variable", Inter, sans-serif';
const BOLD = '600 11.5px "Inter Variable", Inter, sans-serif';
const SMALL = '10.5px "Inter Variable", Inter, sans-serif';
/** Names beside links and free of them, while there are so few. */
const FEW = 90;
const NAMED = 36;
/** Most arrows that still tell something. */
const ARROWS = 40;

export function hit(points: ReadonlyMap<string, Point>, at: Point, reach: number): string | null {
  let [best, least] = [null as string | null, reach];
  for (const [id, point] of points) {
    const distance = Math.hypot(point.x - at.x, point.y - at.y);
    if (distance < least) [best, least] = [id, distance];
  }
  return best;
}

const between = (a: Point, b: Point, share: number): Point => ({
  x: a.x + (b.x - a.x) * share,
  y: a.y + (b.y - a.y) * share,
});

function linksOf(picture: Picture, points: ReadonlyMap<string, Point>, thin: number) {
  const moving = new Set(picture.travel.map(({ id }) => id));
  const links: (PaintedLink & { edge: MapEdge })[] = [];
  for (const edge of picture.edges) {
    const [from, to] = [points.get(edge.source), points.get(edge.target)];
    // Where it goes stays to be seen while it travels there.
    if (!from || !to || (moving.has(edge.id) && edge.line !== "dotted")) continue;
    const width = Math.max(1, edge.width * thin);
    links.push({ from, to, colour: edge.colour, width, line: edge.line ?? "solid", edge });
  }
  return links;
}

/** What is to come lies below what stands, what moves above all. */
const LAYER: Record<string, number> = { dotted: 0, solid: 1, dashed: 2, dashdot: 3 };

function vesselsOf(picture: Picture, points: ReadonlyMap<string, Point>, height: number) {
  // In a crowd only those that slide are ringed: three rings an action would hide the tree.
  const crowd = picture.nodes.length > CROWD;
  const marked = new Set(
    picture.moves.flatMap((move) => (crowd ? [move.keeper] : [move.keeper, move.from, move.to])),
  );
  const waits = new Set(picture.travel.flatMap((slide) => slide.waits ?? []));
  return picture.nodes.flatMap((node): (Vessel & { node: MapNode })[] => {
    const at = points.get(node.id);
    if (!at) return [];
    const group = node.count !== undefined;
    return [
      {
        at,
        node,
        group,
        height: group ? Math.max(22, Math.min(38, height)) : height,
        fraction: node.fraction,
        previous: node.previous,
        selected: node.id === picture.selected,
        ringed: waits.has(node.id),
        marked: marked.has(node.id),
      },
    ];
  });
}

function paintText(
  pen: CanvasRenderingContext2D,
  palette: Palette,
  at: Point,
  parts: readonly { text: string; font: string; ink: string }[],
  align: "left" | "center" | "right",
  total: number,
) {
  let x = align === "left" ? at.x : align === "right" ? at.x - total : at.x - total / 2;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  for (const { text, font, ink } of parts) {
    pen.font = font;
    pen.lineWidth = 3.5;
    pen.strokeStyle = palette.of("surface");
    pen.strokeText(text, x, at.y);
    pen.fillStyle = palette.of(ink);
    pen.fillText(text, x, at.y);
    x += widthOf(pen, text, font) + 5;
  }
}

/** Widths of texts by font: the same names are drawn at every frame of a drag. */
const widths = new Map<string, number>();
const MOST_WIDTHS = 20_000;

function widthOf(pen: CanvasRenderingContext2D, text: string, font: string): number {
  const key = `${font} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (widths.size > MOST_WIDTHS) widths.clear();
  pen.font = font;
  const width = pen.measureText(text).width;
  widths.set(key, width);
  return width;
}

const inside = (at: Point, size: Size) =>
  at.x > -20 && at.y > -20 && at.x < size.width + 20 && at.y < size.height + 20;

function partsOf(vessel: Vessel & { node: MapNode }) {
  const { name, fraction, note } = vessel.node;
  const over = fraction !== null && isOver(fraction);
  const parts = [{ text: name, font: BOLD, ink: "text" }];
  if (fraction !== null) {
    parts.push({
      text: percentText(fraction),
      font: over ? BOLD : FONT,
      ink: over ? "bad" : "text-2",
    });
  }
  if (note) parts.push({ text: note, font: FONT, ink: "text-2" });
  return parts;
}

/** Who is named first where there is not room for all. */
function importance(vessel: Vessel & { node: MapNode }): number {
  return (
    (vessel.selected ? 8 : 0) +
    (vessel.group ? 4 : 0) +
    (vessel.fraction !== null && isOver(vessel.fraction) ? 3 : 0) +
    (vessel.marked ? 2 : 0) +
    (vessel.fraction ?? 0)
  );
}

const toolsOf = ({ width, height }: Size): Box => ({
  x: width - TOOLS.width,
  y: height - TOOLS.height,
  ...TOOLS,
});

function paintLabels(
  pen: CanvasRenderingContext2D,
  palette: Palette,
  vessels: readonly (Vessel & { node: MapNode })[],
  links: readonly (readonly [Point, Point])[],
  size: Size,
) {
  const few = vessels.length <= FEW;
  const shown = vessels.filter(({ at }) => inside(at, size));
  // Of a crowd only those that stand out are named; zooming in names the rest.
  const most = shown.length > CROWD ? NAMED : 500;
  const named = [...shown].sort((a, b) => importance(b) - importance(a)).slice(0, most);
  const texts = new Map(
    named.map((vessel) => {
      const parts = partsOf(vessel);
      const width = parts.reduce((sum, { text, font }) => {
        return sum + widthOf(pen, text, font) + 5;
      }, -5);
      return [vessel.node.id, { parts, width }] as const;
    }),
  );
  const wanted = named.map((vessel): Wanted => ({
    id: vessel.node.id,
    at: vessel.at,
    width: texts.get(vessel.node.id)?.width ?? 0,
    vessel: {
      width: vesselWidth(vessel.height, vessel.group) + (vessel.selected || vessel.ringed ? 14 : 0),
      height: vessel.height + (vessel.ringed ? 20 : vessel.selected ? 12 : 0),
    },
    always: vessel.selected || (few && vessels.length <= 40),
  }));
  for (const { id, x, y, align } of placeLabels(wanted, few ? links : [], size, [toolsOf(size)])) {
    const text = texts.get(id);
    if (text) paintText(pen, palette, { x, y }, text.parts, align, text.width);
  }
}

function paintEdgeLabels(
  pen: CanvasRenderingContext2D,
  palette: Palette,
  links: readonly (PaintedLink & { edge: MapEdge })[],
) {
  pen.font = SMALL;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { from, to, edge } of links) {
    if (!edge.label) continue;
    const width = widthOf(pen, edge.label, SMALL);
    pen.font = SMALL;
    // A label longer than its link would cover both ends.
    if (Math.hypot(to.x - from.x, to.y - from.y) < width + 44) continue;
    const at = between(from, to, 0.5);
    pen.fillStyle = palette.of("surface");
    pen.beginPath();
    pen.roundRect(at.x - width / 2 - 4, at.y - LINE / 2, width + 8, LINE, 3);
    pen.fill();
    pen.fillStyle = palette.of("text-2");
    pen.fillText(edge.label, at.x, at.y + 0.5);
  }
}

/** Paint the whole picture; answers where the units stand on the screen. */
export function paint(
  pen: CanvasRenderingContext2D,
  picture: Picture,
  palette: Palette,
  size: Size,
  camera: Camera,
): Map<string, Point> {
  const points = project(picture.places, size, camera);
  const height = vesselHeight(size, picture.nodes.length, camera.zoom);
  const thin = Math.min(1, Math.max(0.4, height / 22));
  pen.clearRect(0, 0, size.width, size.height);
  for (const { mover, others } of picture.convoys) {
    const at = points.get(mover);
    const ends = others.flatMap((id) => points.get(id) ?? []);
    if (at) paintConvoy(pen, at, ends, height, palette);
  }
  const links = linksOf(picture, points, thin);
  links.sort((a, b) => (LAYER[a.line] ?? 0) - (LAYER[b.line] ?? 0));
  paintLinks(pen, links, palette);
  paintTravel(pen, picture.travel, points, thin, palette);
  const vessels = vesselsOf(picture, points, height);
  paintVessels(pen, vessels, palette);
  paintTold(pen, picture.travel, points, height, SMALL, palette);
  const played = picture.travel.some(({ words }) => words === undefined);
  if (!played && picture.moves.length <= ARROWS) {
    for (const { keeper, from, to } of picture.moves) {
      const [a, b, c] = [points.get(keeper), points.get(from), points.get(to)];
      if (a && b && c) paintArrow(pen, between(a, b, 0.5), between(a, c, 0.5), a, palette);
    }
  }
  paintEdgeLabels(pen, palette, links);
  paintLabels(
    pen,
    palette,
    vessels,
    links.map(({ from, to }) => [from, to] as const),
    size,
  );
  return points;
}
