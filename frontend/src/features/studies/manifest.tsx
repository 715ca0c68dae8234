/** What-if studies: many variants of a model, computed side by side. */
import { lazy } from "react";

import { studiesAt } from "./addresses";
import "./studies.css";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/studies", Component: lazy(() => import("./studies-page")) },
    { path: "systems/:systemId/studies/new", Component: lazy(() => import("./new-study-page")) },
    { path: "studies/:id", Component: lazy(() => import("./study-page")) },
  ],
  places: [
    {
      group: "system",
      order: 60,
      label: "What-if",
      icon: "half",
      address: studiesAt.list,
      owns: ["systems/:systemId/studies", "studies"],
    },
  ],
  news: {
    // Its points come in batches, several a second.
    study: () => ({ paced: [keys.studies.all] }),
  },
  computations: [
    {
      kind: "study",
      order: 30,
      title: "What-if study",
      noun: "study",
      icon: "half",
      answer: (_system, id) => studiesAt.one(id),
      list: studiesAt.list,
      ask: studiesAt.ask,
      fresh: [keys.studies.all],
      counted: { label: "Answers", note: "one per scenario and method" },
      shownThere: ["study"],
      onCancel: "Answers that have come stay with the study; the model stays as it is.",
    },
  ],
};
