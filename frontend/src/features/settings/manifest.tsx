/** The installation: tokens, people, policies. */
import { lazy } from "react";
import { Navigate } from "react-router";

import "./channels.css";

import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "settings", element: <Navigate to="/settings/tokens" replace /> },
    { path: "settings/:tab", Component: lazy(() => import("./settings-page")) },
  ],
  places: [
    {
      group: "installation",
      order: 30,
      label: "Settings",
      icon: "settings",
      address: () => to.settings,
      owns: ["settings"],
    },
  ],
  news: {
    policy: () => ({ paced: [keys.policies.all] }),
  },
};
