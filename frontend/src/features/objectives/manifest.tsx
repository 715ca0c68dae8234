/** Service levels: how objectives held, what is left of their budgets, how fast these burn. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

type OfSystem = { system: string };

export const manifest: Manifest = {
  routes: [
    {
      path: "systems/:systemId/service-levels",
      Component: lazy(() => import("./service-levels-page")),
    },
  ],
  places: [
    {
      group: "system",
      order: 83,
      label: "Service levels",
      icon: "target",
      address: (system) => `/systems/${system}/service-levels`,
      owns: ["systems/:systemId/service-levels"],
    },
  ],
  news: {
    slo_compliance: ({ system }: OfSystem) => ({ paced: [keys.objectives.system(system)] }),
  },
};
