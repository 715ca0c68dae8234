/** Publishers that burst together: looked for in what was sent, accepted as correlation keys. */
import { lazy } from "react";

import { correlationAt } from "./addresses";
import "./correlation.css";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/correlation", Component: lazy(() => import("./analyses-page")) },
    { path: "systems/:systemId/correlation/:id", Component: lazy(() => import("./analysis-page")) },
  ],
  places: [
    {
      group: "system",
      order: 57,
      label: "Correlation",
      icon: "burst",
      address: correlationAt.list,
      owns: ["systems/:systemId/correlation"],
    },
  ],
  actions: [
    {
      group: "system",
      order: 6,
      label: "Look for publishers that burst together",
      icon: "burst",
      address: (system) => correlationAt.ask(system),
      may: "start_run",
    },
  ],
  news: {
    correlation: () => ({ atOnce: [keys.correlation.all] }),
    // One is accepted, rejected or open again.
    suggestion: () => ({ atOnce: [keys.correlation.all] }),
    // Somebody edited the model: publishers may carry other keys.
    system: () => ({ paced: [keys.correlation.all] }),
  },
  computations: [
    {
      kind: "correlation",
      order: 17,
      title: "Publishers that burst together",
      noun: "correlation analysis",
      icon: "burst",
      answer: correlationAt.one,
      list: correlationAt.list,
      ask: correlationAt.ask,
      Ask: lazy(() => import("./look-dialog").then(({ LookDialog }) => ({ default: LookDialog }))),
      fresh: [keys.correlation.all],
      counted: { label: "Searched", note: "in the phase at work" },
      onCancel: "No analysis is stored; no publisher has another key.",
      snapshot: { label: "Moments as JSON", extension: "json" },
    },
  ],
};
