/** Allocations with their rows, the comparison, the methods, and the request for a new one. */
import { queryOptions } from "@tanstack/react-query";

import { client, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Allocation = Schemas["Allocation"];
export type AllocationDetail = Schemas["AllocationDetail"];
export type FlowRate = Schemas["FlowRate"];
export type ClassPopulation = Schemas["ClassPopulation"];
export type ResourceLoad = Schemas["ResourceLoad"];
export type Comparison = Schemas["Comparison"];
export type Overview = Schemas["Overview"];
export type Parameter = Schemas["ParameterDescription"];
export type Optimizer = Schemas["Optimizer"];

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

export const overviewQuery = queryOptions({
  queryKey: keys.overview,
  queryFn: ({ signal }) => take(client.GET("/api/v1/overview", { signal })),
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
