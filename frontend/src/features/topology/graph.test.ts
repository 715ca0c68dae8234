import { makeGraph, placesOf } from "./graph";

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

it("places brokers the same way every time, the hub on top", () => {
  const graph = makeGraph(brokers, links, undefined, []);
  const again = makeGraph([...brokers].reverse(), [...links].reverse(), undefined, []);
  expect(placesOf(graph)).toEqual(placesOf(again));
  expect(placesOf(graph).get("S0")).toEqual({ x: 0.5, y: 0 });
});

it("uses stored places, stretched over the map", () => {
  const placed = brokers.map((entry, i) => ({ ...entry, map_x: 0.2 + i * 0.1, map_y: 0.5 }));
  const places = placesOf(makeGraph(placed, links, undefined, []));
  expect(places.get("S0")).toEqual({ x: 0, y: 0.5 });
  expect(places.get("S2")?.x).toBeCloseTo(1);
});
