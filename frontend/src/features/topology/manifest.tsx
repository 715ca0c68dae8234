/** The overlay on a map. */
import { lazy } from "react";

import "./topology.css";

import { addressesOf, to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/topology", Component: lazy(() => import("./topology-page")) },
  ],
  places: [
    {
      group: "system",
      order: 10,
      label: "Topology",
      icon: "affiliate",
      address: to.topology,
      owns: ["systems/:systemId/topology", ...addressesOf("topology")],
      key: "t",
    },
  ],
  tabs: [{ section: "topology", order: 10, label: "Map", address: to.topology }],
};
