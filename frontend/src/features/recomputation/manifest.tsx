/** Computing again by itself: schedules, triggers, and what fired. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    {
      path: "systems/:systemId/recomputation",
      Component: lazy(() => import("./recomputation-page")),
    },
  ],
  places: [
    {
      group: "system",
      order: 70,
      label: "Recomputation",
      icon: "clock",
      address: (system) => `/systems/${system}/recomputation`,
      owns: ["systems/:systemId/recomputation"],
    },
  ],
  news: {
    recomputation: () => ({ paced: [keys.recomputation.all] }),
    automatic_stop: () => ({ atOnce: [keys.automaticStop, keys.recomputation.all] }),
  },
};
