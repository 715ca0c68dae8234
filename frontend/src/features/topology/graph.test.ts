import { makeGraph } from "./graph";

import { broker, link, load } from "@/testing/samples";

const names = ["S0", "S1", "S2"];
const brokers = names.map((name) => broker({ id: name, name }));
const links = [
  link({ id: "a", name: "a", source: "S0", target: "S1" }),
  link({ id: "b", name: "b", source: "S0", target: "S2" }),
];
const loads = [
  load({ name: "S0", load: 450_000 }),
  load({ name: "S2", load: 950_000 }),
  load({ place: "link", name: "b", resource: "", load: 900, capacity: 1000 }),
];

it("joins loads by name, highest first, and leaves unknown what no allocation says", () => {
  const graph = makeGraph(brokers, links, undefined, loads);
  expect(graph.nodes.map((node) => [node.broker.name, node.fraction])).toEqual([
    ["S2", 950_000 / 900_000],
    ["S0", 0.5],
    ["S1", null],
  ]);
  expect(graph.edges[0]?.link.name).toBe("b");
  expect(graph.nodes.find((node) => node.broker.name === "S0")?.links).toBe(2);
});

it("takes what travels before what an allocation allowed, where capacities are known", () => {
  const row = {
    published_per_s: 10,
    received_per_s: 20,
    relayed_per_s: 30,
    delivered_per_s: 20,
    links: 2,
  };
  const graph = makeGraph(brokers, links, undefined, loads, {
    brokers: [
      { ...row, broker: "S1", handled_per_s: 80, capacity_per_s: 100 },
      { ...row, broker: "S2", handled_per_s: 80, capacity_per_s: null },
    ],
    links: [],
  });
  const of = (name: string) => graph.nodes.find((node) => node.broker.name === name);
  expect([of("S1")?.fraction, of("S1")?.load, of("S1")?.resource]).toEqual([0.8, 80, "msg"]);
  expect(of("S2")?.fraction).toBe(950_000 / 900_000);
  expect(of("S0")?.traffic).toBeNull();
});

it("draws the overlay in force, and every link where none is", () => {
  const names = (tree: { a: string; b: string }[]) => tree.map(({ a, b }) => `${a}-${b}`);
  expect(names(makeGraph(brokers, links, undefined, []).tree)).toHaveLength(2);
  const overlay = {
    edges: [{ a: "S0", b: "S1", a_name: "S0", b_name: "S1" }],
  } as unknown as Parameters<typeof makeGraph>[2];
  const graph = makeGraph(brokers, links, overlay, []);
  expect(names(graph.tree)).toEqual(["S0-S1"]);
  expect(graph.nodes.find((node) => node.broker.name === "S2")?.links).toBe(0);
});
