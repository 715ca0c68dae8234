/** Runs: whatever is computed, how far it is, and how to compute it again. */
import { lazy } from "react";

import { ACTIVE, useLive } from "@/api/live";
import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";
import { countText } from "@/lib/numbers";

const useActive = () =>
  useLive(({ runs }) => Object.values(runs).filter(({ state }) => ACTIVE.includes(state)).length);

function useCount() {
  const count = useActive();
  return { count, counts: `${countText(count, "run")} active` };
}

function ActiveLine() {
  const active = useActive();
  return (
    <div>
      <span>Runs active</span>
      <span>{active === 0 ? "none" : active}</span>
    </div>
  );
}

export const manifest: Manifest = {
  routes: [
    { path: "runs", Component: lazy(() => import("./runs-page")) },
    { path: "runs/:id", Component: lazy(() => import("./run-page")) },
  ],
  places: [
    {
      group: "everything",
      order: 30,
      label: "Runs",
      icon: "play",
      address: () => to.runs,
      owns: ["runs"],
      key: "r",
      useCount,
    },
  ],
  foot: { order: 20, Line: ActiveLine },
  news: {
    run: () => ({ atOnce: [keys.runs.all] }),
    allocation: () => ({ atOnce: [keys.runs.all] }),
  },
};
