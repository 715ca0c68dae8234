/** Who did what, when and why. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [{ path: "audit", Component: lazy(() => import("./audit-page")) }],
  places: [
    {
      group: "installation",
      order: 20,
      label: "Audit",
      icon: "history",
      address: () => to.audit,
      owns: ["audit"],
    },
  ],
  news: {
    system: () => ({ paced: [keys.audit.all] }),
  },
};
