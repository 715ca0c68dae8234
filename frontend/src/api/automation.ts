/** What Weir carries out by itself, and what stops it. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Automation = Schemas["Automation"];
export type AutomaticDecision = Schemas["AutomaticDecision"];
export type AutomaticStop = Schemas["AutomaticStop"];

const DECISIONS = 30;

export const automationQuery = (system: string) =>
  queryOptions({
    queryKey: keys.recomputation.automation(system),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/recomputation/automation", { params: { query: { system } }, signal }),
      ),
    // How long plans of a dry run would have held grows by itself.
    refetchInterval: 60_000,
  });

export const decisionsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.recomputation.decisions(system),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/recomputation/decisions", {
          params: { query: { system, page_size: DECISIONS } },
          signal,
        }),
      ),
  });

/** What keeps Weir from doing anything by itself now; null: nothing does. */
export const stopQuery = queryOptions({
  queryKey: keys.automaticStop,
  queryFn: async ({ signal }): Promise<AutomaticStop | null> => {
    const page = await take(
      client.GET("/api/v1/automatic-stops", { params: { query: { lasts: true } }, signal }),
    );
    return page.results[0] ?? null;
  },
  refetchInterval: 60_000,
});

export const automaticStop = (reason: string) =>
  take(
    client.POST("/api/v1/automatic-stops", {
      params: { header: idempotencyKey() },
      body: { reason },
    }),
  );

export const automaticResume = (stop: string, reason: string) =>
  take(
    client.POST("/api/v1/automatic-stops/{id}/resume", {
      params: { path: { id: stop }, header: idempotencyKey() },
      body: { reason },
    }),
  );
