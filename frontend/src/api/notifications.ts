/** What people are told by e-mail and channels of chats by webhook, and when. */
import { queryOptions } from "@tanstack/react-query";

import type { ListQuery } from "./catalog";
import { client, idempotencyKey, ifMatch, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";

export type NotificationSettings = Schemas["NotificationSettings"];
export type NotificationChanges = Omit<
  Schemas["PatchedNotificationSettingsRequest"],
  "email" | "version"
>;
export type Channel = Schemas["Channel"];

/** What is posted to channels sends no news. */
const LOOK_MS = 5_000;
/** While somebody waits for the answer. */
const SOON_MS = 1_000;

export const notificationsQuery = queryOptions({
  queryKey: keys.notifications,
  queryFn: ({ signal }): Promise<NotificationSettings> =>
    take(client.GET("/api/v1/session/notifications", { signal })),
});

export const notificationsUpdate = (version: number, body: NotificationChanges) =>
  take(
    client.PATCH("/api/v1/session/notifications", { params: { header: ifMatch(version) }, body }),
  );

/** `awaited`: whether something of this channel is waited for on the page. */
export const channelsQuery = (query: ListQuery, awaited: (row: Channel) => boolean) =>
  queryOptions({
    queryKey: keys.channels.list(query),
    queryFn: async ({ signal }): Promise<Page<Channel>> =>
      await take(client.GET("/api/v1/channels", { params: { query }, signal })),
    refetchInterval: ({ state }) => (state.data?.results.some(awaited) ? SOON_MS : LOOK_MS),
  });

export const channelCreate = (body: Schemas["ChannelRequest"]) =>
  take(client.POST("/api/v1/channels", { params: { header: idempotencyKey() }, body }));

export const channelUpdate = (row: Channel, body: Schemas["PatchedChannelRequest"]) =>
  take(
    client.PATCH("/api/v1/channels/{id}", {
      params: { path: { id: row.id }, header: ifMatch(row.version) },
      body,
    }),
  );

export const channelDelete = (row: Channel, reason: string) =>
  take(
    client.DELETE("/api/v1/channels/{id}", {
      params: { path: { id: row.id }, query: { reason }, header: ifMatch(row.version) },
    }),
  );

/** Answers with the channel before the test is sent. */
export const channelTest = (id: string) =>
  take(
    client.POST("/api/v1/channels/{id}/test", {
      params: { path: { id }, header: idempotencyKey() },
    }),
  );
