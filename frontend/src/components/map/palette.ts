/** Colours of a drawing, read once per theme: a canvas knows no CSS variables. */
import { token } from "@/lib/theme";

const NAMES = [
  ...["surface", "surface-2", "well", "line", "line-2", "text", "text-2", "text-3", "accent"],
  ...["accent-soft", "crest", "ghost", "bad", "before", "after", "moving", "moving-soft", "waits"],
  ...["load-0", "load-1", "load-2", "load-3", "load-4", "load-5", "load-6"],
];

export type Palette = {
  of: (name: string) => string;
  spill: CanvasPattern | string;
  /** A level that nobody knows: never the empty vessel of no load. */
  unknown: CanvasPattern | string;
};

/** 45 degree hatching. */
function hatching(context: CanvasRenderingContext2D, ink: string, paper: string) {
  const tile = document.createElement("canvas");
  tile.width = 5;
  tile.height = 5;
  const pen = tile.getContext("2d");
  if (!pen) return ink;
  pen.fillStyle = ink;
  pen.fillRect(0, 0, 5, 5);
  pen.strokeStyle = paper;
  pen.globalAlpha = 0.75;
  pen.lineWidth = 1.6;
  pen.beginPath();
  for (const at of [-5, 0, 5]) {
    pen.moveTo(at, 5);
    pen.lineTo(at + 5, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat") ?? ink;
}

export function readPalette(context: CanvasRenderingContext2D): Palette {
  const colours = new Map(NAMES.map((name) => [name, token(name)]));
  const of = (name: string) => colours.get(name) ?? colours.get("text") ?? "";
  return {
    of,
    spill: hatching(context, of("load-6"), of("surface")),
    unknown: hatching(context, of("line-2"), of("surface")),
  };
}
