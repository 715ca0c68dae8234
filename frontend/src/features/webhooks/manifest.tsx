/** Webhooks: other systems that hear of what happens. */
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "webhooks", Component: lazy(() => import("./webhooks-page")) },
    { path: "webhooks/:id", Component: lazy(() => import("./webhook-page")) },
  ],
  places: [
    {
      group: "installation",
      order: 26,
      label: "Webhooks",
      icon: "send",
      address: () => to.webhooks,
      owns: ["webhooks"],
    },
  ],
  news: {
    webhook: () => ({ paced: [keys.webhooks.all] }),
  },
};
