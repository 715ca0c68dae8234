/** The smallest feature with a kind of computation: what a newcomer writes, and where it shows. */
import { lazy } from "react";

import type { Manifest } from "@/lib/manifest";

const list = (system: string) => `/systems/${system}/toys`;

export const TOYS = ["toys"] as const;
export const TOY_RUNS = ["toys", "of runs"] as const;

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/toys", Component: lazy(() => import("./toy-page")) },
    { path: "toys/:id", Component: lazy(() => import("./toy-page")) },
  ],
  places: [
    {
      group: "system",
      order: 95,
      label: "Toys",
      icon: "cube",
      address: list,
      owns: ["systems/:systemId/toys", "toys"],
      key: "y",
    },
  ],
  news: { toy: () => ({ atOnce: [TOYS] }) },
  computations: [
    {
      kind: "toy",
      order: 90,
      title: "Toy train",
      noun: "toy",
      icon: "cube",
      answer: (_system, id) => `/toys/${id}`,
      list,
      ask: list,
      fresh: [TOY_RUNS],
      counted: { label: "Carriages", note: "one per child" },
      onCancel: "No toy is kept.",
      recomputed: {
        label: "The toys",
        word: "Toys",
        about: "Every train is built again.",
        methods: () => Promise.resolve([{ name: "wood", title: "Of wood" }]),
        anyMethod: "Left open: whatever is there.",
      },
    },
  ],
  planKinds: [{ kind: "toy", word: "Toy", many: "Toys", icon: "cube" }],
};
