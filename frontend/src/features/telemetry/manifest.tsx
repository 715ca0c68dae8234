/** What agents measure, the agents themselves, and who of them holds a lease. */
import { useQuery } from "@tanstack/react-query";
import { lazy } from "react";

import { keys } from "@/api/query-keys";
import { allAgentsQuery } from "@/api/telemetry";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";

function LeasesLine() {
  const agents = useQuery(allAgentsQuery).data?.results ?? [];
  const leases = agents.filter((agent) => agent.state === "live").length;
  return agents.length > 0 ? (
    <div>
      <span>Agents</span>
      <span>
        {leases} of {agents.length} hold a lease
      </span>
    </div>
  ) : null;
}

export const manifest: Manifest = {
  routes: [
    { path: "systems/:systemId/telemetry", Component: lazy(() => import("./telemetry-page")) },
  ],
  places: [
    {
      group: "system",
      order: 80,
      label: "Telemetry",
      icon: "broadcast",
      address: to.telemetry,
      owns: ["systems/:systemId/telemetry"],
    },
  ],
  foot: { order: 10, Line: LeasesLine },
  news: {
    agent: () => ({ paced: [keys.agents.all] }),
    telemetry: ({ system }: { system: string }) => ({ paced: [keys.telemetry.system(system)] }),
  },
  // What takes a broker that is gone for good out of the overlay.
  planKinds: [{ kind: "repair", word: "Repair", many: "Repairs", icon: "plan" }],
};
