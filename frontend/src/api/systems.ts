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

/** How many brokers it has; the overview knows, too, but that is about all systems and their runs. */
export const brokerCountQuery = (system: string) =>
  queryOptions({
    queryKey: keys.catalog.list("brokers", { system, page_size: 1 }),
    queryFn: async ({ signal }) =>
      await take(
        client.GET("/api/v1/brokers", { params: { query: { system, page_size: 1 } }, signal }),
      ),
    select: (page: Page<Schemas["Broker"]>) => page.count,
  });

export const useSystems = () => useQuery(systemsQuery);

export const systemQuery = (id: string) =>
  queryOptions({
    queryKey: keys.systems.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/systems/{id}", { params: { path: { id } }, signal })),
  });

export const useSystem = (id: string, enabled = true) => useQuery({ ...systemQuery(id), enabled });

/** What its model still needs, by model version. */
export const checklistQuery = (id: string, modelVersion: number) =>
  queryOptions({
    queryKey: keys.systems.checklist(id, modelVersion),
    queryFn: async ({ signal }) =>
      (
        await take(
          client.GET("/api/v1/systems/{id}/checklist", { params: { path: { id } }, signal }),
        )
      ).results,
  });

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

export const retentionSet = (
  id: string,
  version: number,
  body: { retention_s: number; confirm: boolean; reason: string },
) =>
  take(
    client.PUT("/api/v1/systems/{id}/retention", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );

/** Whether agents have obeyed more than this database knows. */
export const restoredQuery = (id: string) =>
  queryOptions({
    queryKey: keys.agents.restored(id),
    queryFn: async ({ signal }) =>
      await take(client.GET("/api/v1/systems/{id}/restored", { params: { path: { id } }, signal })),
  });

export const restoredAdopt = (id: string, reason: string) =>
  take(
    client.POST("/api/v1/systems/{id}/adopt-restored", {
      params: { path: { id } },
      body: { reason },
    }),
  );

export const systemDelete = (id: string, version: number, reason: string) =>
  take(
    client.DELETE("/api/v1/systems/{id}", {
      params: { path: { id }, header: ifMatch(version), query: reason ? { reason } : {} },
    }),
  );

export type Unmanaged = System["unmanaged"];

/** What unmanaged clients may do; `confirm` where that opens the brokers further. */
export const accessSet = (
  id: string,
  version: number,
  body: { unmanaged: Unmanaged; confirm: boolean; reason: string },
) =>
  take(
    client.PUT("/api/v1/systems/{id}/access", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );
