/** Links, the arrows of what moves next, and the shade under a convoy. */
import type { Point } from "./camera";
import type { Palette } from "./palette";

export type LineStyle = "solid" | "dashed" | "dotted" | "dashdot";

export type PaintedLink = {
  from: Point;
  to: Point;
  colour: string;
  width: number;
  line: LineStyle;
  faint?: boolean;
};

const DASHES: Record<LineStyle, readonly number[]> = {
  solid: [],
  dashed: [9, 5],
  dotted: [1, 5],
  dashdot: [9, 4, 2, 4],
};

/** Links of one look in one path: ten thousand of them are some dozens of strokes. */
export function paintLinks(
  pen: CanvasRenderingContext2D,
  links: readonly PaintedLink[],
  palette: Palette,
) {
  const looks = new Map<string, PaintedLink[]>();
  for (const link of links) {
    const width = Math.round(link.width * 2) / 2;
    const look = `${link.colour} ${link.line} ${width} ${link.faint ? 1 : 0}`;
    const list = looks.get(look);
    if (list) list.push(link);
    else looks.set(look, [link]);
  }
  for (const list of looks.values()) {
    const first = list[0];
    if (!first) continue;
    pen.beginPath();
    for (const { from, to } of list) {
      pen.moveTo(from.x, from.y);
      pen.lineTo(to.x, to.y);
    }
    pen.strokeStyle = palette.of(first.colour);
    pen.globalAlpha = first.faint ? 0.25 : 1;
    pen.lineWidth = first.width;
    pen.setLineDash(DASHES[first.line]);
    pen.lineCap = first.line === "dotted" ? "round" : "butt";
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  pen.lineCap = "butt";
}

/** From the middle of a link to where it goes: a curve with a head. */
export function paintArrow(
  pen: CanvasRenderingContext2D,
  from: Point,
  to: Point,
  turn: Point,
  palette: Palette,
) {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length < 12) return;
  // It bends away from the end that stays, as a door turns on its hinge.
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  const out = Math.hypot(middle.x - turn.x, middle.y - turn.y) || 1;
  const bend = Math.min(26, length * 0.28);
  const knee = {
    x: middle.x + ((middle.x - turn.x) / out) * bend,
    y: middle.y + ((middle.y - turn.y) / out) * bend,
  };
  const angle = Math.atan2(to.y - knee.y, to.x - knee.x);
  pen.strokeStyle = palette.of("moving");
  pen.fillStyle = palette.of("moving");
  pen.lineWidth = 1.75;
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  pen.quadraticCurveTo(knee.x, knee.y, to.x - 7 * Math.cos(angle), to.y - 7 * Math.sin(angle));
  pen.stroke();
  pen.beginPath();
  pen.moveTo(to.x, to.y);
  pen.lineTo(to.x - 10 * Math.cos(angle - 0.45), to.y - 10 * Math.sin(angle - 0.45));
  pen.lineTo(to.x - 10 * Math.cos(angle + 0.45), to.y - 10 * Math.sin(angle + 0.45));
  pen.fill();
}

/** One soft shape under all the links of a convoy: they travel as a group. */
export function paintConvoy(
  pen: CanvasRenderingContext2D,
  at: Point,
  ends: readonly Point[],
  vessel: number,
  palette: Palette,
) {
  pen.strokeStyle = palette.of("moving");
  pen.globalAlpha = 0.16;
  pen.lineWidth = Math.max(9, Math.min(18, vessel * 0.6));
  pen.lineCap = "round";
  pen.lineJoin = "round";
  pen.beginPath();
  for (const end of ends) {
    pen.moveTo(end.x, end.y);
    pen.lineTo(at.x, at.y);
  }
  pen.stroke();
  pen.globalAlpha = 1;
  pen.lineCap = "butt";
  pen.lineWidth = 1.5;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  pen.arc(at.x, at.y, vessel * 0.72 + 6, 0, 2 * Math.PI);
  pen.stroke();
  pen.setLineDash([]);
}
