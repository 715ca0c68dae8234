/** Records: what arrived of what was sent, received and measured, and what was set aside of it. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

type OfSystem = { system: string };

export const manifest: Manifest = {
  routes: [{ path: "systems/:systemId/records", Component: lazy(() => import("./records-page")) }],
  places: [
    {
      group: "system",
      order: 82,
      label: "Records",
      icon: "table",
      address: (system) => `/systems/${system}/records`,
      owns: ["systems/:systemId/records"],
    },
  ],
  news: {
    record_batch: ({ system }: OfSystem) => ({ paced: [keys.records.system(system)] }),
    record_settings: ({ system }: OfSystem) => ({ atOnce: [keys.records.settings(system)] }),
  },
};
