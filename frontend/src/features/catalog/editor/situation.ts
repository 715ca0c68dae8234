/** Where a utility function is used, and what the last allocation made of it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import {
  allocationsQuery,
  loadsQuery,
  populationsQuery,
  ratesQuery,
  type Allocation,
  type ClassPopulation,
  type FlowRate,
} from "@/api/allocations";
import { catalogAll, type CatalogTypes } from "@/api/catalog";
import { keys } from "@/api/query-keys";

export type UsingClass = CatalogTypes["consumer-classes"];

/** One flow whose consumers use the function, as the last allocation left it. */
export type FlowSituation = {
  flow: string;
  rate: number;
  rateMin: number;
  rateMax: number;
  admitted: number;
  /** What one more msg/s costs one consumer: the mean over those admitted, else over those wanted. */
  price: number;
  nodes: string[];
};

export function situationsOf(
  classes: readonly UsingClass[],
  populations: readonly ClassPopulation[],
  rates: readonly FlowRate[],
): FlowSituation[] {
  const using = new Set(classes.map((row) => row.name));
  const byFlow = new Map<string, ClassPopulation[]>();
  for (const row of populations) {
    if (using.has(row.consumer_class)) {
      byFlow.set(row.flow, [...(byFlow.get(row.flow) ?? []), row]);
    }
  }
  return rates.flatMap((rate) => {
    const rows = byFlow.get(rate.flow);
    if (!rows || rate.rate_per_s <= 0) return [];
    const sum = (value: (row: ClassPopulation) => number) =>
      rows.reduce((total, row) => total + value(row), 0);
    const admitted = sum((row) => row.admitted);
    const weight = (row: ClassPopulation) => (admitted > 0 ? row.admitted : row.wanted);
    const heads = sum(weight);
    const dear = sum((row) => (row.price_of_one / rate.rate_per_s) * weight(row));
    const counted = rows.filter((row) => weight(row) > 0);
    return [
      {
        flow: rate.flow,
        rate: rate.rate_per_s,
        rateMin: rate.rate_min_per_s,
        rateMax: rate.rate_max_per_s,
        admitted,
        price: heads > 0 ? dear / heads : 0,
        nodes: [...new Set(counted.map((row) => row.node))].sort(),
      },
    ];
  });
}

export function useSituation(system: string, utility: string) {
  const users = { system, utility };
  const classes = useQuery({
    queryKey: keys.catalog.whole("consumer-classes", users),
    queryFn: ({ signal }) => catalogAll("consumer-classes", users, signal),
  });
  const last = useQuery(allocationsQuery({ system, ordering: "-number", page_size: 1 }));
  const allocation: Allocation | null = last.data?.results[0] ?? null;
  const id = allocation?.id ?? "";
  const on = { enabled: allocation !== null };
  const rates = useQuery({ ...ratesQuery(id), ...on });
  const populations = useQuery({ ...populationsQuery(id), ...on });
  const loads = useQuery({ ...loadsQuery(id), ...on });
  const flows = useMemo(
    () =>
      situationsOf(classes.data ?? [], populations.data?.rows ?? [], rates.data?.rows ?? []).sort(
        (a, b) => b.admitted - a.admitted || a.flow.localeCompare(b.flow, "en", { numeric: true }),
      ),
    [classes.data, populations.data, rates.data],
  );
  return { classes, allocation, flows, loads: loads.data?.rows ?? [] };
}
