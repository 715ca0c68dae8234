/** Where names stand: beside their vessel, off the links and off each other; what finds no room is left out. */
import type { Point } from "./camera";

export type Box = { x: number; y: number; width: number; height: number };
export type Wanted = {
  id: string;
  at: Point;
  width: number;
  /** Height and width of the vessel it belongs to. */
  vessel: { width: number; height: number };
  /** It is drawn even where it covers something. */
  always: boolean;
};
export type Spot = { id: string; x: number; y: number; align: "left" | "center" | "right" };

export const LINE = 14;
const GAP = 5;
const HIDDEN = 12;

const meets = (a: Box, b: Box) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Whether a segment passes through a box (Liang and Barsky's clipping). */
export function crosses(box: Box, from: Point, to: Point): boolean {
  let [enter, leave] = [0, 1];
  const sides = [
    [from.x - to.x, from.x - box.x],
    [to.x - from.x, box.x + box.width - from.x],
    [from.y - to.y, from.y - box.y],
    [to.y - from.y, box.y + box.height - from.y],
  ] as const;
  for (const [along, room] of sides) {
    if (along === 0) {
      if (room < 0) return false;
    } else if (along < 0) enter = Math.max(enter, room / along);
    else leave = Math.min(leave, room / along);
  }
  return enter <= leave;
}

const CELL = 64;

/** Boxes by the squares they touch, so that a thousand names are placed in a moment. */
class Taken {
  private readonly cells = new Map<string, Box[]>();

  private *squares(box: Box) {
    for (let x = Math.floor(box.x / CELL); x * CELL < box.x + box.width; x += 1) {
      for (let y = Math.floor(box.y / CELL); y * CELL < box.y + box.height; y += 1)
        yield `${x} ${y}`;
    }
  }

  add(box: Box) {
    for (const cell of this.squares(box)) {
      const list = this.cells.get(cell);
      if (list) list.push(box);
      else this.cells.set(cell, [box]);
    }
  }

  count(box: Box): number {
    let found = 0;
    for (const cell of this.squares(box)) {
      for (const other of this.cells.get(cell) ?? []) if (meets(box, other)) found += 1;
    }
    return found;
  }
}

function spotsOf({ id, at, vessel }: Wanted): (Spot & { box: (width: number) => Box })[] {
  const [down, right] = [vessel.height / 2 + GAP, vessel.width / 2 + GAP + 2];
  const spot = (x: number, y: number, align: Spot["align"]) => ({
    id,
    x,
    y,
    align,
    box: (width: number): Box => ({
      x: align === "left" ? x : align === "right" ? x - width : x - width / 2,
      y: y - LINE / 2,
      width,
      height: LINE,
    }),
  });
  return [
    spot(at.x, at.y + down + LINE / 2, "center"),
    spot(at.x, at.y - down - LINE / 2, "center"),
    spot(at.x + right, at.y + vessel.height / 3, "left"),
    spot(at.x + right, at.y - vessel.height / 3, "left"),
    spot(at.x - right, at.y + vessel.height / 3, "right"),
    spot(at.x - right, at.y - vessel.height / 3, "right"),
  ];
}

/**
 * Greedy, in the order given. `links` are kept clear where they are few enough to look at each; what
 * has to be drawn takes the spot that covers least.
 */
export function placeLabels(
  wanted: readonly Wanted[],
  links: readonly (readonly [Point, Point])[],
  bounds: { width: number; height: number },
  /** Where something lies over the picture. */
  covered: readonly Box[] = [],
): Spot[] {
  const taken = new Taken();
  for (const box of covered) taken.add(box);
  for (const { at, vessel } of wanted) {
    taken.add({
      x: at.x - vessel.width / 2,
      y: at.y - vessel.height / 2,
      width: vessel.width,
      height: vessel.height,
    });
  }
  const placed: Spot[] = [];
  for (const one of wanted) {
    let best: { spot: Spot; box: Box; cost: number } | null = null;
    for (const { box: boxOf, ...spot } of spotsOf(one)) {
      const box = boxOf(one.width);
      const off =
        box.x < 2 ||
        box.y < 2 ||
        box.x + box.width > bounds.width - 2 ||
        box.y + box.height > bounds.height - 2;
      const cost =
        taken.count(box) * 4 +
        // What lies over the picture hides a name; a link only crosses it.
        covered.filter((other) => meets(box, other)).length * HIDDEN +
        links.filter(([from, to]) => crosses(box, from, to)).length +
        (off ? 6 : 0);
      if (best === null || cost < best.cost) best = { spot, box, cost };
      if (cost === 0) break;
    }
    if (best === null || (best.cost >= 4 && !one.always)) continue;
    taken.add(best.box);
    placed.push(best.spot);
  }
  return placed;
}
