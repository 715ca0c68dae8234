/** Measured: sums of records over time, as a chart. */
import { lazy } from "react";

import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/measured", Component: lazy(() => import("./measured-page")) },
    {
      path: "systems/:systemId/over-time",
      Component: lazy(() => import("./system-over-time-page")),
    },
    {
      path: "systems/:systemId/:kind/:id/over-time",
      Component: lazy(() => import("./over-time-page")),
    },
  ],
  places: [
    {
      group: "system",
      order: 79,
      label: "Over time",
      icon: "activity",
      address: (system) => `/systems/${system}/over-time`,
      owns: ["systems/:systemId/over-time"],
    },
    {
      group: "system",
      order: 81,
      label: "Measured",
      icon: "chart",
      address: (system) => `/systems/${system}/measured`,
      owns: ["systems/:systemId/measured"],
    },
  ],
};
