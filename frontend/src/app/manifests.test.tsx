/** What holds of the manifest of every feature, also of one that nobody has written yet. */
import { matchPath, matchRoutes } from "react-router";

import { gathered } from "./manifests";
import { placeOf } from "./nav";
import { makeRoutes } from "./router";

import { computations, planKinds } from "@/lib/computations";
import { sectionTabs } from "@/lib/kinds";
import { listenersOf, manifests, places, waysOf } from "@/lib/manifest";

/** Every kind of message that the server sends about objects. */
const NEWS = [
  ...["run", "allocation", "placement", "study", "overlay", "system", "plan", "execution", "agent"],
  ...["policy", "telemetry", "recomputation", "calibration", "demand", "correlation"],
  ...["suggestion", "demand_forecast"],
  ...["mapping", "interest_import", "inbox", "record_batch", "record_settings"],
  ...["slo_compliance", "automatic_stop"],
];

const SYSTEM = "22222222-2222-4222-8222-222222222222";

const featureOf = (path: string) => path.split("/features/")[1]?.split("/")[0] ?? "";
const pages = Object.keys(import.meta.glob("@/features/**/*-page.tsx"));
const withManifest = Object.keys(import.meta.glob("@/features/*/manifest.tsx")).map(featureOf);

const routes = () =>
  manifests().flatMap((manifest) => [
    ...(manifest.routes ?? []),
    ...(manifest.routesOutside ?? []),
  ]);
const addressOf = (route: { path?: string }) => `/${route.path ?? ""}`.replace("//", "/");
const doubles = (all: readonly (string | number)[]) =>
  all.filter((one, index) => all.indexOf(one) !== index);

it("is there for every feature with a page, and leads to each of its pages", () => {
  expect(gathered).toHaveLength(withManifest.length);
  expect(pages.map(featureOf).filter((feature) => !withManifest.includes(feature))).toEqual([]);
  const shown = routes().filter((route) => route.Component).length;
  expect(shown).toBe(pages.length);
});

it("claims no address of another, and each address reaches its own page", () => {
  // Names of parts do not tell addresses apart.
  expect(doubles(routes().map((route) => addressOf(route).replaceAll(/:\w+/g, ":")))).toEqual([]);
  for (const route of routes()) {
    const address = addressOf(route).replaceAll(/:\w+/g, SYSTEM);
    expect(matchRoutes(makeRoutes(), address)?.at(-1)?.route, address).toBe(route);
  }
});

it("has places in an order, under names and keys that nobody else has", () => {
  expect(doubles(places().map(({ group, order }) => `${group} ${order}`))).toEqual([]);
  expect(doubles(places().map(({ label }) => label))).toEqual([]);
  expect(doubles(places().flatMap(({ key }) => key ?? []))).toEqual([]);
});

it("leads from every place and action to a page, and back to the place", () => {
  for (const group of ["everything", "system", "installation"] as const) {
    for (const way of waysOf(group)) {
      const [path = ""] = way.address(SYSTEM).split("?");
      const found = matchRoutes(makeRoutes(), path)?.at(-1)?.route;
      expect(found?.path, way.label).not.toBe("*");
      if ("owns" in way) expect(placeOf(path)?.label).toBe(way.label);
    }
  }
});

it("gives every page of the frame to a place", () => {
  for (const manifest of manifests()) {
    for (const route of manifest.routes ?? []) {
      expect(placeOf(addressOf(route)), addressOf(route)).toBeDefined();
    }
  }
});

it("puts every place into the palette, where no name is there twice", () => {
  const ways = (["everything", "system", "installation"] as const).flatMap(waysOf);
  expect(places().filter((place) => !ways.includes(place))).toEqual([]);
  expect(doubles(ways.map(({ label }) => label))).toEqual([]);
});

it("leads from every tab of a section to a page", () => {
  for (const { to, label } of sectionTabs(SYSTEM, "topology")) {
    expect(matchPath("/systems/:systemId/*", to), label).not.toBeNull();
    expect(matchRoutes(makeRoutes(), to)?.at(-1)?.route.path, label).not.toBe("*");
  }
});

it("hears all that the server tells", () => {
  expect(NEWS.filter((kind) => listenersOf(kind).length === 0)).toEqual([]);
});

it("names each kind of computation and of plan once, with pages for its answers", () => {
  expect(doubles(computations().flatMap(({ kind, title }) => [kind, title]))).toEqual([]);
  expect(doubles(computations().map(({ order }) => order))).toEqual([]);
  expect(doubles(planKinds().map(({ kind }) => kind))).toEqual([]);
  for (const { kind, answer, list, ask } of computations()) {
    for (const address of [answer(SYSTEM, SYSTEM), list(SYSTEM), ask(SYSTEM)]) {
      const [path = ""] = address.split("?");
      expect(matchRoutes(makeRoutes(), path)?.at(-1)?.route.path, kind).not.toBe("*");
    }
  }
});
