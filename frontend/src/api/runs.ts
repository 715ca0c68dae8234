/** Runs: lists, one run, and the commands that a person may give. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { client, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Run = Schemas["Run"];
export type RunDetail = Schemas["RunDetail"];

type Answer = { id: string; name: string };

/** What a run is computing or has computed, of whatever kind; null where nothing came out. Servers
 * that do not say `answer` yet say `computed`. */
export function answerOf(run: {
  kind: string;
  answer?: (Answer & { kind: string }) | null;
  computed?: Answer | null;
}): (Answer & { kind: string }) | null {
  const answer = run.answer ?? run.computed;
  return answer ? { kind: run.kind, ...answer } : null;
}

export const ENDED = ["succeeded", "infeasible", "failed", "cancelled"];

export const runsQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.runs.list(query),
    queryFn: async ({ signal }): Promise<Page<Run>> =>
      await take(client.GET("/api/v1/runs", { params: { query }, signal })),
  });

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: keys.runs.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/runs/{id}", { params: { path: { id } }, signal })),
  });

export function useCancelRun() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      take(client.POST("/api/v1/runs/{id}/cancel", { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.runs.all }),
  });
}

export function useRerun() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      take(client.POST("/api/v1/runs/{id}/rerun", { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.runs.all }),
  });
}

const LOOK_AWAY_MS = 4_000;
const LOOK_MS = 30_000;

/** Whether what computes runs answers; looked at often while something does not. */
export const processesQuery = queryOptions({
  queryKey: keys.processes,
  queryFn: async ({ signal }) => (await take(client.GET("/api/v1/processes", { signal }))).results,
  refetchInterval: (query) =>
    query.state.data?.every((process) => process.answers) ? LOOK_MS : LOOK_AWAY_MS,
});
