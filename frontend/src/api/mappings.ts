/** Maps of flows to streams and groups: what they cost whom, the weights, and the request for the
 * next. `map` names one of a mapping: `in_force`, a place in its points, or "" for the proposed. */
import {
  keepPreviousData,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";

import { client, idempotencyKey, ifMatch, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Mapping = Schemas["Mapping"];
export type MappingDetail = Schemas["MappingDetail"];
export type MappingOutcome = Schemas["MappingOutcome"];
export type MapPoint = Schemas["MapPoint"];
export type ComparedMap = Schemas["ComparedMap"];
export type MappingPin = Schemas["MappingPin"];
export type MappingSettings = Schemas["MappingSettings"];
export type MappingMethod = Schemas["MappingMethod"];
export type MappingRequest = Schemas["MappingRequestRequest"];
export type Mappable = Schemas["Mappable"];
export type Filtering = Schemas["Filtering"];
export type FilteringCell = Schemas["FilteringCell"];
export type MapInForce = Schemas["MapInForce"];
export type HandOver = Schemas["HandOver"];
export type HandOvers = Schemas["HandOvers"];
export type MapCosts = Schemas["MapCosts"];
export type MappingPlanRequest = Schemas["MappingPlanRequestRequest"];
export type Heat = Schemas["Heat"];
export type Receiver = Schemas["Receiver"];
export type ReceiverDetail = Schemas["ReceiverDetail"];
export type UnwantedFlow = Schemas["UnwantedFlow"];
export type FlowMove = Schemas["FlowMove"];

/** A map never changes once it stands. */
const FOREVER = { staleTime: Infinity };

export const mappingsQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.mappings.list(query),
    queryFn: async ({ signal }): Promise<Page<Mapping>> =>
      await take(client.GET("/api/v1/mappings", { params: { query }, signal })),
  });

export const mappingQuery = (id: string) =>
  queryOptions({
    queryKey: keys.mappings.one(id),
    queryFn: ({ signal }): Promise<MappingDetail> =>
      take(client.GET("/api/v1/mappings/{id}", { params: { path: { id } }, signal })),
    ...FOREVER,
  });

export const useMapping = (id: string, enabled = true) =>
  useQuery({ ...mappingQuery(id), enabled });

const named = (map: string) => map || undefined;

/** Receivers over groups, at most so many rows and columns; while another map is asked for, the one
 * before stays. */
