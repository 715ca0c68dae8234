/** A plan that moves links, as its drawings take it: the timeline, and what is known of the goal. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { movesOf, stepsDone } from "./step-view";
import type { PlanMap } from "./use-plan-map";

import { CANDIDATE, candidateQuery, type CandidateDetail } from "@/api/evaluations";
import { trafficQuery, type SystemTraffic } from "@/api/in-force";
import { MOVING, type Execution, type PlanDetail } from "@/api/plans";
import { pairOf, tellsOf } from "@/components/map/candidate-timeline";
import { startOf, timelineOf, type Timeline } from "@/components/map/timeline";

export type PlanTree = {
  timeline: Timeline;
  /** Steps that stand already. */
  done: number;
  candidate: CandidateDetail | undefined;
  /** The candidate, where what it tells of its steps is about these. */
  told: CandidateDetail | undefined;
  traffic: SystemTraffic | undefined;
};

/** While links move, means over so long, asked for so often. */
const WINDOW_S = 10;
const LOOK_MS = 5000;

export function useTree(
  plan: PlanDetail,
  map: PlanMap,
  execution: Execution | undefined,
): PlanTree {
  const source = plan.source.kind === CANDIDATE ? plan.source.id : null;
  const candidate = useQuery({ ...candidateQuery(source ?? ""), enabled: source !== null });
  const moves = plan.kind === "overlay" || source !== null;
  // A plan needs what travels once; while it is carried out the picture shows what is measured.
  const running = execution !== undefined && MOVING.includes(execution.state);
  const traffic = useQuery({
    ...trafficQuery(plan.system, running ? WINDOW_S : undefined),
    enabled: moves,
    refetchInterval: running ? LOOK_MS : false,
    placeholderData: keepPreviousData,
  });
  const done = stepsDone(plan, execution);
  const steps = useMemo(() => movesOf(plan), [plan]);
  // Where it began is known of a candidate; else it is the tree of now with the done steps taken back.
  const from = candidate.data?.edges_before;
  const timeline = useMemo(
    () => timelineOf(from ? from.map(pairOf) : startOf(map.tree, steps, done), steps),
    [from, map.tree, steps, done],
  );
  const told = useMemo(
    () => (candidate.data && tellsOf(candidate.data, timeline) ? candidate.data : undefined),
    [candidate.data, timeline],
  );
  return useMemo(
    () => ({ timeline, done, candidate: candidate.data, told, traffic: traffic.data }),
    [timeline, done, candidate.data, told, traffic.data],
  );
}
