/** The kernel's drawing of a utility function while it is edited: curve, kinks, faults. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import type { XY } from "./points";

import { client, take, type Schemas } from "@/api/client";
import { keys } from "@/api/query-keys";

export type Drawn = Schemas["DrawnCurve"];

const SAMPLES = 161;

/** `parameters` null: what is typed is no set of numbers yet, so nothing is asked. */
export function useDrawn(
  kind: string,
  parameters: Record<string, unknown> | null,
  rateMax: number | null,
) {
  return useQuery({
    queryKey: [...keys.utilityKinds, "drawn", kind, parameters, rateMax],
    enabled: kind !== "" && parameters !== null,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
    queryFn: ({ signal }) =>
      take(
        client.POST("/api/v1/utility-curves", {
          body: {
            kind,
            parameters: parameters ?? {},
            rate_min: 0,
            rate_max: rateMax,
            samples: SAMPLES,
          },
          signal,
        }),
      ),
  });
}

export const curveOf = (drawn: Drawn | undefined): XY[] =>
  (drawn?.points ?? []).map((point) => [point.rate_per_s, point.utility]);

/** Marginal utility; where it is infinite (a power at rate 0) the line begins later. */
export const marginalOf = (drawn: Drawn | undefined): XY[] =>
  (drawn?.points ?? []).flatMap((point) =>
    point.marginal_utility === null ? [] : [[point.rate_per_s, point.marginal_utility] as const],
  );

/** "parameters.points[2][1]" -> 2. */
export function pointOf(field: string): number | null {
  const found = /\.points\[(\d+)\]/.exec(field);
  return found?.[1] === undefined ? null : Number(found[1]);
}
