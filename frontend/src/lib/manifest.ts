/** What a feature says of itself: its pages, its places in the navigation, the news it listens to.
 * The app gathers the manifest of every feature when it starts; no file lists features. Manifests are
 * part of the first chunk: pages, and whatever else is large, are loaded when somebody needs them. */
import type { ComponentType } from "react";
import type { RouteObject } from "react-router";

import type { Computation, PlanKind } from "./computations";
import type { Section } from "./kinds";

import type { Schemas } from "@/api/client";
import type { Branch, Listener } from "@/api/live";
import type { IconName } from "@/components/ui/icons";

type Group = "everything" | "system" | "installation";

/** Where one can go. Outside of the group "system" no address depends on the system. */
type Way = {
  group: Group;
  /** Among all of its group. */
  order: number;
  label: string;
  icon: IconName;
  address: (system: string) => string;
};

/** An entry of the navigation; the palette has it, too. */
export type Place = Way & {
  /** Addresses that belong to it with all below them, as the router writes them. */
  owns: readonly string[];
  /** Pressed after G. */
  key?: string;
  /** A number beside it, and what it counts. */
  useCount?: () => { count: number; counts: string };
};

/** An entry of the palette alone. */
export type Action = Way & {
  /** What the session must allow. */
  may?: Schemas["SessionCommandEnum"];
};

export type Found = {
  id: string;
  label: string;
  icon: IconName;
  address: string;
  description: string;
};

/** Objects that the palette finds by a part of their name. */
export type Finder = {
  group: string;
  order: number;
  /** The branch of queries that its answers belong to. */
  branch: Branch;
  find: (text: string, system: string | null, signal: AbortSignal) => Promise<Found[]>;
};

/** A tab beside the lists of a section of the catalog. */
export type SectionTab = {
  section: Section;
  order: number;
  label: string;
  address: (system: string) => string;
};

export type Manifest = {
  /** Pages in the frame, by addresses without the first slash. */
  routes?: readonly RouteObject[];
  /** Pages that need nobody signed in. */
  routesOutside?: readonly RouteObject[];
  places?: readonly Place[];
  actions?: readonly Action[];
  finders?: readonly Finder[];
  tabs?: readonly SectionTab[];
  /** Lines at the foot of the navigation. */
  foot?: { order: number; Line: ComponentType };
  /** By kind of message. */
  news?: Readonly<Record<string, Listener>>;
  computations?: readonly Computation[];
  planKinds?: readonly PlanKind[];
};

let registered: readonly Manifest[] = [];

/** Called once, before anything is drawn. */
export function register(manifests: readonly Manifest[]) {
  registered = manifests;
}

export const manifests = (): readonly Manifest[] => registered;

const byOrder = (a: { order: number }, b: { order: number }) => a.order - b.order;

export const placesOf = (group: Group): Place[] =>
  registered
    .flatMap((manifest) => manifest.places ?? [])
    .filter((place) => place.group === group)
    .sort(byOrder);

/** All of them, as the navigation has them from top to bottom. */
export const places = (): Place[] => [
  ...placesOf("everything"),
  ...placesOf("system"),
  ...placesOf("installation"),
];

/** What the palette offers of a group: places, and what is found there alone. */
export const waysOf = (group: Group): (Place | Action)[] =>
  [...placesOf(group), ...registered.flatMap((manifest) => manifest.actions ?? [])]
    .filter((way) => way.group === group)
    .sort(byOrder);

export const finders = (): Finder[] =>
  registered.flatMap((manifest) => manifest.finders ?? []).sort(byOrder);

export const tabsOf = (section: Section): SectionTab[] =>
  registered
    .flatMap((manifest) => manifest.tabs ?? [])
    .filter((tab) => tab.section === section)
    .sort(byOrder);

export const footLines = (): ComponentType[] =>
  registered
    .flatMap((manifest) => manifest.foot ?? [])
    .sort(byOrder)
    .map(({ Line }) => Line);

/** Who listens to messages of this kind; of runs also every kind of computation, to its own. */
export function listenersOf(kind: string): Listener[] {
  const listeners = registered.flatMap((manifest) => manifest.news?.[kind] ?? []);
  if (kind !== "run") return listeners;
  return [
    ...listeners,
    ...registered
      .flatMap((manifest) => manifest.computations ?? [])
      .map((one) => (run: { kind: string }) => ({
        // Of whom nothing is said it may be anybody's.
        atOnce: run.kind === one.kind || run.kind === "" ? (one.fresh ?? []) : [],
      })),
  ];
}
