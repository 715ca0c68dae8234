/** Webhooks: addresses of other systems that hear of what happens, and what each was sent. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, ifMatch, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Webhook = Schemas["Webhook"];
export type Delivery = Schemas["Delivery"];
export type EventKind = Schemas["EventType"];
export type DeliveryState = Delivery["state"];

/** The other side answers when it likes; what waits for its time sends no news. */
const LOOK_MS = 5_000;

export const webhooksQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.webhooks.list(query),
    queryFn: async ({ signal }): Promise<Page<Webhook>> =>
      await take(client.GET("/api/v1/webhooks", { params: { query }, signal })),
    refetchInterval: LOOK_MS,
  });

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: keys.webhooks.one(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/webhooks/{id}", { params: { path: { id } }, signal })),
    refetchInterval: LOOK_MS,
  });

export const deliveriesQuery = (webhook: string, cursor: string, state: DeliveryState | "") =>
  queryOptions({
    queryKey: keys.webhooks.deliveries(webhook, { cursor, state }),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/deliveries", {
          params: {
            query: {
              webhook,
              cursor: cursor || undefined,
              state: state || undefined,
              page_size: 20,
            },
          },
          signal,
        }),
      ),
    refetchInterval: LOOK_MS,
  });

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: keys.webhooks.delivery(id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/deliveries/{id}", { params: { path: { id } }, signal })),
    refetchInterval: LOOK_MS,
  });

export const eventKindsQuery = queryOptions({
  queryKey: keys.webhooks.types,
  queryFn: async ({ signal }) =>
    (await take(client.GET("/api/v1/event-types", { signal }))).results,
  staleTime: Infinity,
});

export const webhookCreate = (body: Schemas["WebhookRequest"]) =>
  take(client.POST("/api/v1/webhooks", { body }));

export const webhookUpdate = (row: Webhook, body: Schemas["PatchedWebhookRequest"]) =>
  take(
    client.PATCH("/api/v1/webhooks/{id}", {
      params: { path: { id: row.id }, header: ifMatch(row.version) },
      body,
    }),
  );

export const webhookDelete = (row: Webhook, reason: string) =>
  take(
    client.DELETE("/api/v1/webhooks/{id}", {
      params: { path: { id: row.id }, query: { reason }, header: ifMatch(row.version) },
    }),
  );

export const secretRotate = (row: Webhook, hours: number, reason: string) =>
  take(
    client.POST("/api/v1/webhooks/{id}/rotate", {
      params: { path: { id: row.id }, header: ifMatch(row.version) },
      body: { keep_previous_h: hours, reason },
    }),
  );

export const webhookTest = (id: string) =>
  take(
    client.POST("/api/v1/webhooks/{id}/test", {
      params: { path: { id }, header: idempotencyKey() },
    }),
  );

export const deliveryRepeat = (id: string) =>
  take(
    client.POST("/api/v1/deliveries/{id}/redeliver", {
      params: { path: { id }, header: idempotencyKey() },
    }),
  );
