/** What one is told by e-mail, and when. */
import { queryOptions } from "@tanstack/react-query";

import { client, ifMatch, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type NotificationSettings = Schemas["NotificationSettings"];
export type NotificationChanges = Omit<
  Schemas["PatchedNotificationSettingsRequest"],
  "email" | "version"
>;

export const notificationsQuery = queryOptions({
  queryKey: keys.notifications,
  queryFn: ({ signal }): Promise<NotificationSettings> =>
    take(client.GET("/api/v1/session/notifications", { signal })),
});

export const notificationsUpdate = (version: number, body: NotificationChanges) =>
  take(
    client.PATCH("/api/v1/session/notifications", { params: { header: ifMatch(version) }, body }),
  );
