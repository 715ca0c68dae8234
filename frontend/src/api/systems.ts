/** Managed systems. */
import { queryOptions, useQuery } from "@tanstack/react-query";

import { client, ifMatch, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";

export type System = Schemas["System"];

export const systemsQuery = queryOptions({
  queryKey: keys.systems.list({}),
  queryFn: async ({ signal }): Promise<Page<System>> =>
    await take(client.GET("/api/v1/systems", { params: { query: { page_size: 500 } }, signal })),
});

export const useSystems = () => useQuery(systemsQuery);

export const systemQuery = (id: string) =>
  queryOptions({
    queryKey: keys.systems.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/systems/{id}", { params: { path: { id } }, signal })),
  });

export const useSystem = (id: string) => useQuery(systemQuery(id));

export const systemCreate = (body: Record<string, unknown>, key: string) =>
  take(
    client.POST("/api/v1/systems", {
      params: { header: { "Idempotency-Key": key } },
      body: body as Schemas["SystemRequest"],
    }),
  );

export const systemUpdate = (id: string, version: number, body: Record<string, unknown>) =>
  take(
    client.PATCH("/api/v1/systems/{id}", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );

export const systemDelete = (id: string, version: number, reason: string) =>
  take(
    client.DELETE("/api/v1/systems/{id}", {
      params: { path: { id }, header: ifMatch(version), query: reason ? { reason } : {} },
    }),
  );
