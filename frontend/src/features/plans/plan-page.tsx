/** One plan: what it changes and why, the decision about it, and being carried out. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useParams } from "react-router";

import { AgentsPanel } from "./agents-panel";
import { ExecutionBanner, PlanBanner } from "./banners";
import { BoundPanel } from "./bound-panel";
import { ChangePanel } from "./change-panel";
import { ChangeTicket } from "./change-ticket";
import { ChangesPanel } from "./changes-panel";
import { BlastRadiusPanel, ChecksPanel, type DryRun } from "./checks-panel";
import { DecisionPanel } from "./decision-panel";
import { ExecutionCommands } from "./execution-commands";
import { ExecutionSteps } from "./execution-steps";
import { HistoryPanel } from "./history-panel";
import { HurtPanel } from "./hurt-panel";
import { PlanLifecycle } from "./lifecycle";
import { LeftOutPanel } from "./left-out-panel";
import { MapPanel } from "./map-panel";
import { promisedOf } from "./measured";
import { MeasuredLinks } from "./measured-links";
import { MeasuredPanel } from "./measured-panel";
import { currentStep, headwayOf, pauseLeft, promisedPause, secondsLeft } from "./phases";
import { ExportMenu, PlanCommands } from "./plan-commands";
import { factsOf } from "./plan-facts";
import { OutcomePanel } from "./outcome-panel";
import { PlanAgain } from "./plan-again";
import { RollBackCommand } from "./roll-back-command";
import { hasTree, touchesBrokers } from "./step-view";
import { StepsPanel } from "./steps-panel";
import { TreeChanges } from "./tree-changes";
import { TreePanels } from "./tree-panel";
import { PromiseStrip, WhyPanel } from "./summary";
import { stateShown } from "./words";
import { keptOf, usePlanMap } from "./use-plan-map";
import { useTree } from "./use-tree";

import { useLive } from "@/api/live";
import {
  executionQuery,
  MOVING,
  planQuery,
  useDryRun,
  type Execution,
  type PlanDetail,
} from "@/api/plans";
import { PageHead } from "@/components/ui/page";
import { Panel, QueryBody } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { tellFailure } from "@/components/ui/toast";
import { useNow } from "@/lib/clock";
import { useCurrentSystemIs } from "@/lib/current-system";
import { to } from "@/lib/kinds";
import { durationText, fixed } from "@/lib/numbers";

/** News arrive by themselves; while the stream is away a moving plan is asked about. */
function useFallback(moving: boolean): number | false {
  const status = useLive((all) => all.status);
  return moving && status !== "live" ? 5000 : false;
}

export default function PlanPage() {
  const { id = "" } = useParams();
  const fallback = useFallback(true);
  const plan = useQuery({
    ...planQuery(id),
    refetchInterval: (query) => (query.state.data?.state === "executing" ? fallback : false),
  });
  if (plan.data) return <PlanView key={id} plan={plan.data} />;
  return (
    <>
      <PageHead title="Plan" crumbs={[{ label: "Plans", to: to.plans }]} />
      <div className="main">
        <section className="panel">
          <QueryBody query={plan} what="This plan" rows={8}>
            {() => null}
          </QueryBody>
        </section>
      </div>
    </>
  );
}

function useExecution(plan: PlanDetail) {
  const fallback = useFallback(plan.state === "executing");
  return useQuery({
    ...executionQuery(plan.execution?.id ?? ""),
    enabled: plan.execution !== null,
    refetchInterval: (query) =>
      query.state.data && MOVING.includes(query.state.data.state) ? fallback : false,
  });
}

/** Nobody knows the tenths of what is to come. */
function wholeText(seconds: number): string {
  if (seconds < 60) return `${fixed(seconds)} s`;
  const { text, unit } = durationText(seconds);
  return `${text} ${unit}`;
}

function Progress({ execution }: { execution: Execution }) {
  const now = useNow(execution.state === "running");
  if (!MOVING.includes(execution.state)) return null;
  const here = currentStep(execution);
  if (!here) return null;
  const steps = execution.steps.filter((step) => step.direction === here.step.direction).length;
  const left = secondsLeft(execution, now);
  const pause = Math.round(pauseLeft(execution, now));
  return (
    <span className="muted">
      {here.name.toLowerCase()} of {steps}
      {pause > 0 ? ` begins in ${wholeText(pause)}` : ""}
      {left === null ? "" : `, about ${wholeText(Math.max(1, Math.round(left)))} left`}
    </span>
  );
}

