/** Mapping: which stream carries which flow, in which group, and what users filter then. */
import { lazy } from "react";

import { mappingsAt } from "./addresses";
import "./mappings.css";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/mappings", Component: lazy(() => import("./mappings-page")) },
    { path: "systems/:systemId/mappings/:id", Component: lazy(() => import("./mapping-page")) },
  ],
  places: [
    {
      group: "system",
      order: 56,
      label: "Mapping",
      icon: "grid",
      address: mappingsAt.list,
      owns: ["systems/:systemId/mappings"],
      key: "m",
    },
  ],
  actions: [
    {
      group: "system",
      order: 7,
      label: "Map flows",
      icon: "grid",
      address: mappingsAt.ask,
      may: "start_run",
    },
  ],
  news: {
    mapping: ({ id, system }: { id?: string; system: string }) => ({
      atOnce:
        // Without an id the weights have changed.
        id === undefined
          ? [keys.mappings.settings(system), keys.mappings.inForce(system)]
          : [keys.mappings.lists, keys.mappings.mappable(system)],
    }),
    // Who wants what, streams, groups, pins; every step of an execution that moves flows.
    system: () => ({ paced: [keys.mappings.allMappable, keys.mappings.allInForce] }),
  },
  planKinds: [{ kind: "mapping", word: "Mapping", many: "Mappings", icon: "grid" }],
  computations: [
    {
      kind: "mapping",
      order: 16,
      title: "Mapping",
      noun: "mapping",
      icon: "grid",
      answer: mappingsAt.one,
      list: mappingsAt.list,
      ask: mappingsAt.ask,
      Ask: lazy(() => import("./map-dialog").then(({ MapDialog }) => ({ default: MapDialog }))),
      fresh: [keys.mappings.lists],
      onCancel: "No map is stored; flows stay in their streams.",
      recomputed: {
        label: "The map of flows",
        word: "Mapping",
        about:
          "Flows are mapped again by today's interests and rates; a plan moves them to where the proposed map has them.",
        methods: async (queries) => {
          const { mappingMethodsQuery } = await import("@/api/mappings");
          return (await queries.query(mappingMethodsQuery)).results;
        },
        anyMethod: "Left open: the usual one.",
      },
    },
  ],
};
