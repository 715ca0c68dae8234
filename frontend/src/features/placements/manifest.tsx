/** Placement: which brokers serve the publishers of a topic whose rate limit is split. */
import { lazy } from "react";

import { placementsAt } from "./addresses";
import "./placements.css";

import { keys } from "@/api/query-keys";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/placements", Component: lazy(() => import("./placements-page")) },
    { path: "systems/:systemId/placements/:id", Component: lazy(() => import("./placement-page")) },
  ],
  places: [
    {
      group: "system",
      order: 55,
      label: "Placement",
      icon: "split",
      address: placementsAt.list,
      owns: ["systems/:systemId/placements"],
      key: "l",
    },
  ],
  actions: [
    {
      group: "system",
      order: 5,
      label: "Place a topic",
      icon: "split",
      address: (system) => placementsAt.ask(system),
      may: "start_run",
    },
  ],
  news: {
    placement: () => ({ atOnce: [keys.placements.all, keys.placements.allRounds] }),
    telemetry: () => ({ paced: [keys.placements.allParts, keys.placements.allRounds] }),
    // An order is stopped or goes on.
    adaptation: () => ({ atOnce: [keys.adaptation.all] }),
    // Parts move by what is measured.
    decision: () => ({ paced: [keys.adaptation.all] }),
    execution: () => ({
      paced: [keys.placements.allParts, keys.placements.allRounds, keys.adaptation.all],
    }),
  },
  computations: [
    {
      kind: "placement",
      order: 15,
      title: "Placement",
      noun: "placement",
      icon: "split",
      answer: placementsAt.one,
      list: placementsAt.list,
      ask: placementsAt.ask,
      Ask: lazy(() =>
        import("./place-dialog").then(({ PlaceDialog }) => ({ default: PlaceDialog })),
      ),
      Infeasible: lazy(() =>
        import("./no-room-panel").then(({ NoRoomPanel }) => ({ default: NoRoomPanel })),
      ),
      fresh: [keys.placements.all, keys.placements.allRounds],
      counted: { label: "Numbers of brokers", note: "each with its delay" },
      onCancel: "No placement is stored; publishers stay where they are.",
    },
  ],
  planKinds: [{ kind: "placement", word: "Placement", many: "Placements", icon: "split" }],
};
