/** What waits for the person who is signed in, and what they should know. */
import { queryOptions } from "@tanstack/react-query";

import { client, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Inbox = Schemas["Inbox"];
export type InboxItem = Schemas["Item"];

/** News say when it changes; this is for those that were missed, and for roles that changed. */
const LOOK_MS = 60_000;

export const inboxQuery = queryOptions({
  queryKey: keys.inbox,
  queryFn: ({ signal }): Promise<Inbox> => take(client.GET("/api/v1/inbox", { signal })),
  refetchInterval: LOOK_MS,
});
