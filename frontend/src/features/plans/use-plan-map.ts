/** Everything the map of a plan draws: brokers, the tree in force, and the loads of the proposal. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Kept } from "./change-rows";
import { hasTree, touchesBrokers, type Problem, type Proposal } from "./step-view";

import { populationsQuery, ratesQuery } from "@/api/allocations";
import { catalogAll, type CatalogTypes } from "@/api/catalog";
import { client, take } from "@/api/client";
import { planLevelsQuery, type PlanDetail, type PlanLevels } from "@/api/plans";
import { keys } from "@/api/query-keys";
import type { Edge } from "@/components/map/timeline";

export type PlanMap = {
  brokers: CatalogTypes["brokers"][] | undefined;
  /** The tree in force; every link where no overlay is in force. */
  tree: Edge[];
  proposal: Proposal | null;
  problem: Problem | null;
  links: CatalogTypes["links"][];
  /** The levels where no proposal gives them, such as those of a plan of the model as it is. */
  levels: PlanLevels | undefined;
  error: unknown;
  retry: () => void;
};

const NO_LINKS: CatalogTypes["links"][] = [];

const isProblem = (given: unknown): given is Problem =>
  typeof given === "object" && given !== null && "nodes" in given && "classes" in given;

export function usePlanMap(plan: PlanDetail): PlanMap {
  const scope = { system: plan.system };
  const brokers = useQuery({
    queryKey: keys.catalog.whole("brokers", scope),
    queryFn: ({ signal }) => catalogAll("brokers", scope, signal),
  });
  const links = useQuery({
    queryKey: keys.catalog.whole("links", scope),
    queryFn: ({ signal }) => catalogAll("links", scope, signal),
  });
  const inForce = { ...scope, in_force: true };
  const overlays = useQuery({
    queryKey: keys.catalog.whole("overlays", inForce),
    queryFn: ({ signal }) => catalogAll("overlays", inForce, signal),
  });
  const allocation = plan.source.kind === "allocation" ? plan.source.id : null;
  const known = { enabled: allocation !== null };
  const rates = useQuery({ ...ratesQuery(allocation ?? ""), ...known });
  const populations = useQuery({ ...populationsQuery(allocation ?? ""), ...known });
  const run = plan.run ?? "";
  const snapshot = useQuery({
    queryKey: [...keys.runs.one(run), "snapshot"],
    enabled: allocation !== null && plan.run !== null,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      take(client.GET("/api/v1/runs/{id}/snapshot", { params: { path: { id: run } }, signal })),
  });
  const levels = useQuery({
    ...planLevelsQuery(plan.id),
    enabled: touchesBrokers(plan) && !hasTree(plan),
  });
  const proposal = useMemo(
    (): Proposal | null =>
      rates.data && populations.data
        ? {
            rates: new Map(rates.data.rows.map((row) => [row.flow, row.rate_per_s])),
            populations: new Map(
              populations.data.rows.map((row) => [row.consumer_class, row.admitted]),
            ),
          }
        : null,
    [rates.data, populations.data],
  );
  const overlay = overlays.data?.[0];
  const tree = useMemo(
    (): Edge[] =>
      overlay
        ? overlay.edges.map((edge) => ({ a: edge.a_name, b: edge.b_name }))
        : (links.data ?? []).map((link) => ({
            a: link.source_name,
            b: link.target_name,
          })),
    [overlay, links.data],
  );
  const problem = isProblem(snapshot.data) ? snapshot.data : null;
  const error = brokers.error ?? links.error ?? overlays.error;
  const { refetch: brokersAgain } = brokers;
  const { refetch: linksAgain } = links;
  const { refetch: overlaysAgain } = overlays;
  // The same map until one of its parts is another: panels are drawn again for a new one.
  return useMemo(
    () => ({
      brokers: brokers.data,
      tree,
      proposal,
      problem,
      links: links.data ?? NO_LINKS,
      levels: levels.data,
      error,
      retry: () => {
        void brokersAgain();
        void linksAgain();
        void overlaysAgain();
      },
    }),
    [
      brokers.data,
      links.data,
      levels.data,
      tree,
      proposal,
      problem,
      error,
      brokersAgain,
      linksAgain,
      overlaysAgain,
    ],
  );
}

/** The settings of the proposal that are in force already: the other half of "everything". */
export function keptOf(plan: PlanDetail, proposal: Proposal | null): Kept[] {
  if (!proposal) return [];
  const touched = (kind: string, member: string) =>
    new Set(
      plan.steps.flatMap((step) =>
        step.actions
          .filter((action) => action.kind === kind)
          .map((action) => action.target[member]),
      ),
    );
  const flows = touched("set_flow_rate", "flow");
  const classes = touched("set_population", "class");
  return [
    ...[...proposal.rates]
      .filter(([flow]) => !flows.has(flow))
      .map(([flow, rate]) => ({ kind: "set_flow_rate", label: flow, unit: "msg/s", value: rate })),
    ...[...proposal.populations]
      .filter(([name]) => !classes.has(name))
      .map(([name, admitted]) => ({
        kind: "set_population",
        label: name,
        unit: "consumers",
        value: admitted,
      })),
  ];
}
