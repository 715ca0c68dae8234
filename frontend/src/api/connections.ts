/** Connections to products in which plans open their changes, and the change of one plan. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, ifMatch, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Connection = Schemas["Connection"];
export type Exchange = Schemas["Exchange"];
export type WaitingMessage = Schemas["WaitingMessage"];
export type ConnectionProduct = Schemas["ConnectionProduct"];
export type Change = Schemas["OpenedChange"];

/** The other side answers when it likes; nobody sends news of that. */
const LOOK_MS = 5_000;

export const connectionsQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.connections.list(query),
    queryFn: async ({ signal }): Promise<Page<Connection>> =>
      await take(client.GET("/api/v1/connections", { params: { query }, signal })),
    refetchInterval: LOOK_MS,
  });

export const connectionQuery = (id: string) =>
  queryOptions({
    queryKey: keys.connections.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/connections/{id}", { params: { path: { id } }, signal })),
    refetchInterval: LOOK_MS,
  });

export const exchangesQuery = (connection: string, cursor: string, writes = false) =>
  queryOptions({
    queryKey: keys.connections.exchanges(connection, { cursor, writes }),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/exchanges", {
          params: {
            query: {
              connection,
              cursor: cursor || undefined,
              writes: writes || undefined,
              page_size: 20,
            },
          },
          signal,
        }),
      ),
    refetchInterval: LOOK_MS,
  });

export const waitingQuery = (connection: string, cursor: string) =>
  queryOptions({
    queryKey: keys.connections.waiting(connection, { cursor }),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/waiting-messages", {
          params: { query: { connection, cursor: cursor || undefined, page_size: 20 } },
          signal,
        }),
      ),
    refetchInterval: LOOK_MS,
  });

export const productsQuery = queryOptions({
  queryKey: keys.connections.products,
  queryFn: async ({ signal }) =>
    (await take(client.GET("/api/v1/connection-products", { signal }))).results,
  staleTime: Infinity,
});

type Body = Schemas["ConnectionRequest"];

export const connectionSave = (row: Connection | null, body: Body) => {
  if (row === null) {
    return take(client.POST("/api/v1/connections", { params: { header: idempotencyKey() }, body }));
  }
  return connectionUpdate(row, body);
};

export const connectionUpdate = (row: Connection, body: Schemas["PatchedConnectionRequest"]) =>
  take(
    client.PATCH("/api/v1/connections/{id}", {
      params: { path: { id: row.id }, header: ifMatch(row.version) },
      body,
    }),
  );

export const connectionDelete = (row: Connection, reason: string) =>
  take(
    client.DELETE("/api/v1/connections/{id}", {
      params: { path: { id: row.id }, query: { reason }, header: ifMatch(row.version) },
    }),
  );

export const connectionTest = (id: string) =>
  take(client.POST("/api/v1/connections/{id}/test", { params: { path: { id } } }));

/** The change of one plan; `moving`: while the other side may still change it. */
export const planChangeQuery = (id: string, moving: boolean) =>
  queryOptions({
    queryKey: keys.planChange(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/plans/{id}/change", { params: { path: { id } }, signal })),
    refetchInterval: moving ? LOOK_MS : false,
  });
