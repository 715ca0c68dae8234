/** What agents measure: the latest of every broker, the last minutes of one, the agents themselves. */
import { queryOptions } from "@tanstack/react-query";

import { client, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Agent = Schemas["Agent"];
export type Telemetry = Schemas["Telemetry"];
export type Point = Schemas["Point"];
export type Levels = Schemas["Levels"];
export type Loss = Schemas["Loss"];
export type LevelSpan = "hour" | "day" | "week";

export const agentsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.agents.list(system),
    queryFn: async ({ signal }): Promise<Page<Agent>> =>
      await take(
        client.GET("/api/v1/agents", {
          params: { query: { system, page_size: 500 } },
          signal,
        }),
      ),
  });

/** The agents of all systems. */
export const allAgentsQuery = queryOptions({
  queryKey: keys.agents.everywhere,
  queryFn: async ({ signal }): Promise<Page<Agent>> =>
    await take(client.GET("/api/v1/agents", { params: { query: { page_size: 500 } }, signal })),
});

/** How much of the past a page keeps by itself. */
export const KEPT_S = 180;

export type Recent = {
  latest: readonly Telemetry[];
  /** Broker's name -> what this page has heard of it, oldest first. */
  heard: Readonly<Record<string, readonly Telemetry[]>>;
};

export function remember(before: Recent | undefined, latest: readonly Telemetry[]): Recent {
  const heard: Record<string, readonly Telemetry[]> = {};
  for (const point of latest) {
    const known = before?.heard[point.broker_name] ?? [];
    const since = new Date(point.at).getTime() - KEPT_S * 1000;
    const kept = known.filter((old) => new Date(old.at).getTime() >= since);
    heard[point.broker_name] = kept.at(-1)?.at === point.at ? kept : [...kept, point];
  }
  return { latest, heard };
}

/** The newest measurements, asked again whenever the system measured something. */
export const telemetryQuery = (system: string) =>
  queryOptions({
    queryKey: keys.telemetry.latest(system),
    queryFn: async ({ signal }): Promise<Recent> =>
      remember(
        undefined,
        await take(client.GET("/api/v1/telemetry", { params: { query: { system } }, signal })),
      ),
    // The last answers are kept with the new one, so that a chart needs one small request a second.
    structuralSharing: (before, now) =>
      remember(before as Recent | undefined, (now as Recent).latest),
  });

/** Cells are brought up to date about every quarter of a minute. */
const LEVELS_MS = 15_000;

/** What brokers handled over a span, cell by cell. */
export const levelsQuery = (system: string, span: LevelSpan, brokers: readonly string[]) =>
  queryOptions({
    queryKey: keys.telemetry.levels(system, span, brokers),
    queryFn: ({ signal }): Promise<Levels> =>
      take(
        client.GET("/api/v1/telemetry/levels", {
          params: { query: { system, span, broker: [...brokers] } },
          signal,
        }),
      ),
    refetchInterval: LEVELS_MS,
  });

/** Every flow: approved, controlled and measured rate; means of the last seconds. */
export const flowStatusQuery = (system: string) =>
  queryOptions({
    queryKey: keys.telemetry.flows(system),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/flow-status", { params: { query: { system } }, signal })),
  });

/** Messages that agents took and could not hand on, the latest first; all that are known of. */
export const lossesQuery = (system: string) =>
  queryOptions({
    queryKey: keys.telemetry.losses(system),
    queryFn: async ({ signal }): Promise<Loss[]> =>
      (
        await take(
          client.GET("/api/v1/telemetry/losses", { params: { query: { system } }, signal }),
        )
      ).results,
  });

/** The last minutes of one broker, asked once; what follows is heard. `only`: of its links alone. */
export const seriesQuery = (broker: string, minutes: number, only?: "links") =>
  queryOptions({
    queryKey: keys.telemetry.series(broker, minutes, only),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/telemetry/series", {
          params: { query: { broker, minutes, only } },
          signal,
        }),
      ),
    staleTime: Infinity,
    gcTime: 0,
  });

/** A credential for the agent of this broker; one that exists is replaced. Without an address the
 * one that is fixed stays. */
export const agentEnrol = (broker: string, address: string) =>
  take(client.POST("/api/v1/agents", { body: address ? { broker, address } : { broker } }));

/** Where neighbours' agents reach the broker. */
export const agentAddressSet = (id: string, address: string, reason: string) =>
  take(
    client.PATCH("/api/v1/agents/{id}", {
      params: { path: { id } },
      body: { address, reason },
    }),
  );

/** End the agent's credential; neighbours end their links with its broker. */
export const agentRevoke = (id: string) =>
  take(client.DELETE("/api/v1/agents/{id}", { params: { path: { id } } }));
