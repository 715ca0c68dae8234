/** The course of every method's answer on one snapshot, as soon as there are two to compare. */
import { useQueries, useQuery } from "@tanstack/react-query";

import { MethodsChart } from "./methods-chart";

import { allocationQuery, methodsQuery, type Allocation } from "@/api/allocations";

export function MethodsOverTime({ allocation }: { allocation: Allocation }) {
  const methods = useQuery(methodsQuery(allocation.id));
  const found = (methods.data?.standings ?? []).flatMap((row) => row.allocation ?? []);
  const details = useQueries({
    queries: found.length > 1 ? found.map((row) => allocationQuery(row.id)) : [],
  });
  const known = details.flatMap((one) => one.data ?? []);
  const timed = known.filter((one) => one.moments.length > 0);
  if (timed.length < 2 || known.length < found.length) return null;
  return <MethodsChart allocations={timed} />;
}