function PlanView({ plan }: { plan: PlanDetail }) {
  useCurrentSystemIs(plan.system);
  const query = useExecution(plan);
  const execution = query.data;
  const map = usePlanMap(plan);
  const moves = hasTree(plan);
  const tree = useTree(plan, map, execution);
  const dry = useDryRun(plan.id);
  const [dryRun, setDryRun] = useState<DryRun | null>(null);
  const runDry = () =>
    dry.mutate(undefined, {
      onSuccess: setDryRun,
      onError: (error) => tellFailure("No dry run", error),
    });
  const brokers = useMemo(
    () => new Map((map.brokers ?? []).map((broker) => [broker.name, broker.id])),
    [map.brokers],
  );
  const carried = plan.execution !== null;
  const touches = touchesBrokers(plan);
  return (
    <>
      <PageHead
        title={`${plan.name} ${plan.title}`}
        crumb={plan.name}
        crumbs={[{ label: "Plans", to: to.plans }]}
        state={
          <>
            <StateBadge state={stateShown(plan, execution)} large />
            {execution ? <Progress execution={execution} /> : null}
          </>
        }
        facts={factsOf(plan, execution, tree)}
        plainFacts={<ChangeTicket plan={plan} />}
        strip={<PlanLifecycle plan={plan} state={stateShown(plan, execution)} />}
        waterline={execution ? headwayOf(execution).share : undefined}
        commands={
          carried ? (
            <>
              <ExportMenu plan={plan} />
              <RollBackCommand plan={plan} />
              <PlanAgain candidate={tree.candidate} />
              {execution ? <ExecutionCommands plan={plan} execution={execution} /> : null}
            </>
          ) : (
            <>
              <PlanCommands plan={plan} onDryRun={runDry} dryRunning={dry.isPending} />
              <PlanAgain candidate={tree.candidate} />
            </>
          )
        }
      />
      <div className="main">
        <PlanBanner plan={plan} />
        {execution ? <ExecutionBanner execution={execution} /> : null}
        <div className="cols c-plan">
          <div className="stack">
            {carried ? (
              execution ? (
                <>
                  {plan.state === "executed" ? <OutcomePanel plan={plan} /> : null}
                  <ExecutionSteps execution={execution} />
                </>
              ) : (
                <Panel title="Steps" flush>
                  <QueryBody query={query} what="The execution" rows={6}>
                    {() => null}
                  </QueryBody>
                </Panel>
              )
            ) : (
              <>
                <HurtPanel plan={plan} />
                <WhyPanel plan={plan} />
                <PromiseStrip promise={plan.promise} />
              </>
            )}
            {moves ? (
              <>
                <TreePanels name={plan.name} map={map} tree={tree} execution={execution} />
                <TreeChanges tree={tree} links={map.links} />
              </>
            ) : (
              <>
                {touches ? <MapPanel plan={plan} map={map} execution={execution} /> : null}
                <ChangesPanel plan={plan} kept={keptOf(plan, map.proposal)} />
              </>
            )}
            <LeftOutPanel plan={plan} />
            {carried ? (
              <>
                <WhyPanel plan={plan} />
                <PromiseStrip promise={plan.promise} />
              </>
            ) : (
              <StepsPanel plan={plan} candidate={tree.candidate} told={tree.told} />
            )}
          </div>
          <div className="stack">
            {tree.candidate ? <BoundPanel candidate={tree.candidate} /> : null}
            {carried ? (
              <>
                {moves ? (
                  <MeasuredLinks
                    system={plan.system}
                    brokers={brokers}
                    promised={tree.candidate?.traffic_per_s ?? null}
                  />
                ) : null}
                {!touches || (moves && promisedOf(plan).length === 0) ? null : (
                  <MeasuredPanel plan={plan} brokers={brokers} />
                )}
                {touches ? (
                  <AgentsPanel
                    system={plan.system}
                    execution={execution}
                    promisedPause={promisedPause(plan)}
                  />
                ) : null}
              </>
            ) : (
              <>
                <DecisionPanel plan={plan} />
                <ChecksPanel plan={plan} dryRun={dryRun} />
                <BlastRadiusPanel plan={plan} />
              </>
            )}
            <ChangePanel plan={plan} />
            <HistoryPanel plan={plan} />
          </div>
        </div>
      </div>
    </>
  );
}
