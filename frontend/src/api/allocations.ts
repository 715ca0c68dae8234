/** Allocations with their rows, the comparison, the methods, and the request for a new one. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { client, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Allocation = Schemas["Allocation"];
export type AllocationDetail = Schemas["AllocationDetail"];
export type FlowRate = Schemas["FlowRate"];
export type ClassPopulation = Schemas["ClassPopulation"];
export type ResourceLoad = Schemas["ResourceLoad"];
export type Comparison = Schemas["Comparison"];
export type ModelChange = Schemas["ModelChange"];
export type Explained = Schemas["Explained"];
export type Trials = Schemas["Trials"];
export type Trial = Schemas["Trial"];
export type Preview = Schemas["Preview"];
export type PreviewChange = Schemas["PreviewChange"];
export type Overview = Schemas["Overview"];
export type Parameter = Schemas["ParameterDescription"];
export type Optimizer = Schemas["Optimizer"];
export type Standing = Schemas["Standing"];

/** An allocation never changes once it stands. */
const FOREVER = { staleTime: Infinity };

/** Above this a table in the browser stops helping; the API pages on. */
export const MOST_ROWS = 5000;

export const allocationsQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.allocations.list(query),
    queryFn: async ({ signal }): Promise<Page<Allocation>> =>
      await take(client.GET("/api/v1/allocations", { params: { query }, signal })),
  });

export const allocationQuery = (id: string) =>
  queryOptions({
    queryKey: keys.allocations.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/allocations/{id}", { params: { path: { id } }, signal })),
  });

export type Rows<Row> = { count: number; rows: Row[] };

async function everyRow<Row>(
  load: (cursor: string | undefined) => Promise<Page<Row>>,
): Promise<Rows<Row>> {
  const rows: Row[] = [];
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await load(cursor);
    rows.push(...page.results);
    count = page.count;
    cursor = page.next
      ? (new URL(page.next, location.origin).searchParams.get("cursor") ?? undefined)
      : undefined;
  } while (cursor !== undefined && rows.length < MOST_ROWS);
  return { count, rows };
}

const rowQuery = (cursor: string | undefined) => ({ page_size: 500, cursor });

export const ratesQuery = (id: string) =>
  queryOptions({
    queryKey: keys.allocations.rows(id, "rates"),
    queryFn: ({ signal }) =>
      everyRow<FlowRate>((cursor) =>
        take(
          client.GET("/api/v1/allocations/{allocation_id}/rates", {
            params: { path: { allocation_id: id }, query: rowQuery(cursor) },
            signal,
          }),
        ),
      ),
    ...FOREVER,
  });

export const populationsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.allocations.rows(id, "populations"),
    queryFn: ({ signal }) =>
      everyRow<ClassPopulation>((cursor) =>
        take(
          client.GET("/api/v1/allocations/{allocation_id}/populations", {
            params: { path: { allocation_id: id }, query: rowQuery(cursor) },
            signal,
          }),
        ),
      ),
    ...FOREVER,
  });

export const loadsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.allocations.rows(id, "loads"),
    queryFn: ({ signal }) =>
      everyRow<ResourceLoad>((cursor) =>
        take(
          client.GET("/api/v1/allocations/{allocation_id}/loads", {
            params: { path: { allocation_id: id }, query: rowQuery(cursor) },
            signal,
          }),
        ),
      ),
    ...FOREVER,
  });

/** Against another allocation; by default the one before it. */
export const comparisonQuery = (id: string, other: string | null) =>
  queryOptions({
    queryKey: keys.allocations.comparison(id, other ?? ""),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/allocations/{id}/comparison", {
          params: { path: { id }, query: other ? { with: other } : {} },
          signal,
        }),
      ),
    ...FOREVER,
  });

/** Why one class was admitted or refused. */
export const explanationQuery = (id: string, consumerClass: string) =>
  queryOptions({
    queryKey: keys.allocations.explanation(id, consumerClass),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/allocations/{id}/explanation", {
          params: { path: { id }, query: { consumer_class: consumerClass } },
          signal,
        }),
      ),
    ...FOREVER,
  });

/** What would admit more of a class, found by solving its frozen model again. */
export const admissionTrials = (id: string, consumerClass: string) =>
  take(
    client.POST("/api/v1/allocations/{id}/trials", {
      params: { path: { id } },
      body: { consumer_class: consumerClass },
    }),
  );

/** What drafts of utility functions would change; the server stores nothing of it. */
export const previewDrafts = (
  system: string,
  utilities: Schemas["PreviewRequestRequest"]["utilities"],
  signal?: AbortSignal,
) =>
  take(
    client.POST("/api/v1/systems/{id}/preview", {
      params: { path: { id: system } },
      body: { utilities },
      signal,
    }),
  );

const OVERVIEW_MS = 30_000;

export const overviewQuery = queryOptions({
  queryKey: keys.overview,
  queryFn: ({ signal }) => take(client.GET("/api/v1/overview", { signal })),
  // Loads and waiting messages change without news.
  refetchInterval: OVERVIEW_MS,
});

export const optimizersQuery = queryOptions({
  queryKey: keys.optimizers,
  queryFn: ({ signal }) => take(client.GET("/api/v1/optimizers", { signal })),
  staleTime: 5 * 60_000,
});

export const optimize = (body: Schemas["SystemAllocationRequestRequest"], key: string) =>
  take(
    client.POST("/api/v1/allocations", {
      params: { header: { "Idempotency-Key": key } },
      body,
    }),
  );

/** What each method has found on the snapshot of an allocation. */
export const methodsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.runs.methods(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/allocations/{id}/methods", { params: { path: { id } }, signal })),
  });

/** Run other methods on the snapshot of an allocation. */
export function useCompare(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ methods, key }: { methods: string[]; key: string }) =>
      take(
        client.POST("/api/v1/allocations/{id}/compare", {
          params: { path: { id }, header: { "Idempotency-Key": key } },
          body: { methods },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.runs.all }),
  });
}
