/** Brokers as vessels of 0 to 120 %, as dots where there is no room, and groups as basins with a count. */
import type { Point } from "./camera";
import type { Palette } from "./palette";

import { isOver, loadLevel } from "@/lib/load";

/** Below this height a vessel is a dot. */
export const DOT_UNDER = 15;

export type Vessel = {
  at: Point;
  height: number;
  fraction: number | null;
  previous?: number | null;
  group: boolean;
  selected: boolean;
  /** A step that runs waits for its answer. */
  ringed: boolean;
  /** It takes part in the next step. */
  marked: boolean;
};

export const vesselWidth = (height: number, group: boolean) =>
  group ? height * 1.5 : height < DOT_UNDER ? height : (height * 26) / 36;

function paintDots(pen: CanvasRenderingContext2D, dots: readonly Vessel[], palette: Palette) {
  const fills = new Map<string, Vessel[]>();
  for (const dot of dots) {
    const fill = dot.fraction === null ? "line-2" : `load-${Math.max(1, loadLevel(dot.fraction))}`;
    const list = fills.get(fill);
    if (list) list.push(dot);
    else fills.set(fill, [dot]);
  }
  for (const [fill, list] of fills) {
    pen.fillStyle = palette.of(fill);
    pen.strokeStyle = palette.of("text-3");
    pen.lineWidth = 0.75;
    pen.beginPath();
    for (const { at, height } of list) {
      const radius = height / 2;
      pen.moveTo(at.x + radius, at.y);
      pen.arc(at.x, at.y, radius, 0, 2 * Math.PI);
    }
    pen.fill();
    if ((list[0]?.height ?? 0) >= 5) pen.stroke();
  }
}

function paintVessel(pen: CanvasRenderingContext2D, vessel: Vessel, palette: Palette) {
  const { at, height, fraction, group } = vessel;
  const width = vesselWidth(height, group);
  const [left, top, bottom] = [at.x - width / 2, at.y - height / 2, at.y + height / 2];
  const y = (share: number) => bottom - (Math.min(Math.max(share, 0), 1.2) / 1.2) * height;
  const crest = y(1);
  const over = width * 0.13;
  pen.beginPath();
  pen.roundRect(left, top, width, height, group ? 6 : 3);
  pen.fillStyle = fraction === null ? palette.unknown : palette.of("surface");
  pen.fill();
  if (fraction !== null) {
    pen.save();
    pen.clip();
    pen.fillStyle = palette.of(`load-${Math.min(5, loadLevel(fraction))}`);
    const water = y(Math.min(1, fraction));
    pen.fillRect(left, water, width, bottom - water);
    if (isOver(fraction)) {
      pen.fillStyle = palette.spill;
      pen.fillRect(left, y(fraction), width, crest - y(fraction));
    }
    pen.restore();
  }
  pen.beginPath();
  pen.roundRect(left, top, width, height, group ? 6 : 3);
  pen.strokeStyle = palette.of("text-2");
  pen.lineWidth = 1.25;
  pen.stroke();
  if (vessel.previous !== undefined && vessel.previous !== null) {
    pen.strokeStyle = palette.of("before");
    pen.lineWidth = 1.5;
    pen.setLineDash([2, 1.5]);
    pen.beginPath();
    pen.moveTo(left, y(vessel.previous));
    pen.lineTo(left + width, y(vessel.previous));
    pen.stroke();
    pen.setLineDash([]);
  }
  pen.strokeStyle = palette.of("crest");
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(left - over, crest);
  pen.lineTo(left + width + over, crest);
  pen.stroke();
}

function paintHalo(pen: CanvasRenderingContext2D, vessel: Vessel, palette: Palette) {
  const { at, height, group } = vessel;
  const [w, h] = [vesselWidth(height, group) + 16, height + 14];
  pen.beginPath();
  pen.roundRect(at.x - w / 2, at.y - h / 2, w, h, 6);
  if (vessel.selected) {
    pen.fillStyle = palette.of("accent-soft");
    pen.fill();
    pen.strokeStyle = palette.of("accent");
    pen.lineWidth = 1.25;
    pen.stroke();
  }
}

export function paintVessels(
  pen: CanvasRenderingContext2D,
  vessels: readonly Vessel[],
  palette: Palette,
) {
  const dots = vessels.filter((vessel) => !vessel.group && vessel.height < DOT_UNDER);
  for (const vessel of vessels) if (vessel.selected) paintHalo(pen, vessel, palette);
  paintDots(pen, dots, palette);
  for (const dot of dots) {
    if (!dot.marked) continue;
    pen.beginPath();
    pen.arc(dot.at.x, dot.at.y, dot.height / 2 + 2, 0, 2 * Math.PI);
    pen.strokeStyle = palette.of("moving");
    pen.lineWidth = 1.25;
    pen.stroke();
  }
  for (const vessel of vessels) {
    if (vessel.group || vessel.height >= DOT_UNDER) paintVessel(pen, vessel, palette);
  }
}
