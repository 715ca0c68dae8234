/** The overlay in force: what travels over it, and who of it is silent. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type SystemTraffic = Schemas["SystemTraffic"];
export type Repair = Schemas["Repair"];

/** Traffic moves all the time and nobody tells; this is often enough for a page to live. */
const LOOK_MS = 10_000;

export const trafficQuery = (system: string, window?: number) =>
  queryOptions({
    queryKey: keys.traffic(system, window),
    queryFn: ({ signal }): Promise<SystemTraffic> =>
      take(
        client.GET("/api/v1/systems/{id}/traffic", {
          params: { path: { id: system }, query: window === undefined ? {} : { window_s: window } },
          signal,
        }),
      ),
    refetchInterval: LOOK_MS,
    retry: false,
  });

/** Brokers of the overlay in force that are silent; whoever is gone for good can be removed. */
export const repairsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.repairs(system),
    queryFn: async ({ signal }): Promise<Repair[]> =>
      (await take(client.GET("/api/v1/repairs", { params: { query: { system } }, signal })))
        .results,
    refetchInterval: LOOK_MS,
  });

export const planRepair = (broker: string): Promise<Schemas["PlanDetail"]> =>
  take(
    client.POST("/api/v1/repairs", {
      params: { header: idempotencyKey() },
      body: { broker, title: "" },
    }),
  );
