/** Publishers that burst together: analyses, what they suggest, and what becomes of a suggestion. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type AnalysisRequest = Required<Schemas["CorrelationRequestRequest"]>;
export type Source = AnalysisRequest["source"];
export type Analysis = Schemas["CorrelationAnalysis"];
export type AnalysisDetail = Schemas["CorrelationAnalysisDetail"];
/** The answer without its groups. */
export type AnalysisOutcome = AnalysisDetail["outcome"];
/** Publishers of one period, and how many of them are in a group that shares its phase. */
export type Period = AnalysisOutcome["periods"][number];
export type Suggestion = Schemas["Suggestion"];
export type SuggestionState = Suggestion["state"];
/** A stretch of the window: the leader first, times in Unix seconds. */
export type Example = Suggestion["example"];
export type Member = Schemas["Member"];
export type Recording = Schemas["Recording"];
/** What agents reported of a topic's publishers in the last half hour. */
export type PublisherTimes = Schemas["PublisherTimes"];

export const analysesQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.correlation.list(query),
    queryFn: async ({ signal }): Promise<Page<Analysis>> =>
      await take(client.GET("/api/v1/correlation-analyses", { params: { query }, signal })),
  });

export const analysisQuery = (id: string) =>
  queryOptions({
    queryKey: keys.correlation.one(id),
    queryFn: ({ signal }): Promise<AnalysisDetail> =>
      take(client.GET("/api/v1/correlation-analyses/{id}", { params: { path: { id } }, signal })),
  });

export const suggestionsQuery = (analysis: string, query: ListQuery) =>
  queryOptions({
    queryKey: keys.correlation.suggestions(analysis, query),
    queryFn: ({ signal }): Promise<Page<Suggestion>> =>
      take(
        client.GET("/api/v1/correlation-analyses/{analysis_id}/suggestions", {
          params: { path: { analysis_id: analysis }, query },
          signal,
        }),
      ),
  });

export const membersQuery = (suggestion: string, query: ListQuery) =>
  queryOptions({
    queryKey: keys.correlation.members(suggestion, query),
    queryFn: ({ signal }): Promise<Page<Member>> =>
      take(
        client.GET("/api/v1/correlation-suggestions/{suggestion_id}/members", {
          params: { path: { suggestion_id: suggestion }, query },
          signal,
        }),
      ),
  });

export const recordingsQuery = queryOptions({
  queryKey: keys.recordings,
  queryFn: async ({ signal }): Promise<readonly Recording[]> =>
    (await take(client.GET("/api/v1/recordings", { signal }))).results,
});

export const publisherTimesQuery = (topic: string) =>
  queryOptions({
    queryKey: keys.publisherTimes(topic),
    queryFn: ({ signal }): Promise<PublisherTimes> =>
      take(
        client.GET("/api/v1/topics/{id}/publisher-times", {
          params: { path: { id: topic } },
          signal,
        }),
      ),
  });

/** A run that looks for publishers of the topic that burst together. */
export const analyse = (body: AnalysisRequest): Promise<Schemas["Run"]> =>
  take(client.POST("/api/v1/correlation-analyses", { params: { header: idempotencyKey() }, body }));

/** What every decision sends: a key under which a repeat of it is harmless, and the version of the
 * model that was seen, so that it is refused where keys of the publishers changed since. */
export type Decided = { once: string; note: string; model_version: number };

/** Members in the catalogue get the key: those without one, or with `replace` all of them. */
export const acceptSuggestion = (
  id: string,
  { once, ...body }: Decided & { name: string; replace: boolean },
): Promise<Suggestion> =>
  take(
    client.POST("/api/v1/correlation-suggestions/{id}/accept", {
      params: { path: { id }, header: { "Idempotency-Key": once } },
      body,
    }),
  );

export const rejectSuggestion = (id: string, { once, ...body }: Decided): Promise<Suggestion> =>
  take(
    client.POST("/api/v1/correlation-suggestions/{id}/reject", {
      params: { path: { id }, header: { "Idempotency-Key": once } },
      body,
    }),
  );

/** Takes an acceptance back, or opens what was rejected. */
export const undoSuggestion = (id: string, { once, ...body }: Decided): Promise<Suggestion> =>
  take(
    client.POST("/api/v1/correlation-suggestions/{id}/undo", {
      params: { path: { id }, header: { "Idempotency-Key": once } },
      body,
    }),
  );
