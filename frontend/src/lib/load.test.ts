import { isOver, loadColour, loadLevel, loadState, worstFraction } from "./load";

describe("the load ramp", () => {
  it.each([
    [0, 0],
    [0.2, 0],
    [0.21, 1],
    [0.6, 2],
    [0.8, 3],
    [0.9, 4],
    [1, 5],
    [1 + 1e-9, 5],
    [1.01, 6],
  ])("puts %f on step %i", (fraction, level) => {
    expect(loadLevel(fraction)).toBe(level);
  });

  it("keeps the water below the crest water, however full, and marks what is over", () => {
    expect(loadColour(1.2)).toBe("var(--load-5)");
    expect(isOver(1 + 1e-9)).toBe(false);
    expect(loadState(0.95)).toBe("near");
    expect(loadState(0.9999)).toBe("at");
    expect(loadState(1.08)).toBe("over");
  });

  it("finds the scarcest resource of a node", () => {
    expect(worstFraction({ cpu: 5, memory: 9 }, { cpu: 10, memory: 10 })).toEqual({
      resource: "memory",
      fraction: 0.9,
    });
    expect(worstFraction({}, { cpu: 10 })).toBeNull();
  });
});
