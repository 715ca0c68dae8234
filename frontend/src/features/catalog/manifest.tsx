/** The objects of a system's model: their lists, their forms, the editor of utility functions. */
import { lazy } from "react";

import "./interests/interests.css";

import { catalogList } from "@/api/catalog";
import { keys } from "@/api/query-keys";
import { addressesOf, KIND_NAMES, KINDS, to } from "@/lib/kinds";
import type { Manifest, Place } from "@/lib/manifest";

/** Found by their names in the palette. */
const FOUND = ["topics", "consumer-classes", "brokers", "utility-functions"] as const;

const places: Place[] = [
  {
    group: "system",
    order: 20,
    label: "Topics",
    icon: "rss",
    address: (system) => to.kind(system, "topics"),
    owns: addressesOf("topics"),
  },
  {
    group: "system",
    order: 30,
    label: "Utilities & SLOs",
    icon: "chart",
    address: (system) => to.kind(system, "utility-functions"),
    owns: addressesOf("utilities"),
    key: "u",
  },
  {
    group: "system",
    order: 40,
    label: "Streams & groups",
    icon: "grid",
    address: (system) => to.kind(system, "streams"),
    owns: addressesOf("streams"),
  },
];

export const manifest: Manifest = {
  routes: [
    {
      path: "systems/:systemId/utility-functions/:id/edit",
      Component: lazy(() => import("./editor/utility-editor-page")),
    },
    {
      path: "systems/:systemId/subscribers/imports",
      Component: lazy(() => import("./interests/interest-imports-page")),
    },
    {
      path: "systems/:systemId/subscribers/imports/:id",
      Component: lazy(() => import("./interests/interest-import-page")),
    },
    { path: "systems/:systemId/:kind", Component: lazy(() => import("./kind-page")) },
    { path: "systems/:systemId/:kind/new", Component: lazy(() => import("./new-object-page")) },
    { path: "systems/:systemId/:kind/:id", Component: lazy(() => import("./object-page")) },
  ],
  places,
  actions: [
    ...KIND_NAMES.map((kind, index) => ({
      group: "system" as const,
      order: 100 + index,
      label: KINDS[kind].many,
      icon: "rss" as const,
      address: (system: string) => to.kind(system, kind),
      // A place of that name is there already.
    })).filter(({ label }) => places.every((place) => place.label !== label)),
    {
      group: "system",
      order: 120,
      label: "Imports of interests",
      icon: "upload",
      address: to.interestImports,
    },
  ],
  finders: [
    {
      group: "Found",
      order: 10,
      branch: keys.catalog.all,
      find: async (text, system, signal) => {
        if (system === null) return [];
        const pages = await Promise.all(
          FOUND.map(async (kind) => {
            const page = await catalogList(kind, { system, search: text, page_size: 5 }, signal);
            return page.results.map(({ id, name }) => ({
              id,
              label: name,
              icon: "right" as const,
              address: to.object(system, kind, id),
              description: KINDS[kind].one,
            }));
          }),
        );
        return pages.flat();
      },
    },
  ],
  news: {
    // Up to twice a second while one goes on.
    interest_import: () => ({ paced: [keys.interestImports.all] }),
    // `only`: the one kind of object that the edit touched, where nothing else follows from it. An
    // execution that moves links rewires the overlay with every action, and nothing else.
    system: ({ only }: { only?: string }) => ({
      paced: [only === "overlay" ? keys.catalog.kind("overlays") : keys.catalog.all],
    }),
  },
};
