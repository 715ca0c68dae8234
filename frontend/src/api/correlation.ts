/** Publishers that burst together: analyses, what they suggest, and what becomes of a suggestion. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, take, type Page, type Schemas } from "./client";
import type { ListQuery } from "./catalog";
import { keys } from "./query-keys";

export type Source = "measured" | "recording";

export type AnalysisRequest = {
  system: string;
  topic: string;
  source: Source;
  /** How far back what agents reported is taken; a recording is taken as a whole. */
  minutes: number;
  recording: string;
  within_s: number;
  least_share: number;
  smallest_group: number;
  note: string;
};

export type Analysis = {
  id: string;
  name: string;
  number: number;
  system: string;
  system_name: string;
  /** Null where it was deleted since. */
  topic: string | null;
  topic_name: string;
  source: Source;
  recording: string;
  since: string | null;
  until: string | null;
  within_s: number;
  publishers: number;
  judged: number;
  periodic: number;
  groups: number;
  note: string;
  run: string;
  run_number: number;
  asked_by: string | null;
  asked_by_id: string | null;
  created_at: string;
  allowed_commands: ("cancel" | "rerun")[];
};

/** Publishers of one period, and how many of them are in a group that shares its phase. */
export type Period = { period_s: number; publishers: number; grouped: number };

/** The answer without its groups. */
export type AnalysisOutcome = {
  format: number;
  topic: string;
  method: string;
  search: {
    within_s: number;
    least_share: number;
    smallest_group: number;
    false_groups: number;
  };
  since_s: number;
  until_s: number;
  messages: number;
  publishers: number;
  judged: number;
  too_few: number;
  periodic: number;
  untimed: number;
  periods: Period[];
};

export type SuggestionState = "open" | "accepted" | "rejected";

export type AnalysisDetail = Analysis & {
  snapshot_hash: string;
  model_version: number;
  parameters: Record<string, unknown>;
  outcome: AnalysisOutcome;
  /** Suggestions by state. */
  open: number;
  accepted: number;
  rejected: number;
};

/** A stretch of the window: the leader first, times in Unix seconds. */
export type Example = {
  since_s: number;
  until_s: number;
  rows: { publisher: string; at_s: number[] }[];
};

export type Suggestion = {
  id: string;
  number: number;
  kind: "event" | "period";
  size: number;
  /** Of the moments of members: those together with the leader's, on average over members. */
  share: number;
  by_chance: number;
  /** Median distance of a member's moment from the leader's. */
  spread_s: number;
  bursts: number;
  period_s: number | null;
  phase_s: number | null;
  rate_per_s: number;
  example: Example;
  state: SuggestionState;
  decided_at: string | null;
  decided_by: string | null;
  note: string;
  /** The key that an acceptance gave. */
  key_name: string;
  /** What the last decision changed, in a sentence; empty before the first. */
  effect: string;
  /** The name that a new key would have. */
  name: string;
  in_catalogue: number;
  keys_now: { name: string; publishers: number }[];
  without_key: number;
  /** The key that all members in the catalogue carry already; else empty. */
  same_as_key: string;
  rejected_before: {
    id: string;
    analysis: string;
    analysis_id: string;
    at: string;
    by?: string | null;
    note: string;
  } | null;
  allowed_commands: ("accept" | "reject" | "undo")[];
};

export type Member = { publisher: string; id: string | null; correlation_key: string };

export type Recording = { name: string; bytes: number; modified_at: string };

/** What agents reported of a topic's publishers in the last half hour. */
export type PublisherTimes = {
  publishers: number;
  heard: number;
  timed: number;
  since: string | null;
  until: string | null;
  messages: number;
};

// The schema does not name these paths yet: paths of the same parameters stand for them.
const listPath = (path: string) => path as "/api/v1/placements";
const onePath = (path: string) => path as "/api/v1/topics/{id}";
const pagedBelow = (path: string) => path as "/api/v1/placements/{placement_id}/moves";
const commandPath = (path: string) => path as "/api/v1/topics/{id}/adaptation/stop";

const filled = (query: ListQuery) =>
  Object.fromEntries(
    Object.entries(query).filter(([, value]) => value !== "" && value !== undefined),
  );

async function listOf<Row>(path: string, query: ListQuery, signal: AbortSignal) {
  const page = await take(client.GET(listPath(path), { params: { query: filled(query) }, signal }));
  return page as unknown as Page<Row>;
}

async function oneOf<Of>(path: string, id: string, signal: AbortSignal) {
  const one = await take(client.GET(onePath(path), { params: { path: { id } }, signal }));
  return one as unknown as Of;
}

async function rowsBelow<Row>(path: string, id: string, query: ListQuery, signal: AbortSignal) {
  const page = await take(
    client.GET(pagedBelow(path), {
      params: { path: { id } as never, query: filled(query) },
      signal,
    }),
  );
  return page as unknown as Page<Row>;
}

async function command(path: string, id: string, body: object): Promise<Suggestion> {
  const decided = await take(
    client.POST(commandPath(path), { params: { path: { id } }, body: body as never }),
  );
  return decided as unknown as Suggestion;
}

const ANALYSES = "/api/v1/correlation-analyses";
const SUGGESTION = "/api/v1/correlation-suggestions/{id}";

export const analysesQuery = (query: ListQuery) =>
  queryOptions({
    queryKey: keys.correlation.list(query),
    queryFn: ({ signal }) => listOf<Analysis>(ANALYSES, query, signal),
  });

export const analysisQuery = (id: string) =>
  queryOptions({
    queryKey: keys.correlation.one(id),
    queryFn: ({ signal }) => oneOf<AnalysisDetail>(`${ANALYSES}/{id}`, id, signal),
  });

export const suggestionsQuery = (analysis: string, query: ListQuery) =>
  queryOptions({
    queryKey: keys.correlation.suggestions(analysis, query),
    queryFn: ({ signal }) =>
      rowsBelow<Suggestion>(`${ANALYSES}/{id}/suggestions`, analysis, query, signal),
  });

export const membersQuery = (suggestion: string, query: ListQuery) =>
  queryOptions({
    queryKey: keys.correlation.members(suggestion, query),
    queryFn: ({ signal }) => rowsBelow<Member>(`${SUGGESTION}/members`, suggestion, query, signal),
  });

export const recordingsQuery = queryOptions({
  queryKey: keys.recordings,
  queryFn: async ({ signal }): Promise<readonly Recording[]> =>
    (await listOf<Recording>("/api/v1/recordings", {}, signal)).results,
});

export const publisherTimesQuery = (topic: string) =>
  queryOptions({
    queryKey: keys.publisherTimes(topic),
    queryFn: ({ signal }) =>
      oneOf<PublisherTimes>("/api/v1/topics/{id}/publisher-times", topic, signal),
  });

/** A run that looks for publishers of the topic that burst together. */
export const analyse = (body: AnalysisRequest): Promise<Schemas["Run"]> =>
  take(
    client.POST(listPath(ANALYSES), {
      params: { header: idempotencyKey() },
      body: body as never,
    }),
  );

/** Members in the catalogue get the key: those without one, or with `replace` all of them. */
export const acceptSuggestion = (
  id: string,
  body: { name: string; replace: boolean; note: string },
) => command(`${SUGGESTION}/accept`, id, body);

export const rejectSuggestion = (id: string, note: string) =>
  command(`${SUGGESTION}/reject`, id, { note });

/** Takes an acceptance back, or opens what was rejected. */
export const undoSuggestion = (id: string, note: string) =>
  command(`${SUGGESTION}/undo`, id, { note });
