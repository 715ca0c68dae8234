/** A plan that moves links, as its drawings take it: the timeline, and what is known of the goal. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { movesOf, stepsDone } from "./step-view";
import type { PlanMap } from "./use-plan-map";

import { CANDIDATE, candidateQuery, trafficQuery, type CandidateDetail, type SystemTraffic } from "@/api/overlays";
import type { Execution, PlanDetail } from "@/api/plans";
import { pairOf } from "@/components/map/candidate-timeline";
import { startOf, timelineOf, type Timeline } from "@/components/map/timeline";

export type PlanTree = {
  timeline: Timeline;
  /** Steps that stand already. */
  done: number;
  candidate: CandidateDetail | undefined;
  traffic: SystemTraffic | undefined;
};

export function useTree(plan: PlanDetail, map: PlanMap, execution: Execution | undefined): PlanTree {
  const source = plan.source.kind === CANDIDATE ? plan.source.id : null;
  const candidate = useQuery({ ...candidateQuery(source ?? ""), enabled: source !== null });
  const moves = plan.kind === "overlay" || source !== null;
  // What travels decides how wide links are drawn; a plan needs it once, not every few seconds.
  const traffic = useQuery({ ...trafficQuery(plan.system), enabled: moves, refetchInterval: false });
  const done = stepsDone(plan, execution);
  const steps = useMemo(() => movesOf(plan), [plan]);
  // Where it began is known of a candidate; else it is the tree of now with the done steps taken back.
  const from = candidate.data?.edges_before;
  const timeline = useMemo(
    () => timelineOf(from ? from.map(pairOf) : startOf(map.tree, steps, done), steps),
    [from, map.tree, steps, done],
  );
  return { timeline, done, candidate: candidate.data, traffic: traffic.data };
}