export const useMapHeat = (id: string, map: string, rows: number, columns: number) =>
  useQuery({
    queryKey: keys.mappings.heat(id, map, rows, columns),
    queryFn: ({ signal }): Promise<Heat> =>
      take(
        client.GET("/api/v1/mappings/{id}/heat", {
          params: { path: { id }, query: { map: named(map), rows, columns } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...FOREVER,
  });

type Rows = { cursor?: string; page_size?: number };

/** What each receiver gets and filters, a page of the server at a time. */
export const useReceivers = (
  id: string,
  map: string,
  ordering: string,
  search: string,
  page: Rows = {},
) =>
  useQuery({
    queryKey: keys.mappings.receivers(id, map, { ordering, search, ...page }),
    queryFn: ({ signal }): Promise<Page<Receiver>> =>
      take(
        client.GET("/api/v1/mappings/{mapping_id}/receivers", {
          params: {
            path: { mapping_id: id },
            query: {
              map: named(map),
              // The address of the page keeps it as text; the server refuses what it does not know.
              ordering: (ordering || undefined) as "-cost" | undefined,
              search: search || undefined,
              ...page,
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...FOREVER,
  });

/** One receiver with the flows that it filters, the dearest first, and why they reach it. */
export const useReceiver = (id: string, map: string, user: string) =>
  useQuery({
    queryKey: keys.mappings.receiver(id, map, user),
    queryFn: ({ signal }): Promise<ReceiverDetail> =>
      take(
        client.GET("/api/v1/mappings/{mapping_id}/receivers/one", {
          params: { path: { mapping_id: id }, query: { map: named(map), user } },
          signal,
        }),
      ),
    ...FOREVER,
  });

/** Flows that change their stream or group, get one, or lose it. */
const mapMoves = (
  id: string,
  map: string,
  search: string,
  page: Rows = {},
  signal?: AbortSignal,
): Promise<Page<FlowMove>> =>
  take(
    client.GET("/api/v1/mappings/{mapping_id}/moves", {
      params: {
        path: { mapping_id: id },
        query: { map: named(map), search: search || undefined, ...page },
      },
      signal,
    }),
  );

/** All of them, page after page: for a file, not for a table. */
export async function allMoves(id: string, map: string, search: string): Promise<FlowMove[]> {
  const rows: FlowMove[] = [];
  let cursor: string | undefined;
  do {
    const page = await mapMoves(id, map, search, { page_size: 500, cursor });
    rows.push(...page.results);
    cursor = page.next
      ? (new URL(page.next, location.origin).searchParams.get("cursor") ?? undefined)
      : undefined;
  } while (cursor !== undefined);
  return rows;
}

export const useMoves = (id: string, map: string, search: string, page: Rows = {}) =>
  useQuery({
    queryKey: keys.mappings.moves(id, map, { search, ...page }),
    queryFn: ({ signal }) => mapMoves(id, map, search, page, signal),
    placeholderData: keepPreviousData,
    ...FOREVER,
  });

/** What of the system would be mapped now: it moves with the catalog. */
export const useMappable = (system: string) =>
  useQuery({
    queryKey: keys.mappings.mappable(system),
    queryFn: ({ signal }): Promise<Mappable> =>
      take(client.GET("/api/v1/mappable", { params: { query: { system } }, signal })),
  });

/** A quarter of an hour grows by the minute. */
const FILTERING_MS = 60_000;

/** What receivers filtered over the last day, as agents measured it. */
export const useFiltering = (system: string) =>
  useQuery({
    queryKey: keys.mappings.filtering(system),
    queryFn: ({ signal }): Promise<Filtering> =>
      take(client.GET("/api/v1/filtering", { params: { query: { system } }, signal })),
    refetchInterval: FILTERING_MS,
  });

const MOVING_MS = 1_000;
const SETTLED_MS = 5_000;

/** Which flows change their stream live now, and which did in the last minute. */
export const useHandOvers = (system: string) =>
  useQuery({
    queryKey: keys.mappings.handOvers(system),
    queryFn: ({ signal }): Promise<HandOvers> =>
      take(client.GET("/api/v1/hand-overs", { params: { query: { system } }, signal })),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.moving > 0 ? MOVING_MS : SETTLED_MS,
  });

const MEASURED_MS = 5_000;

/** What the map that is in force now costs: it falls while an execution moves flows. News say when
 * it has changed; what agents measure changes without any. */
export const useMapInForce = (system: string) =>
  useQuery({
    queryKey: keys.mappings.inForce(system),
    queryFn: ({ signal }): Promise<MapInForce> =>
      take(client.GET("/api/v1/map-in-force", { params: { query: { system } }, signal })),
    refetchInterval: ({ state: { data } }) => (data?.measured ? MEASURED_MS : false),
  });

export const useMappingSettings = (system: string, enabled = true) =>
  useQuery({
    queryKey: keys.mappings.settings(system),
    queryFn: async ({ signal }): Promise<MappingSettings> => {
      const page = await take(
        client.GET("/api/v1/mapping-settings", { params: { query: { system } }, signal }),
      );
      const [row] = page.results;
      if (row === undefined) throw new Error("The server gave no settings.");
      return row;
    },
    enabled,
  });

export function useMappingSettingsUpdate(settings: MappingSettings) {
  const queries = useQueryClient();
  const key = keys.mappings.settings(settings.system);
  return useMutation({
    mutationFn: (body: Schemas["PatchedMappingSettingsRequest"]): Promise<MappingSettings> =>
      take(
        client.PATCH("/api/v1/mapping-settings/{id}", {
          params: { path: { id: settings.id }, header: ifMatch(settings.version) },
          body,
        }),
      ),
    onSuccess: (row) => queries.setQueryData(key, row),
  });
}

export const mappingMethodsQuery = queryOptions({
  queryKey: keys.mappings.methods,
  queryFn: ({ signal }): Promise<{ results: MappingMethod[] }> =>
    take(client.GET("/api/v1/mapping-methods", { signal })),
  staleTime: 5 * 60_000,
});

export const useMappingMethods = (enabled = true) => useQuery({ ...mappingMethodsQuery, enabled });

export const askMapping = (body: MappingRequest): Promise<Schemas["Run"]> =>
  take(client.POST("/api/v1/mappings", { params: { header: idempotencyKey() }, body }));

/** A draft of what moves flows and streams to where one of its maps has them. */
export const planFromMapping = (
  id: string,
  body: MappingPlanRequest,
): Promise<Schemas["PlanDetail"]> =>
  take(
    client.POST("/api/v1/mappings/{id}/plan", {
      params: { path: { id }, header: idempotencyKey() },
      body,
    }),
  );
