/** Allocation: rates, admitted consumers and prices that runs find. */
import { lazy } from "react";

import { allocationsAt } from "./addresses";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    {
      path: "systems/:systemId/allocations",
      Component: lazy(() => import("./allocations-page")),
    },
    { path: "allocations/:id", Component: lazy(() => import("./allocation-page")) },
  ],
  places: [
    {
      group: "system",
      order: 50,
      label: "Allocation",
      icon: "adjustments",
      address: allocationsAt.list,
      owns: ["systems/:systemId/allocations", "allocations"],
      key: "a",
    },
  ],
  actions: [
    {
      group: "system",
      order: 0,
      label: "Optimize",
      icon: "play",
      address: allocationsAt.ask,
      may: "start_run",
    },
  ],
  news: {
    allocation: () => ({ atOnce: [keys.allocations.all] }),
  },
  computations: [
    {
      kind: "allocation",
      order: 10,
      title: "Allocation",
      noun: "allocation",
      icon: "adjustments",
      answer: (_system, id) => allocationsAt.one(id),
      list: allocationsAt.list,
      ask: allocationsAt.ask,
      converges: true,
      onCancel: "No allocation is stored; the model and earlier allocations stay as they are.",
      recomputed: {
        label: "The allocation",
        word: "Allocation",
        about: "Rates and admitted consumers are computed again.",
        methods: async (queries) => {
          const { optimizersQuery } = await import("@/api/allocations");
          return (await queries.query(optimizersQuery)).results;
        },
        anyMethod: "Left open: the installation's own.",
      },
    },
  ],
  planKinds: [{ kind: "allocation", word: "Allocation", many: "Allocations", icon: "adjustments" }],
};
