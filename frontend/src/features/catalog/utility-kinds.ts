/** The kinds of utility function and their curves, as the kernel computes them. */
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";

import { client, take, type Schemas } from "@/api/client";
import { keys } from "@/api/query-keys";

export type UtilityKind = Schemas["UtilityKind"];
export type Curve = Schemas["UtilityCurve"];

export const utilityKindsQuery = queryOptions({
  queryKey: keys.utilityKinds,
  queryFn: ({ signal }) => take(client.GET("/api/v1/utility-kinds", { signal })),
  staleTime: 5 * 60_000,
});

export function useCurve(
  kind: string,
  parameters: Record<string, unknown> | null,
  rates: readonly number[],
) {
  return useQuery({
    queryKey: [...keys.utilityKinds, "curve", kind, parameters, rates.at(-1), rates.length],
    enabled: kind !== "" && parameters !== null,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
    queryFn: ({ signal }) =>
      take(
        client.POST("/api/v1/utility-kinds/curve", {
          body: { kind, parameters: parameters ?? {}, rates: [...rates] },
          signal,
        }),
      ),
  });
}

/** Evenly spread rates from 0 to the highest, with the knots of a line of points among them. */
export function ratesUpTo(highest: number, knots: readonly number[] = [], steps = 96): number[] {
  const even = Array.from({ length: steps + 1 }, (_, i) => (highest * i) / steps);
  const inside = knots.filter((rate) => rate > 0 && rate < highest);
  return [...new Set([...even, ...inside])].sort((a, b) => a - b);
}
