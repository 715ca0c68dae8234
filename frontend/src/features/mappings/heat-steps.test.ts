import { heatSteps, shadeOf, stepsText } from "./heat-steps";

/** The same numbers in every run. */
function* drawn(seed: number) {
  let state = seed;
  for (;;) {
    state = (state * 16_807) % 2_147_483_647;
    yield state / 2_147_483_647;
  }
}

const many = (seed: number, count: number, amount: (part: number) => number) => {
  const source = drawn(seed);
  return Array.from({ length: count }, () => amount(source.next().value ?? 0));
};

const digits = (value: number) =>
  value
    .toExponential()
    .replace(/e.*|\./g, "")
    .replace(/0+$/, "");

describe("the steps of the heat map", () => {
  it("are one, two and three times a round number, and a quarter of it", () => {
    const amounts = many(3, 400, (part) => 1250 * part);
    expect(heatSteps(amounts)).toEqual([50, 300, 600, 900]);
    expect(heatSteps([1200])).toEqual([100, 400, 800, 1200]);
  });

  it("are round, rise, and are reached by a few amounts, of whatever size", () => {
    for (let power = -6; power <= 9; power += 1) {
      for (let seed = 1; seed <= 40; seed += 1) {
        const amounts = many(seed, 3 + seed, (part) => 10 ** power * (part ** 4 + 1e-3) * seed);
        const steps = heatSteps(amounts);
        expect(steps).not.toBeNull();
        if (steps === null) continue;
        expect([...steps].sort((one, other) => one - other)).toEqual(steps);
        expect(new Set(steps).size).toBe(4);
        expect(steps.every((step) => step > 0 && digits(step).length <= 2)).toBe(true);
        const darkest = amounts.filter((amount) => shadeOf(amount, steps) === 4).length;
        expect(darkest).toBeGreaterThan(0);
        // The darkest is for much of what is usual, not for the very last of it.
        const usual = amounts.sort((one, other) => one - other)[
          Math.ceil(0.95 * amounts.length) - 1
        ];
        expect(steps[3]).toBeGreaterThan(0.6 * (usual ?? 0));
      }
    }
  });

  it("are not made for one amount that stands out", () => {
    const amounts = [...many(5, 99, (part) => 100 * part), 1e9];
    expect(heatSteps(amounts)?.[3]).toBeLessThanOrEqual(100);
  });

  it("are none where nothing is filtered; then no cell has a colour", () => {
    expect(heatSteps([])).toBeNull();
    expect(heatSteps([0, 0])).toBeNull();
    expect(shadeOf(0, null)).toBe(0);
  });

  it("begin with the amount that they name", () => {
    const steps = [100, 400, 800, 1200] as const;
    expect([0, 99.9, 100, 399, 400, 800, 1199, 1200, 1e9].map((at) => shadeOf(at, steps))).toEqual([
      ...[0, 0, 1, 1, 2, 3, 3, 4, 4],
    ]);
  });

  it("are said with their unit once, and no digit too many", () => {
    expect(stepsText([100, 400, 800, 1200], "msg/s")).toBe("from 100, 400, 800, 1,200 msg/s");
    expect(stepsText([0.02, 0.1, 0.2, 0.3], "msg/s")).toBe("from 0.02, 0.1, 0.2, 0.3 msg/s");
    expect(stepsText([10_000, 50_000, 100_000, 150_000], "msg/s")).toBe(
      "from 10, 50, 100, 150 k msg/s",
    );
    expect(stepsText([1e-7, 5e-7, 1e-6, 1.5e-6], "msg/s")).toBe(
      "from 0.0000001, 0.0000005, 0.000001, 0.0000015 msg/s",
    );
  });
});
