/** Connections to ticketing products, where plans open their changes. */
import { lazy } from "react";

import "./integrations.css";

import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "connections", Component: lazy(() => import("./connections-page")) },
    { path: "connections/:id", Component: lazy(() => import("./connection-page")) },
  ],
  places: [
    {
      group: "installation",
      order: 25,
      label: "Connections",
      icon: "send",
      address: () => to.connections,
      owns: ["connections"],
    },
  ],
  news: {
    connection: () => ({ paced: [keys.connections.all] }),
    change: () => ({ paced: [keys.connections.all, keys.plans.all] }),
  },
};
