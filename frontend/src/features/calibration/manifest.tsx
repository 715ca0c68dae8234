/** Resource models: what messages and consumers cost, fitted to what is measured. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

const page = (system: string) => `/systems/${system}/resource-models`;

export const manifest: Manifest = {
  routes: [
    {
      path: "systems/:systemId/resource-models",
      Component: lazy(() => import("./calibration-page")),
    },
  ],
  places: [
    {
      group: "system",
      order: 90,
      label: "Resource models",
      icon: "gauge",
      address: page,
      owns: ["systems/:systemId/resource-models"],
    },
  ],
  news: {
    calibration: ({ id, system }: { id?: string; system: string }) => ({
      paced: [
        // Without an id only the factors and bounds moved.
        id === undefined ? keys.calibration.state(system) : keys.calibration.system(system),
      ],
    }),
  },
  computations: [
    {
      kind: "calibration",
      order: 40,
      title: "Resource model fit",
      noun: "fit",
      icon: "gauge",
      answer: (system, id) => `${page(system)}?fit=${id}`,
      list: page,
      ask: page,
      onCancel: "No fit is stored; the model and earlier fits stay as they are.",
      snapshot: { label: "Samples as JSON lines", extension: "jsonl" },
    },
  ],
};
