/** Plans: what shall change, the decision about it, and being carried out. */
import { useQuery } from "@tanstack/react-query";
import { lazy } from "react";

import "./plans.css";

import { plansAsked, waitingPlansQuery } from "@/api/plans";
import { keys } from "@/api/query-keys";
import { to } from "@/lib/kinds";
import type { Manifest } from "@/lib/manifest";
import { countText } from "@/lib/numbers";

function useCount() {
  const count = useQuery(waitingPlansQuery).data?.count ?? 0;
  return { count, counts: `${countText(count, "plan waits", "plans wait")} for you` };
}

export const manifest: Manifest = {
  routes: [
    { path: "plans", Component: lazy(() => import("./plans-page")) },
    { path: "plans/:id", Component: lazy(() => import("./plan-page")) },
    { path: "promises", Component: lazy(() => import("./promises-page")) },
  ],
  places: [
    {
      group: "everything",
      order: 20,
      label: "Plans",
      icon: "plan",
      address: () => to.plans,
      owns: ["plans"],
      key: "p",
      useCount,
    },
    {
      group: "everything",
      order: 25,
      label: "Promises",
      icon: "scale",
      address: () => to.promises,
      owns: ["promises"],
    },
  ],
  finders: [
    {
      group: "Plans",
      order: 20,
      branch: keys.plans.lists,
      find: async (text, _system, signal) => {
        const { results } = await plansAsked({ search: text, page_size: 5 }, signal);
        return results.map((plan) => ({
          id: plan.id,
          label: `${plan.name} ${plan.title}`,
          icon: "plan",
          address: to.plan(plan.id),
          description: `${plan.system_name}, ${plan.state.replaceAll("_", " ")}`,
        }));
      },
    },
  ],
  news: {
    plan: () => ({ paced: [keys.plans.all] }),
    // A stricter policy may take an approval back.
    policy: () => ({ paced: [keys.plans.all] }),
    // Progress shows in the execution and in lists; a plan itself changes only with the state. Then
    // it is the branch that news of the plan freshen, so that both are one request.
    execution: (news: { id: string; state: string }, before?: { state: string }) => ({
      paced: [
        keys.executions.one(news.id),
        before?.state === news.state ? keys.plans.lists : keys.plans.all,
      ],
    }),
  },
  // What brings the model into force as it is.
  planKinds: [{ kind: "model", word: "Model", many: "Plans of the model", icon: "plan" }],
};
