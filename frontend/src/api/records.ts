/** Records that arrive in batches: how many, what was set aside of them, and how they are kept. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, ifMatch, take, type Page, type Schemas } from "./client";
import { keys } from "./query-keys";

export type RecordTable = Schemas["RecordTableEnum"];
export type RecordCounts = Schemas["RecordCounts"];
export type TableCounts = Schemas["TableCounts"];
export type ProblemCounts = Schemas["ProblemCounts"];
export type RecordBatch = Schemas["RecordBatch"];
export type SetAside = Schemas["SetAside"];
export type Replayed = Schemas["Replayed"];
export type RecordSettings = Schemas["RecordSettings"];

const ROWS = 20;

export const recordCountsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.records.counts(system),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/record-counts", { params: { query: { system } }, signal })),
  });

type BatchesAsked = {
  table?: RecordTable;
  /** Only those of which rows wait. */
  waiting?: true;
  ordering?: string;
  cursor?: string;
};

export const recordBatchesQuery = (system: string, asked: BatchesAsked) =>
  queryOptions({
    queryKey: keys.records.batches(system, asked),
    queryFn: ({ signal }): Promise<Page<RecordBatch>> =>
      take(
        client.GET("/api/v1/record-batches", {
          params: { query: { system, ...asked, page_size: ROWS } },
          signal,
        }),
      ),
  });

type WaitingAsked = { table: RecordTable; problem: string; cursor?: string };

/** The rows that wait with one problem. */
export const waitingRowsQuery = (system: string, asked: WaitingAsked) =>
  queryOptions({
    queryKey: keys.records.setAside(system, asked),
    queryFn: ({ signal }): Promise<Page<SetAside>> =>
      take(
        client.GET("/api/v1/set-aside-records", {
          params: { query: { system, ...asked, state: "waiting", page_size: ROWS } },
          signal,
        }),
      ),
  });

export const setAsideReplay = (body: Schemas["ReplayRequest"]) =>
  take(
    client.POST("/api/v1/set-aside-records/replay", {
      params: { header: idempotencyKey() },
      body,
    }),
  );

export const setAsideDiscard = (body: Schemas["ChoiceRequest"]) =>
  take(
    client.POST("/api/v1/set-aside-records/discard", {
      params: { header: idempotencyKey() },
      body,
    }),
  );

export const recordSettingsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.records.settings(system),
    queryFn: async ({ signal }): Promise<RecordSettings> => {
      const page = await take(
        client.GET("/api/v1/record-settings", { params: { query: { system } }, signal }),
      );
      const [row] = page.results;
      if (row === undefined) throw new Error("The server gave no settings.");
      return row;
    },
  });

export const recordSettingsUpdate = (
  { id, version }: RecordSettings,
  body: Schemas["PatchedRecordSettingsRequest"],
) =>
  take(
    client.PATCH("/api/v1/record-settings/{id}", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );
