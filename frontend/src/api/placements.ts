/** Placements of topics over brokers, what else they could be, and the request for the next. */
import { queryOptions } from "@tanstack/react-query";
import type { Client } from "openapi-fetch";

import { client, idempotencyKey, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Placement = Schemas["Placement"] & { round?: number };
export type PlacementDetail = Schemas["PlacementDetail"] & {
  round?: number;
  based_on?: { id: string; name: string } | null;
};
export type PlacementMethod = Schemas["PlacementMethod"];
export type PlacementRequest = Schemas["PlacementRequestRequest"];
/** All that the page of a placement shows; what-if answers with the same. */
export type Outcome = Omit<Schemas["PlacementOutcome"], "shares"> & {
  shares: BrokerShare[];
  measured?: (Measured & { search_rounds: number }) | null;
};
export type SplitOption = Schemas["PlacementOption"];
export type BrokerShare = Schemas["PlacementShare"] & { speed_per_s?: number | null };
export type PublisherGroup = Schemas["PlacementGroup"];
/** A publisher that moves, and the price of leaving it where it is. */
export type Move = Schemas["PlacementMove"];
/** What is left out stays as it was frozen. */
export type WhatIf = Partial<Schemas["PlacementWhatIfRequest"]>;
/** A broker's part of the topic's bucket that is in force, with what is measured. */
export type Part = Schemas["Part"];
export type Parts = Schemas["Parts"];
export type PartMode = Schemas["PartModeEnum"];
/** Against the objective; null where there is none. */
export type Verdict = "kept" | "missed" | "inconclusive" | null;
/** What messages took at one broker while its part and its publishers were as they are. */
export type MeasuredBroker = {
  broker: string;
  publishers: number;
  rate_per_s: number;
  messages: number;
  seconds: number;
  /** By the speed before; null: without bound. */
  predicted_p99_s: number | null;
  p99_s: number;
  low_s: number;
  /** Null: too little is measured to bound it. */
  high_s: number | null;
  processing_p99_s: number;
  processing_low_s: number;
  processing_high_s: number | null;
  verdict: Verdict;
  /** Of a miss: what most of the delay is. */
  cause: "processing" | "tokens" | null;
  /** Speeds are null as long as nothing is placed by what is measured. */
  speed_before_per_s: number | null;
  speed_per_s: number | null;
  fitted: boolean | null;
};
export type Measured = { of: string; meets: boolean | null; brokers: MeasuredBroker[] };
/** One placement of a chain in which each is made by what was measured under the one before. */
export type Round = {
  placement: string;
  name: string;
  round: number;
  created_at: string;
  brokers: number;
  moved: number;
  predicted_p99_s: number | null;
  slo_p99_s: number | null;
  is_in_force: boolean;
  measured: Measured | null;
};
export type Rounds = {
  /** Oldest first. */
  results: Round[];
  can_place_again: boolean;
  because: string;
  measured_rounds: number;
  search_rounds: number | null;
};
/** Why a run placed nobody. */
export type NoRoom = Schemas["PlacementInfeasibility"];

/** What the schema does not name yet. */
type Early = {
  "/api/v1/placements/{id}/rounds": {
    get: {
      parameters: { path: { id: string } };
      responses: { 200: { content: { "application/json": Rounds } } };
    };
  };
  "/api/v1/placements/{id}/again": {
    post: {
      parameters: { path: { id: string }; header: { "Idempotency-Key": string } };
      requestBody: { content: { "application/json": { note?: string } } };
      responses: { 202: { content: { "application/json": Schemas["Run"] } } };
    };
  };
};
const early = client as unknown as Client<Early>;

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
      take(early.GET("/api/v1/placements/{id}/rounds", { params: { path: { id } }, signal })),
  });

/** A run that places the topic by what its brokers showed while this placement was in force. */
export const placeAgain = (id: string, body: { note: string }): Promise<Schemas["Run"]> =>
  take(
    early.POST("/api/v1/placements/{id}/again", {
      params: { path: { id }, header: idempotencyKey() },
      body,
    }),
  );

/** A draft of the plan after which brokers enforce, or count, the parts of a placement. */
export const planFromPlacement = (id: string, body: Schemas["PlacementPlanRequestRequest"]) =>
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
