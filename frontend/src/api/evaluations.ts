/** Evaluations of better overlays, their candidates, and plans made of them. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { client, idempotencyKey, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Evaluation = Schemas["Evaluation"];
export type EvaluationRequest = Schemas["EvaluationRequestRequest"];
export type Candidate = Schemas["Candidate"];
export type CandidateDetail = Schemas["CandidateDetail"];
export type TopologyTool = Schemas["TopologyTool"];

/** `source.kind` of the plans that are made of candidates. */
export const CANDIDATE = "overlay_candidate";

/** Candidates of one evaluation: methods times seeds, never more than a page. */
const MOST = 500;
export const evaluationsQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.evaluations.list(query),
    queryFn: async ({ signal }): Promise<Page<Evaluation>> =>
      await take(client.GET("/api/v1/overlay-evaluations", { params: { query }, signal })),
  });

export const evaluationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.evaluations.one(id),
    queryFn: ({ signal }): Promise<Evaluation> =>
      take(client.GET("/api/v1/overlay-evaluations/{id}", { params: { path: { id } }, signal })),
  });

export const candidatesQuery = (evaluation: string) =>
  queryOptions({
    queryKey: keys.evaluations.candidates(evaluation),
    queryFn: async ({ signal }): Promise<Page<Candidate>> =>
      await take(
        client.GET("/api/v1/overlay-candidates", {
          params: { query: { evaluation, page_size: MOST, ordering: "rank" } },
          signal,
        }),
      ),
  });

export const candidateQuery = (id: string) =>
  queryOptions({
    queryKey: keys.evaluations.candidate(id),
    queryFn: ({ signal }): Promise<CandidateDetail> =>
      take(client.GET("/api/v1/overlay-candidates/{id}", { params: { path: { id } }, signal })),
  });

export const methodsQuery = queryOptions({
  queryKey: keys.topologyTools("methods"),
  queryFn: ({ signal }) => take(client.GET("/api/v1/topology-methods", { signal })),
  staleTime: Infinity,
});

export const plannersQuery = queryOptions({
  queryKey: keys.topologyTools("planners"),
  queryFn: ({ signal }) => take(client.GET("/api/v1/topology-planners", { signal })),
  staleTime: Infinity,
});

export const evaluate = (body: EvaluationRequest, key: string): Promise<Evaluation> =>
  take(
    client.POST("/api/v1/overlay-evaluations", {
      params: { header: { "Idempotency-Key": key } },
      body,
    }),
  );

const at = (id: string) => ({ params: { path: { id } } });

function useEvaluationCommand(run: (id: string) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: keys.evaluations.all }),
        queries.invalidateQueries({ queryKey: keys.runs.all }),
      ]),
  });
}

export const useCancelEvaluation = () =>
  useEvaluationCommand((id) =>
    take(client.POST("/api/v1/overlay-evaluations/{id}/cancel", at(id))),
  );

export const useRerunEvaluation = () =>
  useEvaluationCommand((id) => take(client.POST("/api/v1/overlay-evaluations/{id}/rerun", at(id))));

/** A draft of the way from the overlay in force to the candidate. */
export const planFromCandidate = (id: string, body: Schemas["CandidatePlanRequestRequest"]) =>
  take(
    client.POST("/api/v1/overlay-candidates/{id}/plan", {
      params: { path: { id }, header: idempotencyKey() },
      body,
    }),
  );

/** A draft of the way on, from where a broken-off execution left the overlay. */
export function usePlanAgain(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      take(
        client.POST("/api/v1/overlay-candidates/{id}/plan-again", {
          params: { path: { id }, header: idempotencyKey() },
          body: {} as Schemas["CandidatePlanRequestRequest"],
        }),
      ),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: keys.evaluations.all }),
        queries.invalidateQueries({ queryKey: keys.plans.all }),
      ]),
  });
}
