/** The overlay on a map, and the search for a better one. */
import { lazy } from "react";

import { evaluationsAt } from "./addresses";

import { keys } from "@/api/query-keys";
import { addressesOf, to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/topology", Component: lazy(() => import("./topology-page")) },
    {
      path: "systems/:systemId/overlays/evaluations",
      Component: lazy(() => import("./evaluations-page")),
    },
    {
      path: "systems/:systemId/overlays/evaluations/:id",
      Component: lazy(() => import("./evaluation-page")),
    },
  ],
  places: [
    {
      group: "system",
      order: 10,
      label: "Topology",
      icon: "affiliate",
      address: to.topology,
      owns: ["systems/:systemId/topology", ...addressesOf("topology")],
      key: "t",
    },
  ],
  actions: [
    {
      group: "system",
      order: 15,
      label: "Evaluations",
      icon: "affiliate",
      address: evaluationsAt.list,
    },
  ],
  tabs: [
    { section: "topology", order: 10, label: "Map", address: to.topology },
    { section: "topology", order: 20, label: "Evaluations", address: evaluationsAt.list },
  ],
  news: {
    overlay: () => ({ paced: [keys.overlays.all] }),
  },
  computations: [
    {
      kind: "overlay",
      order: 20,
      title: "Overlay evaluation",
      noun: "evaluation",
      icon: "affiliate",
      answer: evaluationsAt.one,
      list: evaluationsAt.list,
      ask: evaluationsAt.ask,
      fresh: [keys.overlays.all],
      counted: { label: "Parts computed", note: "trees first, then the ways to them" },
      onCancel: "No candidate is stored; the overlay stays as it is.",
      recomputed: {
        label: "The overlay",
        word: "Overlay",
        about: "Candidates for a better tree are compared again; doing nothing is one of them.",
        methods: async (queries) => {
          const { methodsQuery } = await import("@/api/overlays");
          return (await queries.query(methodsQuery)).results;
        },
        anyMethod: "Left open: all of them.",
        benefit: {
          unit: "link messages",
          hint: "Only a candidate worth more than this becomes a plan.",
        },
      },
    },
  ],
  planKinds: [{ kind: "overlay", word: "Overlay", many: "Overlays", icon: "affiliate" }],
};
