/** Demand: what publishers and consumers want, and what of it goes into the optimizer. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

const page = (system: string) => `/systems/${system}/demand`;

export const manifest: Manifest = {
  routes: [{ path: "systems/:systemId/demand", Component: lazy(() => import("./demand-page")) }],
  places: [
    {
      group: "system",
      order: 85,
      label: "Demand",
      icon: "users",
      address: page,
      owns: ["systems/:systemId/demand"],
    },
  ],
  news: {
    demand: ({ system }: { system: string }) => ({ paced: [keys.demand.system(system)] }),
    demand_forecast: ({ system }: { system: string }) => ({
      paced: [keys.demand.system(system)],
    }),
  },
  computations: [
    {
      kind: "demand_forecast",
      order: 45,
      title: "Forecast of demand",
      noun: "forecast",
      icon: "chart",
      answer: (system, id) => `${page(system)}?forecast=${id}`,
      list: page,
      ask: page,
      onCancel: "No forecast is stored; the one before stays in use.",
      recomputed: {
        label: "The forecast of demand",
        word: "Forecast",
        about: "What publishers and consumers will want in the next two days, hour by hour.",
        methods: () => Promise.resolve([]),
        anyMethod: "Holt and Winters' smoothing",
      },
    },
  ],
};
