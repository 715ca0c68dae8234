/** Home: every system at a glance, and what it needs. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [{ index: true, Component: lazy(() => import("./home-page")) }],
  places: [
    {
      group: "everything",
      order: 10,
      label: "Home",
      icon: "home",
      address: () => to.home,
      owns: [""],
      key: "h",
    },
  ],
  news: {
    run: () => ({ atOnce: [keys.overview] }),
    allocation: () => ({ atOnce: [keys.overview] }),
    system: () => ({ paced: [keys.overview] }),
    plan: () => ({ paced: [keys.overview] }),
  },
};
