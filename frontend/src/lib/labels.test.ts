import { labelWords, readLabels } from "./labels";

describe("labels", () => {
  it("are words in order, and are read again as they were", () => {
    const labels = { tier: "1", team: "port, north", x: "a=b", empty: "" };
    const words = labelWords(labels);
    expect(words).toEqual(["empty=", "team=port, north", "tier=1", "x=a=b"]);
    expect(readLabels(words)).toEqual({ labels, problem: null });
  });

  it("lose the spaces that were typed around them", () => {
    expect(readLabels(["team = port"]).labels).toEqual({ team: "port" });
  });

  it("say what is no label", () => {
    expect(readLabels(["team"]).problem).toBe('"team" has no "=": write key=value.');
    expect(readLabels(["team=a", "team=b"]).problem).toBe("team is given twice.");
    // The server refuses the key; here it must not vanish.
    expect(JSON.stringify(readLabels(["__proto__=a"]).labels)).toBe('{"__proto__":"a"}');
  });

  it("are none where an object has none", () => {
    expect(labelWords(undefined)).toEqual([]);
    expect(labelWords({})).toEqual([]);
  });
});
