import { curveIn, type Frame } from "./curve";

import { mappingOutcome, mapPoint } from "@/testing/mapping-samples";

const FRAME: Frame = { left: 40, right: 340, top: 20, bottom: 150 };
const { points } = mappingOutcome();

describe("the curve of cost against moves", () => {
  it("puts every point inside its frame, at its moves of flows and streams", () => {
    const curve = curveIn(points, FRAME);
    expect(curve.places).toHaveLength(points.length);
    for (const { x, y } of curve.places) {
      expect(x).toBeGreaterThanOrEqual(FRAME.left);
      expect(x).toBeLessThanOrEqual(FRAME.right);
      expect(y).toBeGreaterThanOrEqual(FRAME.top);
      expect(y).toBeLessThanOrEqual(FRAME.bottom);
    }
    const [keep, proposed, anew] = curve.places;
    expect(keep?.x).toBe(40);
    expect(anew?.x).toBe(340);
    expect(proposed?.x).toBeCloseTo(40 + (1848 / 5550) * 300);
    expect(curve.path).toMatch(/^M40\.0 [\d.]+L[\d. ]+L340\.0 [\d.]+$/);
  });

  it("names round costs from below the cheapest to above the dearest", () => {
    const curve = curveIn(points, FRAME);
    expect(curve.unit).toBe("k work/s");
    expect(curve.ticks.map(({ text }) => text)).toEqual(["150", "175", "200", "225", "250"]);
    expect(curve.ticks[0]?.y).toBe(150);
    expect(curve.ticks.at(-1)?.y).toBe(20);
    expect(curve.isZoomed).toBe(true);
    expect(curve.lowest.cost).toBe(165_800);
    expect(curve.lowest.y).toBeCloseTo(150 - (15_800 / 100_000) * 130);
    expect(curve.moves.map(({ moves }) => moves)).toEqual([0, 2000, 4000]);
  });

  it("begins at nought where the gain is most of the cost", () => {
    const curve = curveIn([mapPoint({ cost: 90 }), mapPoint({ cost: 10 })], FRAME);
    expect(curve.isZoomed).toBe(false);
    expect(curve.ticks[0]).toMatchObject({ cost: 0, text: "0", y: 150 });
  });

  it.each([
    ["nothing costs anything", [0, 0]],
    ["all cost the same", [231_500, 231_500]],
    ["they differ by less than can be drawn", [231_500, 231_500 - 1e-7]],
    ["they are tiny", [3e-6, 2.9e-6]],
  ])("holds where %s", (_, costs) => {
    const curve = curveIn(
      costs.map((cost) => mapPoint({ cost, moved: 0, moved_streams: 0 })),
      FRAME,
    );
    const numbers = [...curve.places.flatMap(({ x, y }) => [x, y]), ...curve.ticks.map((t) => t.y)];
    expect(numbers.every(Number.isFinite)).toBe(true);
    expect(curve.places.every(({ y }) => y >= 20 && y <= 150)).toBe(true);
    expect(new Set(curve.ticks.map(({ text }) => text)).size).toBe(curve.ticks.length);
    expect(curve.ticks.length).toBeLessThan(8);
  });

  it("never draws the cheapest on the axis itself, but where it is free", () => {
    for (let low = 100; low < 231; low += 1) {
      const curve = curveIn([mapPoint({ cost: 231 }), mapPoint({ cost: low })], FRAME);
      expect(curve.lowest.y).toBeLessThan(150 - 4);
    }
  });
});
