/** Computing again by itself: schedules, triggers, and every time one of them fired. */
import { queryOptions } from "@tanstack/react-query";

import { client, idempotencyKey, ifMatch, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Schedule = Schemas["Schedule"];
export type Trigger = Schemas["Trigger"];
export type Firing = Schemas["Firing"];
export type Then = Schemas["ThenEnum"];
export type Subject = Schemas["SubjectEnum"];
export type TriggerKind = Schemas["TriggerKindEnum"];

const MOST = 100;
/** Triggers look again every few seconds; nobody tells what they saw. */
const LOOK_MS = 5_000;

export const schedulesQuery = (system: string) =>
  queryOptions({
    queryKey: keys.recomputation.schedules(system),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/recomputation/schedules", {
          params: { query: { system, page_size: MOST } },
          signal,
        }),
      ),
    refetchInterval: LOOK_MS * 2,
  });

export const triggersQuery = (system: string) =>
  queryOptions({
    queryKey: keys.recomputation.triggers(system),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/recomputation/triggers", {
          params: { query: { system, page_size: MOST } },
          signal,
        }),
      ),
    refetchInterval: LOOK_MS,
  });

export const firingsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.recomputation.firings(system),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/recomputation/firings", {
          params: { query: { system, page_size: 30 } },
          signal,
        }),
      ),
  });

export type Timing = { every_s: number | null; cron: string; timezone: string };

/** The reading of a schedule that nobody has saved yet, and its next five times. */
export const previewQuery = (timing: Timing) =>
  queryOptions({
    queryKey: keys.recomputation.preview(timing),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/recomputation/preview", {
          params: {
            query: {
              cron: timing.cron,
              timezone: timing.timezone,
              ...(timing.every_s === null ? {} : { every_s: timing.every_s }),
            },
          },
          signal,
        }),
      ),
    retry: false,
    staleTime: 30_000,
  });

export type ScheduleBody = Schemas["PatchedScheduleRequest"];
export type TriggerBody = Schemas["PatchedTriggerRequest"];

export const scheduleSave = (system: string, row: Schedule | null, body: ScheduleBody) =>
  row === null
    ? take(
        client.POST("/api/v1/recomputation/schedules", {
          params: { header: idempotencyKey() },
          body: { ...body, system, name: body.name ?? "" },
        }),
      )
    : take(
        client.PATCH("/api/v1/recomputation/schedules/{id}", {
          params: { path: { id: row.id }, header: ifMatch(row.version) },
          body,
        }),
      );

export const triggerSave = (
  system: string,
  row: Trigger | null,
  body: TriggerBody & { kind: TriggerKind },
) =>
  row === null
    ? take(
        client.POST("/api/v1/recomputation/triggers", {
          params: { header: idempotencyKey() },
          body: { ...body, system, name: body.name ?? "" },
        }),
      )
    : take(
        client.PATCH("/api/v1/recomputation/triggers/{id}", {
          params: { path: { id: row.id }, header: ifMatch(row.version) },
          body,
        }),
      );

export const scheduleDelete = (row: Schedule, reason: string) =>
  take(
    client.DELETE("/api/v1/recomputation/schedules/{id}", {
      params: { path: { id: row.id }, header: ifMatch(row.version), query: { reason } },
    }),
  );

export const triggerDelete = (row: Trigger, reason: string) =>
  take(
    client.DELETE("/api/v1/recomputation/triggers/{id}", {
      params: { path: { id: row.id }, header: ifMatch(row.version), query: { reason } },
    }),
  );

export const scheduleRun = (row: Schedule) =>
  take(
    client.POST("/api/v1/recomputation/schedules/{id}/run", {
      params: { path: { id: row.id }, header: idempotencyKey() },
    }),
  );
