/** Resource models: fits of telemetry, decisions on them, and what corrects the model meanwhile. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { client, ifMatch, take, type Schemas } from "./client";
import { keys } from "./query-keys";

export type Fit = Schemas["Fit"];
export type FitDetail = Schemas["FitDetail"];
export type FitCase = FitDetail["cases"][number];
export type Coefficient = FitCase["coefficients"][number];
export type FitAdvice = FitCase["advice"][number];
export type CalibrationState = Schemas["CalibrationState"];
export type Correction = CalibrationState["corrections"][number];
export type LatencyBound = CalibrationState["latency_bounds"][number];
export type CalibrationSettings = Schemas["CalibrationSettings"];

export const fitsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.calibration.fits(system),
    queryFn: ({ signal }) =>
      take(
        client.GET("/api/v1/calibrations", {
          params: { query: { system, page_size: 20 } },
          signal,
        }),
      ),
  });

export const fitQuery = (system: string, id: string) =>
  queryOptions({
    queryKey: keys.calibration.fit(system, id),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/calibrations/{id}", { params: { path: { id } }, signal })),
  });

export const calibrationStateQuery = (system: string) =>
  queryOptions({
    queryKey: keys.calibration.state(system),
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/calibration-state", { params: { query: { system } }, signal })),
    // News come while agents report; when they fall silent, staleness must show all the same.
    refetchInterval: 15_000,
  });

export const calibrationSettingsQuery = (system: string) =>
  queryOptions({
    queryKey: keys.calibration.settings(system),
    queryFn: async ({ signal }): Promise<CalibrationSettings> => {
      const page = await take(
        client.GET("/api/v1/calibration-settings", { params: { query: { system } }, signal }),
      );
      const [row] = page.results;
      if (row === undefined) throw new Error("The server gave no settings.");
      return row;
    },
  });

export const calibrationSettingsUpdate = (
  id: string,
  version: number,
  body: Schemas["PatchedCalibrationSettingsRequest"],
) =>
  take(
    client.PATCH("/api/v1/calibration-settings/{id}", {
      params: { path: { id }, header: ifMatch(version) },
      body,
    }),
  );

export const fitRequest = (system: string, minutes: number) =>
  take(
    client.POST("/api/v1/calibrations", {
      body: { system, minutes },
      params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    }),
  );

/** Apply, undo or discard; whatever the model holds is asked for again afterwards. */
export function useFitDecision(fit: Pick<FitDetail, "id" | "version" | "system">) {
  const queries = useQueryClient();
  const params = { path: { id: fit.id }, header: ifMatch(fit.version) };
  const done = async () => {
    await queries.invalidateQueries({ queryKey: keys.calibration.system(fit.system) });
    void queries.invalidateQueries({ queryKey: keys.catalog.all });
  };
  return {
    apply: useMutation({
      mutationFn: (body: { coefficients: string[]; reason: string }) =>
        take(client.POST("/api/v1/calibrations/{id}/apply", { params, body })),
      onSuccess: done,
    }),
    undo: useMutation({
      mutationFn: (reason: string) =>
        take(client.POST("/api/v1/calibrations/{id}/undo", { params, body: { reason } })),
      onSuccess: done,
    }),
    discard: useMutation({
      mutationFn: (reason: string) =>
        take(client.POST("/api/v1/calibrations/{id}/discard", { params, body: { reason } })),
      onSuccess: done,
    }),
  };
}
