import { paintVessels, type Vessel } from "./paint-vessels";
import type { Palette } from "./palette";

const palette: Palette = { of: (name) => name, spill: "spill", unknown: "unknown" };

/** A pen that keeps what it fills, with the colour it had then. */
function recorder() {
  const fills: { style: string; top: number; height: number }[] = [];
  const pen = {
    fillStyle: "",
    fill: () => fills.push({ style: pen.fillStyle, top: -Infinity, height: Infinity }),
    fillRect: (_left: number, top: number, _width: number, height: number) =>
      fills.push({ style: pen.fillStyle, top, height }),
  };
  const ignore = () => undefined;
  const context = new Proxy(pen, {
    get: (target, name): unknown => (Reflect.get(target, name) as unknown) ?? ignore,
  }) as unknown as CanvasRenderingContext2D;
  return { context, fills };
}

const vessel = (fraction: number | null): Vessel => ({
  at: { x: 50, y: 60 },
  height: 120,
  fraction,
  group: false,
  selected: false,
  ringed: false,
  marked: false,
});

function fillsOf(fraction: number | null) {
  const { context, fills } = recorder();
  paintVessels(context, [vessel(fraction)], palette);
  return fills;
}

describe("a vessel", () => {
  it("is full to the crest and spills to its rim where it is far over capacity", () => {
    const [ground, water, spill] = fillsOf(2.29);
    expect(ground?.style).toBe("surface");
    expect(water).toEqual({ style: "load-5", top: 20, height: 100 });
    expect(spill).toEqual({ style: "spill", top: 0, height: 20 });
  });

  it("is hatched where its level is not known, so that it does not look empty", () => {
    expect(fillsOf(null).map(({ style }) => style)).toEqual(["unknown"]);
    expect(fillsOf(0)[0]?.style).toBe("surface");
  });
});
