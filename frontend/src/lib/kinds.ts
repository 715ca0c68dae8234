/** The kinds of object of a system: their words, their section of the navigation, their address. */
import { tabsOf } from "./manifest";

import type { CatalogKind } from "@/api/catalog";

export type Section = "topology" | "topics" | "utilities" | "streams";

type Words = { one: string; many: string; section: Section; about: string };

export const KINDS: Record<CatalogKind, Words> = {
  brokers: {
    one: "broker",
    many: "Brokers",
    section: "topology",
    about: "Brokers carry the traffic; each has a capacity per resource.",
  },
  links: {
    one: "link",
    many: "Links",
    section: "topology",
    about: "Links join two brokers and have a capacity.",
  },
  overlays: {
    one: "overlay",
    many: "Overlays",
    section: "topology",
    about: "Overlays are trees of brokers: one is in force, others are drafts or goals.",
  },
  topics: {
    one: "topic",
    many: "Topics",
    section: "topics",
    about: "Topics are what users name; the optimizer sets the rate of each.",
  },
  "consumer-classes": {
    one: "consumer class",
    many: "Consumer classes",
    section: "topics",
    about: "Consumers of one topic at one broker that share a utility function and a cost.",
  },
  publishers: {
    one: "publisher",
    many: "Publishers",
    section: "topics",
    about: "Publishers send on one topic.",
  },
  "correlation-keys": {
    one: "correlation key",
    many: "Correlation keys",
    section: "topics",
    about: "Marks on publishers that tend to send at the same moment.",
  },
  "utility-functions": {
    one: "utility function",
    many: "Utility functions",
    section: "utilities",
    about: "What one admitted consumer is worth at a rate.",
  },
  slos: {
    one: "SLO",
    many: "SLOs",
    section: "utilities",
    about: "Targets on measured quantities of a topic.",
  },
  streams: {
    one: "stream",
    many: "Streams",
    section: "streams",
    about: "Transport sessions that carry several topics.",
  },
  groups: {
    one: "group",
    many: "Groups",
    section: "streams",
    about: "Channels that carry several streams.",
  },
  subscribers: {
    one: "subscriber",
    many: "Subscribers",
    section: "streams",
    about: "Users of the messaging system with the topics they want.",
  },
};

export const KIND_NAMES = Object.keys(KINDS) as CatalogKind[];

export const isKind = (name: string | undefined): name is CatalogKind =>
  name !== undefined && name in KINDS;

/** "consumer_class" as the audit trail writes it. */
export function kindOfAudit(objectKind: string): CatalogKind | null {
  const plain = objectKind.toLowerCase().replaceAll(/[_\s-]/g, "");
  return (
    KIND_NAMES.find((kind) => KINDS[kind].one.toLowerCase().replaceAll(" ", "") === plain) ?? null
  );
}

/** Addresses of a section, as the router writes them. */
export const addressesOf = (section: Section): string[] =>
  kindsOf(section).map((kind) => to.kind(":systemId", kind).slice(1));

export const kindsOf = (section: Section): CatalogKind[] =>
  KIND_NAMES.filter((kind) => KINDS[kind].section === section);

/** Addresses that every part links to. Of what is computed `lib/computations.ts` knows them by kind;
 * a feature keeps its other addresses to itself. */
export const to = {
  home: "/",
  runs: "/runs",
  run: (id: string) => `/runs/${id}`,
  systems: "/systems",
  newSystem: "/systems/new",
  system: (id: string) => `/systems/${id}`,
  topology: (system: string) => `/systems/${system}/topology`,
  kind: (system: string, kind: CatalogKind) => `/systems/${system}/${kind}`,
  newOf: (system: string, kind: CatalogKind) => `/systems/${system}/${kind}/new`,
  object: (system: string, kind: CatalogKind, id: string) => `/systems/${system}/${kind}/${id}`,
  overTime: (system: string, kind: CatalogKind, id: string) =>
    `/systems/${system}/${kind}/${id}/over-time`,
  importInterests: (system: string) => `/systems/${system}/subscribers?import=interests`,
  interestImports: (system: string) => `/systems/${system}/subscribers/imports`,
  interestImport: (system: string, id: string) => `/systems/${system}/subscribers/imports/${id}`,
  utilityEditor: (system: string, id: string) => `/systems/${system}/utility-functions/${id}/edit`,
  telemetry: (system: string) => `/systems/${system}/telemetry`,
  plans: "/plans",
  plan: (id: string) => `/plans/${id}`,
  promises: "/promises",
  inbox: "/inbox",
  audit: "/audit",
  connections: "/connections",
  connection: (id: string) => `/connections/${id}`,
  webhooks: "/webhooks",
  webhook: (id: string) => `/webhooks/${id}`,
  settings: "/settings",
  notifications: "/settings/notifications",
};

/** Where a row of the catalog opens: a utility function in its editor, all else in its form. */
export const opened = (system: string, kind: CatalogKind, id: string): string =>
  kind === "utility-functions" ? to.utilityEditor(system, id) : to.object(system, kind, id);

/** The pages of a section: those that features bring, then the lists of its kinds. */
export const sectionTabs = (system: string, section: Section) => [
  ...tabsOf(section).map(({ address, label }) => ({ to: address(system), label })),
  ...kindsOf(section).map((kind) => ({ to: to.kind(system, kind), label: KINDS[kind].many })),
];
