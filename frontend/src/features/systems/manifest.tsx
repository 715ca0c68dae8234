/** Managed systems: the list, one of them, a new one. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems", Component: lazy(() => import("./systems-page")) },
    { path: "systems/new", Component: lazy(() => import("./new-system-page")) },
    { path: "systems/:systemId", Component: lazy(() => import("./system-page")) },
  ],
  places: [
    {
      group: "installation",
      order: 10,
      label: "Systems",
      icon: "server",
      address: () => to.systems,
      owns: ["systems"],
    },
  ],
  news: {
    system: () => ({ paced: [keys.systems.all] }),
  },
};
