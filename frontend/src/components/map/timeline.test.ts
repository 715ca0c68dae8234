import { convoysAt, edgesAt, startOf, timelineOf, wordsAt, type Edge, type Move } from "./timeline";
import { pictureAt } from "./overlay-player";

const shift = (broker: string, source: string, to: string): Move => ({
  op: "shift",
  broker,
  source,
  to,
});
const link = (text: string): Edge => ({ a: text.slice(0, 1), b: text.slice(1) });
const tree = (text: string) => text.split(" ").map(link);
const phasesAt = (timeline: ReturnType<typeof timelineOf>, stop: number) =>
  Object.fromEntries(
    edgesAt(timeline, stop).map(({ a, b, phase }) => [[a, b].sort().join(""), phase]),
  );

describe("phases of links", () => {
  const start = tree("ab bc ap");
  const timeline = timelineOf(start, [[shift("p", "a", "b")], [shift("p", "b", "c")]]);

  it("are stays, leaves, moving, goal and placed", () => {
    expect(phasesAt(timeline, 0)).toEqual({ ab: "stays", bc: "stays", ap: "leaves", cp: "goal" });
    expect(phasesAt(timeline, 1)).toEqual({ ab: "stays", bc: "stays", bp: "moving", cp: "goal" });
    expect(phasesAt(timeline, 2)).toEqual({ ab: "stays", bc: "stays", cp: "placed" });
    expect(wordsAt(timeline, 1)).toBe("Links: 2 stay, 1 on their way, 1 still to come");
  });

  it("are those of brokers that come and go, too", () => {
    const steps: Move[][] = [
      [{ op: "append", broker: "n", to: "c" }],
      [{ op: "detach", broker: "p", source: "a" }],
    ];
    const found = timelineOf(start, steps);
    expect(phasesAt(found, 0)).toEqual({ ab: "stays", bc: "stays", ap: "leaves", cn: "goal" });
    expect(phasesAt(found, 2)).toEqual({ ab: "stays", bc: "stays", cn: "placed" });
  });

  it("know an exchange, which links two other brokers than it parts", () => {
    const found = timelineOf(start, [
      [{ op: "exchange", broker: "a", source: "b", at: "p", to: "c" }],
    ]);
    expect(phasesAt(found, 1)).toEqual({ bc: "stays", ap: "stays", cp: "placed" });
  });

  it("give the goal back where a goal link is away for a while", () => {
    const found = timelineOf(tree("ab bc"), [[shift("a", "b", "c")], [shift("a", "c", "b")]]);
    expect(phasesAt(found, 1)).toEqual({ bc: "stays", ac: "moving", ab: "goal" });
    expect(phasesAt(found, 2)).toEqual({ bc: "stays", ab: "stays" });
  });

  it("lead back from the tree of now to the one before the first step", () => {
    const steps = [[shift("p", "a", "b")], [shift("p", "b", "c")]];
    const keys = (edges: readonly Edge[]) => edges.map(({ a, b }) => [a, b].sort().join("")).sort();
    expect(keys(startOf(tree("ab bc bp"), steps, 1))).toEqual(keys(start));
    expect(keys(startOf(tree("ab bc cp"), steps, 2))).toEqual(keys(start));
  });
});

describe("convoys", () => {
  // x hitches onto the mover m, m slides along the corridor a-b-c, x gets off at c.
  const start = tree("ab bc ma xa");
  const steps = [
    [shift("x", "a", "m")],
    [shift("m", "a", "b")],
    [shift("m", "b", "c")],
    [shift("x", "m", "c")],
  ];
  const timeline = timelineOf(start, steps);

  it("are links hitched to a broker that slides before they get off", () => {
    expect(timeline.convoys).toEqual([{ mover: "m", keys: ["m\nx"], from: 1, until: 3 }]);
    expect(convoysAt(timeline, 0)).toEqual([]);
    expect(convoysAt(timeline, 2)).toEqual([{ mover: "m", keys: ["m\nx"] }]);
    expect(convoysAt(timeline, 4)).toEqual([]);
    expect(wordsAt(timeline, 2)).toContain("m carries 1");
    expect(pictureAt(timeline, 2).convoys).toEqual([{ mover: "m", others: ["x"] }]);
  });

  it("are not links that only pass over a broker which stands still", () => {
    expect(
      timelineOf(tree("ab bc xa"), [[shift("x", "a", "b")], [shift("x", "b", "c")]]).convoys,
    ).toEqual([]);
  });

  it("gather every link that rides at the same time", () => {
    const more = timelineOf(tree("ab bc ma xa ya"), [
      [shift("x", "a", "m")],
      [shift("y", "a", "m")],
      [shift("m", "a", "b")],
      [shift("x", "m", "b")],
      [shift("y", "m", "b")],
    ]);
    expect(more.convoys).toHaveLength(1);
    expect(convoysAt(more, 3)[0]?.keys).toEqual(["m\nx", "m\ny"]);
    expect(convoysAt(more, 4)[0]?.keys).toEqual(["m\ny"]);
  });
});

it("draws the moves of the next step, each with the end that it keeps", () => {
  const timeline = timelineOf(tree("ab bc ap"), [[shift("p", "a", "b")], [shift("p", "b", "c")]]);
  expect(pictureAt(timeline, 0).moves).toEqual([{ id: "b\np", keeper: "p", from: "a", to: "b" }]);
  expect(pictureAt(timeline, 2).moves).toEqual([]);
  const busy = new Map([
    ["a\nb", 400],
    ["a\np", 100],
  ]);
  const widths = Object.fromEntries(
    pictureAt(timeline, 0, busy).edges.map(({ id, width }) => [id, width]),
  );
  expect(widths["a\nb"]).toBe(7);
  expect(widths["a\np"]).toBe(1.75 + 5.25 / 2);
});

describe("a step that runs", () => {
  const start = tree("ab bc ap aq");
  const timeline = timelineOf(start, [
    [shift("p", "a", "b"), shift("q", "a", "b")],
    [shift("p", "b", "c")],
  ]);
  const action = (broker: string, share: number) => ({
    ...{ move: shift(broker, "a", "b"), share },
    ...{ words: share === 1 ? "" : "waits for a", waits: share === 1 ? [] : ["a"] },
  });
  const running = { toward: 1, actions: [action("p", 1), action("q", 0.6)] };

  it("shows what is in place already, and what travels apart from both of its ends", () => {
    const { edges, live, moves } = pictureAt(timeline, 0, undefined, running);
    const looks = Object.fromEntries(
      edges.map(({ source, target, colour, line }) => [
        [source, target].sort().join(""),
        `${colour} ${line}`,
      ]),
    );
    // p has arrived on its way to c; q has left a and is drawn by its slide, its goal stays in sight.
    expect(looks).toEqual({
      ...{ ab: "line-2 solid", bc: "line-2 solid", bp: "moving dashdot" },
      ...{ cp: "after dotted", bq: "after dotted" },
    });
    expect(
      live?.map(({ keeper, from, to, share, waits }) => [keeper, from, to, share, waits]),
    ).toEqual([
      ["p", "a", "b", 1, []],
      ["q", "a", "b", 0.6, ["a"]],
    ]);
    expect(moves).toEqual([]);
  });
});
