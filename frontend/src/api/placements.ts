/** Placements of topics over brokers, what else they could be, and the request for the next. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Placement = Schemas["Placement"];
export type PlacementDetail = Schemas["PlacementDetail"];
export type PlacementMethod = Schemas["PlacementMethod"];
export type PlacementRequest = Schemas["PlacementRequestRequest"];
/** What becomes of the adaptation may be left out: an order in force goes on; null: it ends. */
export type PlacementPlanRequest = Schemas["PlacementPlanRequestRequest"];
/** All that the page of a placement shows; what-if answers with the same. */
export type Outcome = Schemas["PlacementOutcome"];
export type SplitOption = Schemas["PlacementOption"];
export type BrokerShare = Schemas["PlacementShare"];
export type PublisherGroup = Schemas["PlacementGroup"];
/** A publisher that moves, and the price of leaving it where it is. */
export type Move = Schemas["PlacementMove"];
/** What is left out stays as it was frozen. */
export type WhatIf = Partial<Schemas["PlacementWhatIfRequest"]>;
/** A broker's part of the topic's bucket that is in force, with what is measured. */
export type Part = Schemas["Part"];
export type Parts = Schemas["Parts"];
export type PartMode = Schemas["PartModeEnum"];
/** What messages took at one broker while its part and its publishers were as they are. */
export type MeasuredBroker = Schemas["MeasuredBroker"];
/** Against the objective; null where there is none. */
export type Verdict = MeasuredBroker["verdict"];
export type Measured = Schemas["MeasuredPlacement"];
/** One placement of a chain in which each is made by what was measured under the one before. */
export type Round = Schemas["Round"];
/** What a topic is promised, of a placement, a round or a contract. */
export type Promised = { slo_p99_s: number | null; slo_mean_s?: number | null };
export type Rounds = Schemas["Rounds"];
/** Why a run placed nobody. */
export type NoRoom = Schemas["PlacementInfeasibility"];

/** A placement never changes once it stands. */
const FOREVER = { staleTime: Infinity };

export const placementsQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.placements.list(query),
    queryFn: async ({ signal }): Promise<Page<Placement>> =>
      await take(client.GET("/api/v1/placements", { params: { query }, signal })),
  });

export const placementQuery = (id: string) =>
  queryOptions({
    queryKey: keys.placements.one(id),
    queryFn: ({ signal }): Promise<PlacementDetail> =>
      take(client.GET("/api/v1/placements/{id}", { params: { path: { id } }, signal })),
    ...FOREVER,
  });

/** Publishers that the placement gives to another broker than they have. */
export const movesQuery = (id: string, query: ListQuery) =>
  queryOptions({
    queryKey: keys.placements.moves(id, query),
    queryFn: ({ signal }): Promise<Page<Move>> =>
      take(
        client.GET("/api/v1/placements/{placement_id}/moves", {
          params: { path: { placement_id: id }, query },
          signal,
        }),
      ),
    ...FOREVER,
  });

export const partsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.placements.parts(id),
    queryFn: ({ signal }): Promise<Parts> =>
      take(client.GET("/api/v1/placements/{id}/parts", { params: { path: { id } }, signal })),
  });

export const roundsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.placements.rounds(id),
    queryFn: ({ signal }): Promise<Rounds> =>
      take(client.GET("/api/v1/placements/{id}/rounds", { params: { path: { id } }, signal })),
  });

/** A run that places the topic by what its brokers showed while this placement was in force. */
export const placeAgain = (id: string, body: { note: string }): Promise<Schemas["Run"]> =>
  take(
    client.POST("/api/v1/placements/{id}/again", {
      params: { path: { id }, header: idempotencyKey() },
      body,
    }),
  );

/** A draft of the plan after which brokers enforce, or count, the parts of a placement. */
export const planFromPlacement = (id: string, body: PlacementPlanRequest) =>
  take(
    client.POST("/api/v1/placements/{id}/plan", {
      params: { path: { id }, header: idempotencyKey() },
      body,
    }),
  );

/** The outcome on the frozen problem with changes; the server stores nothing of it. */
export const whatIf = (id: string, body: WhatIf, signal?: AbortSignal): Promise<Outcome> =>
  take(
    client.POST("/api/v1/placements/{id}/what-if", {
      params: { path: { id } },
      body: { added_brokers: 0, ...body },
      signal,
    }),
  );

export const placementMethodsQuery = queryOptions({
  queryKey: keys.placements.methods,
  queryFn: ({ signal }): Promise<{ results: PlacementMethod[] }> =>
    take(client.GET("/api/v1/placement-methods", { signal })),
  staleTime: 5 * 60_000,
});

export const place = (body: PlacementRequest): Promise<Schemas["Run"]> =>
  take(client.POST("/api/v1/placements", { params: { header: idempotencyKey() }, body }));
