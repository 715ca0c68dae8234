/** Identity, state, facts and commands of an allocation. */
import { Link, useNavigate } from "react-router";

import { allocationsAt } from "./addresses";
import type { useMakePlan } from "./make-plan";

import type { AllocationDetail } from "@/api/allocations";
import { usePlansOf } from "@/api/plans";
import { useRerun } from "@/api/runs";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Icon } from "@/components/ui/icons";
import { PageHead, type Fact } from "@/components/ui/page";
import { PlanLinks } from "@/components/ui/plan-links";
import { StateBadge } from "@/components/ui/state-badge";
import { tell, tellFailure } from "@/components/ui/toast";
import { askAddress } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { clockText, exactTime } from "@/lib/time";

function factsOf(allocation: AllocationDetail, plans: ReturnType<typeof usePlansOf>): Fact[] {
  return [
    {
      key: "snapshot",
      icon: "versions",
      text: (
        <>
          {allocation.model_version === null ? "own problem" : `model v${allocation.model_version}`}
          {allocation.demand_estimate_name ? `, demand ${allocation.demand_estimate_name}` : ""},
          snapshot{" "}
          <span className="mono" title={allocation.snapshot_hash}>
            {allocation.snapshot_hash.slice(0, 8)}
          </span>
        </>
      ),
    },
    {
      key: "run",
      icon: "play",
      text: (
        <>
          run <Link to={to.run(allocation.run)}>R-{allocation.run_number}</Link>,{" "}
          {allocation.method}, seed {allocation.seed}
        </>
      ),
    },
    { key: "person", icon: "users", text: `asked by ${allocation.asked_by ?? "Weir"}` },
    ...(plans.length > 0
      ? [{ key: "plans", icon: "plan" as const, text: <PlanLinks plans={plans} /> }]
      : []),
    {
      key: "time",
      icon: "clock",
      text: (
        <span title={exactTime(allocation.created_at)}>{clockText(allocation.created_at)} UTC</span>
      ),
    },
  ];
}

export function AllocationHead({
  allocation,
  planning,
}: {
  allocation: AllocationDetail;
  planning: ReturnType<typeof useMakePlan>;
}) {
  const navigate = useNavigate();
  const name = `A-${allocation.number}`;
  const system = useSystem(allocation.system ?? "");
  const rerun = useRerun();
  const plans = usePlansOf(allocation.system, allocation.id, allocation.number);
  const wasInForce = plans.some((plan) => plan.state === "executed");
  const isInForce = allocation.in_force === allocation.id;
  const mayPlan = allocation.allowed_commands.includes("plan");
  const mayOptimize = system.data?.allowed_commands.includes("optimize") ?? false;
  const again = () => {
    rerun.mutate(allocation.run, {
      onSuccess: (run) => {
        tell(`Started R-${run.number}`, "Same snapshot, method, parameters and seed.");
        void navigate(to.run(run.id));
      },
      onError: (error) => tellFailure("Not started", error),
    });
  };
  return (
    <PageHead
      title={`Allocation ${name}`}
      crumb={name}
      crumbs={
        allocation.system
          ? [
              { label: system.data?.name ?? "System", to: to.topology(allocation.system) },
              { label: "Allocation", to: allocationsAt.list(allocation.system) },
            ]
          : [{ label: "Runs", to: to.runs }]
      }
      state={
        <>
          <StateBadge state={allocation.status} large />
          <span className="tag out">
            {isInForce ? "in force" : wasInForce ? "no longer in force" : "proposal, not in force"}
          </span>
        </>
      }
      waterline={1}
      facts={factsOf(allocation, plans)}
      commands={
        <>
          {mayOptimize && allocation.system ? (
            <Link
              className="btn"
              to={askAddress("study", allocation.system, { allocation: allocation.id })}
            >
              <Icon name="adjustments" small />
              What-if
            </Link>
          ) : null}
          {allocation.allowed_commands.includes("rerun") ? (
            <Command icon="refresh" onClick={again} disabled={rerun.isPending}>
              Run again
            </Command>
          ) : null}
          {mayOptimize && allocation.system ? (
            <Link className={mayPlan ? "btn" : "btn pri"} to={allocationsAt.ask(allocation.system)}>
              <Icon name="play" small />
              Optimize
            </Link>
          ) : null}
          {mayPlan ? (
            <Command icon="plan" primary onClick={planning.make} disabled={planning.isPending}>
              Make plan
            </Command>
          ) : null}
        </>
      }
    />
  );
}
