/** Links on their way, what each of them is doing, and the brokers that they wait for. */
import type { Point } from "./camera";
import { LINE } from "./labels";
import { paintArrow, paintLinks, type PaintedLink } from "./paint-links";
import type { Palette } from "./palette";
import type { MapSlide } from "./scene";

/** With more of them words would cover the picture; the list below it has them all. */
const WORDED = 6;

const between = (a: Point, b: Point, share: number): Point => ({
  x: a.x + (b.x - a.x) * share,
  y: a.y + (b.y - a.y) * share,
});

type Ends = { slide: MapSlide; keeper: Point; end: Point; goal: Point };

function endsOf(slides: readonly MapSlide[], points: ReadonlyMap<string, Point>): Ends[] {
  return slides.flatMap((slide) => {
    const [a, b, c] = [points.get(slide.keeper), points.get(slide.from), points.get(slide.to)];
    return a && b && c ? [{ slide, keeper: a, end: between(b, c, slide.share), goal: c }] : [];
  });
}

export function paintTravel(
  pen: CanvasRenderingContext2D,
  slides: readonly MapSlide[],
  points: ReadonlyMap<string, Point>,
  thin: number,
  palette: Palette,
) {
  const width = Math.max(1.5, 3 * thin);
  const links = endsOf(slides, points).map(({ keeper, end }): PaintedLink => ({
    from: keeper,
    to: end,
    colour: "moving",
    width,
    line: "dashdot",
  }));
  paintLinks(pen, links, palette);
}

/** Above the vessels: where what runs now is going, its words, and rings around who must answer. */
export function paintTold(
  pen: CanvasRenderingContext2D,
  slides: readonly MapSlide[],
  points: ReadonlyMap<string, Point>,
  vessel: number,
  font: string,
  palette: Palette,
) {
  const told = endsOf(slides, points).filter(({ slide }) => slide.words !== undefined);
  pen.strokeStyle = palette.of("waits");
  pen.lineWidth = 2;
  pen.setLineDash([4, 3]);
  for (const broker of new Set(told.flatMap(({ slide }) => slide.waits ?? []))) {
    const at = points.get(broker);
    if (!at) continue;
    pen.beginPath();
    pen.arc(at.x, at.y, vessel * 0.72 + 4, 0, 2 * Math.PI);
    pen.stroke();
  }
  pen.setLineDash([]);
  for (const { keeper, end, goal } of told) {
    paintArrow(pen, between(keeper, end, 0.5), between(keeper, goal, 0.5), keeper, palette);
  }
  if (told.length > WORDED) return;
  pen.font = font;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { slide, keeper, end } of told) {
    const words = slide.words ?? "";
    if (words === "") continue;
    // Nearer to the end that travels, so that the words of a convoy's links stand apart.
    const at = between(keeper, end, 0.62);
    const wide = pen.measureText(words).width;
    pen.fillStyle = palette.of("surface");
    pen.beginPath();
    pen.roundRect(at.x - wide / 2 - 4, at.y - LINE / 2, wide + 8, LINE, 3);
    pen.fill();
    pen.fillStyle = palette.of("moving");
    pen.fillText(words, at.x, at.y + 0.5);
  }
}
