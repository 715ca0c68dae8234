/** What publishers and consumers of a system want: measured, in the model, used by snapshots. */
import { queryOptions } from "@tanstack/react-query";

import { client, ifMatch, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Demand = Schemas["Demand"];
export type Wanted = Schemas["Wanted"];
export type DemandBasis = Schemas["DemandBasisEnum"];
export type DemandSettings = Schemas["DemandSettings"];
export type DemandEstimate = Schemas["DemandEstimate"];
export type Forecast = Schemas["Forecast"];
export type ForecastDetail = Schemas["ForecastDetail"];
export type ForecastSeries = Schemas["ForecastSeries"];
export type RequestLoop = Schemas["RequestLoop"];
export type LoopInterval = Schemas["LoopInterval"];
export type DemandFigure = Schemas["DemandFigure"];

const ROWS = 20;

/** Of one topic and its classes, or of what has this in its name. */
export const demandQuery = (system: string, of: { search?: string; topic?: string }) =>
  queryOptions({
    queryKey: keys.demand.now(system, of),
    queryFn: ({ signal }): Promise<Demand> =>
      take(client.GET("/api/v1/demand", { params: { query: { system, ...of } }, signal })),
    // Another minute is measured.
    refetchInterval: 30_000,
  });

export const demandSettingsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.demand.settings(system),
    queryFn: async ({ signal }): Promise<DemandSettings> => {
      const page = await take(
        client.GET("/api/v1/demand-settings", { params: { query: { system } }, signal }),
      );
      const [row] = page.results;
      if (row === undefined) throw new Error("The server gave no settings.");
      return row;
    },
  });

export const demandSettingsUpdate = (
  { id, version }: DemandSettings,
  body: Schemas["PatchedDemandSettingsRequest"],
) =>
  take(
    client.PATCH("/api/v1/demand-settings/{id}", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );

export const demandEstimatesQuery = (system: string, asked: { cursor?: string }) =>
  queryOptions({
    queryKey: keys.demand.estimates(system, asked),
    queryFn: ({ signal }): Promise<Page<DemandEstimate>> =>
      take(
        client.GET("/api/v1/demand-estimates", {
          params: { query: { system, ...asked, page_size: ROWS } },
          signal,
        }),
      ),
  });

export const demandEstimateQuery = (system: string, id: string) =>
  queryOptions({
    queryKey: keys.demand.estimate(system, id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/demand-estimates/{id}", { params: { path: { id } }, signal })),
  });

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Requesters of the last day: of classes with a utility function, or of all that ask. */
export const requestLoopsQuery = (system: string, utility: string | null) =>
  queryOptions({
    queryKey: keys.demand.requests(system, utility),
    queryFn: ({ signal }) => {
      const until = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
      const since = new Date(until - DAY_MS).toISOString();
      const query = { system, since, ...(utility === null ? {} : { utility }) };
      return take(client.GET("/api/v1/request-loops", { params: { query }, signal }));
    },
    // Another minute is measured.
    refetchInterval: 60_000,
  });

/** The newest forecast of a system; null while there is none. */
export const latestForecastQuery = (system: string) =>
  queryOptions({
    queryKey: keys.demand.forecasts(system),
    queryFn: async ({ signal }): Promise<Forecast | null> => {
      const page = await take(
        client.GET("/api/v1/demand-forecasts", {
          params: { query: { system, page_size: 1 } },
          signal,
        }),
      );
      return page.results[0] ?? null;
    },
  });

export const forecastQuery = (system: string, id: string) =>
  queryOptions({
    queryKey: keys.demand.forecast(system, id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/demand-forecasts/{id}", { params: { path: { id } }, signal })),
  });

export const forecastRequest = (system: string) =>
  take(
    client.POST("/api/v1/demand-forecasts", {
      body: { system },
      params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    }),
  );
