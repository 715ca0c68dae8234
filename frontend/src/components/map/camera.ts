/** What part of the map is on the screen: places from 0 to 1 become pixels. */
import type { Places } from "./places";

export type Size = { width: number; height: number };
export type Camera = { zoom: number; x: number; y: number };
export type Point = { x: number; y: number };

export const FIT: Camera = { zoom: 1, x: 0, y: 0 };
export const MAX_ZOOM = 40;
export const MIN_ZOOM = 0.5;

const PAD = { x: 64, top: 44, bottom: 58 };
/** Wider maps only lengthen the links. */
const WIDEST = 1100;
/** A handful of brokers stands together instead of in the corners. */
const FEW = 5;

/** Find, zoom and fit lie over the picture at its lower right: `.maptools`, with its distance. */
export const TOOLS: Size = { width: 42, height: 124 };

/** From here on brokers are dots until the reader comes closer. */
export const CROWD = 300;

/** Pixels of a place while everything fits. */
export function frame(size: Size, count: number): (place: Point) => Point {
  const many = count > 60;
  const width = Math.min(many ? Math.max(WIDEST, size.height * 2.2) : WIDEST, size.width);
  const pad = many ? { x: 28, top: 22, bottom: 26 } : PAD;
  const left = (size.width - width) / 2;
  const share = count < FEW ? 0.55 : 1;
  const inner = (at: number) => 0.5 + (at - 0.5) * share;
  return ({ x, y }) => ({
    x: left + pad.x + inner(x) * (width - 2 * pad.x),
    y: pad.top + inner(y) * (size.height - pad.top - pad.bottom),
  });
}

/** Height of a broker's vessel on the screen: full where there is room, a dot where there is none. */
export function vesselHeight(size: Size, count: number, zoom: number): number {
  const room = Math.sqrt((size.width * size.height) / Math.max(1, count));
  // A crowd stands in clusters, so each gets less than its share of the room.
  const share = count > CROWD ? 0.32 : 0.48;
  return Math.max(count > CROWD ? 3.5 : 5, Math.min(36, share * room * zoom));
}

/** Places on the screen, in the order of the places given. */
export function project(places: Places, size: Size, camera: Camera): Map<string, Point> {
  const at = frame(size, places.size);
  const found = new Map<string, Point>();
  for (const [id, place] of places) {
    const point = at(place);
    found.set(id, { x: point.x * camera.zoom + camera.x, y: point.y * camera.zoom + camera.y });
  }
  return found;
}

/** Zoom so that what is under the pointer stays there. */
export function zoomAt(camera: Camera, at: Point, factor: number): Camera {
  const zoom = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, camera.zoom * factor));
  const ratio = zoom / camera.zoom;
  return { zoom, x: at.x - (at.x - camera.x) * ratio, y: at.y - (at.y - camera.y) * ratio };
}

/** The camera that shows a point in the middle. */
export const centred = (camera: Camera, at: Point, size: Size): Camera => ({
  ...camera,
  x: camera.x + size.width / 2 - at.x,
  y: camera.y + size.height / 2 - at.y,
});
