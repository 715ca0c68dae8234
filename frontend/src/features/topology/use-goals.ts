/** Trees that the one in force could become: the best candidate of the last evaluation, stored goals. */
import { useQuery } from "@tanstack/react-query";

import { catalogAll } from "@/api/catalog";
import { candidateQuery, evaluationsQuery } from "@/api/evaluations";
import { keys } from "@/api/query-keys";
import { pairOf } from "@/components/map/candidate-timeline";
import type { Edge } from "@/components/map/timeline";

export type Goal = { id: string; name: string; edges: Edge[] };

export function useGoals(system: string, wanted: string | null, enabled: boolean) {
  const scope = { system };
  const stored = useQuery({
    queryKey: keys.catalog.whole("overlays", scope),
    queryFn: ({ signal }) => catalogAll("overlays", scope, signal),
    enabled,
  });
  const latest = useQuery({
    ...evaluationsQuery({ system, state: "succeeded", page_size: 1 }),
    enabled,
  });
  const evaluation = latest.data?.results[0];
  const chosen = evaluation?.chosen ?? null;
  const candidate = useQuery({
    ...candidateQuery(chosen ?? ""),
    enabled: enabled && chosen !== null,
  });
  const goals: Goal[] = [];
  if (candidate.data && candidate.data.kind !== "today" && evaluation) {
    const { id, title, edges } = candidate.data;
    goals.push({
      id,
      name: `${evaluation.name}: ${title}`,
      edges: edges.map(pairOf),
    });
  }
  for (const overlay of stored.data ?? []) {
    if (overlay.in_force) continue;
    const edges = overlay.edges.map(({ a_name: a, b_name: b }) => ({ a, b }));
    goals.push({ id: overlay.id, name: overlay.name, edges });
  }
  return { goals, goal: goals.find(({ id }) => id === wanted) ?? goals[0] };
}
