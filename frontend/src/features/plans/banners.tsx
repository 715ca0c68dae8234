/** Why a plan ended, or what is wrong with it, and the next move. */
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";

import { planFromAllocation, type Execution, type PlanDetail } from "@/api/plans";
import { useSystem } from "@/api/systems";
import { Command } from "@/components/ui/command";
import { Note } from "@/components/ui/dialogs";
import { tell, tellFailure } from "@/components/ui/toast";
import { askAddress, computationOf } from "@/lib/computations";
import { to } from "@/lib/kinds";

function PlanAgain({ plan }: { plan: PlanDetail }) {
  const navigate = useNavigate();
  const system = useSystem(plan.system);
  const allocation = plan.source.kind === "allocation" ? plan.source.id : null;
  const again = useMutation({ mutationFn: planFromAllocation });
  const mayOptimize = system.data?.allowed_commands.includes("optimize") ?? false;
  const make = () => {
    if (!allocation) return;
    again.mutate(allocation, {
      onSuccess: (next) => {
        tell(`Made ${next.name}`, "Planned again from what is in force now.");
        void navigate(to.plan(next.id));
      },
      onError: (error) => tellFailure("Not planned", error),
    });
  };
  // What another kind of computation proposed is computed again by it.
  const source = computationOf(plan.source.kind);
  const isOther = source !== undefined && allocation === null;
  if (!allocation && !mayOptimize) return null;
  return (
    <div className="row">
      {allocation ? (
        <Command icon="plan" small onClick={make} disabled={again.isPending}>
          Plan again from {plan.source.name || "the allocation"}
        </Command>
      ) : null}
      {mayOptimize ? (
        <Link
          className="btn sm"
          to={isOther ? source.ask(plan.system) : askAddress("allocation", plan.system)}
        >
          {isOther ? `Make another ${source.noun}` : "Optimize the model as it is now"}
        </Link>
      ) : null}
    </div>
  );
}

const lastSaid = (plan: PlanDetail, command: string) =>
  [...plan.events].reverse().find((event) => event.command === command);

export function PlanBanner({ plan }: { plan: PlanDetail }) {
  switch (plan.state) {
    case "stale":
      return (
        <Note tone="warn">
          <b>This plan is stale.</b> {plan.stale_because}{" "}
          {plan.execution
            ? "Plan again to go on from what is in force now."
            : "It cannot be approved or executed any more; plan again."}
          <PlanAgain plan={plan} />
        </Note>
      );
    case "superseded":
      return (
        <Note>
          <b>A newer plan has taken its place.</b>{" "}
          {plan.superseded_by ? <Link to={to.plan(plan.superseded_by)}>Open that plan</Link> : null}
        </Note>
      );
    case "rejected": {
      const said = lastSaid(plan, "reject");
      return (
        <Note tone="warn">
          <b>{said?.actor || "A reviewer"} rejected this plan.</b>{" "}
          {said?.note ? `\u201c${said.note}\u201d` : ""}
          <PlanAgain plan={plan} />
        </Note>
      );
    }
    case "discarded": {
      const said = lastSaid(plan, "discard");
      return (
        <Note>
          <b>{said?.actor || "Somebody"} discarded this plan.</b> {said?.note ?? ""}
        </Note>
      );
    }
    default:
      return plan.would_overload ? <OverloadNote plan={plan} /> : null;
  }
}

function OverloadNote({ plan }: { plan: PlanDetail }) {
  const accepted = plan.accepted_overload;
  return (
    <Note tone="warn">
      <b>This plan loads more than there is room for.</b> By the model, {plan.would_overload}.{" "}
      {accepted
        ? `${accepted.person} accepts that: \u201c${accepted.reason}\u201d`
        : plan.state === "draft"
          ? "It can be sent for review when an approver has accepted that with a reason."
          : "Executed now it would go stale."}
    </Note>
  );
}

export function ExecutionBanner({ execution }: { execution: Execution }) {
  const dead = execution.steps.flatMap((step) =>
    step.actions.filter((action) => action.state === "dead"),
  );
  if (!execution.failure && dead.length === 0) return null;
  // What a move waits for is in the failure: its brokers answer, and have not followed.
  const unanswered = dead.filter(({ kind }) => !kind.startsWith("move_"));
  const silent = [...new Set(unanswered.flatMap((action) => action.waiting_for))].join(", ");
  return (
    <Note tone="bad">
      <b>{execution.state === "failed" ? "The execution failed." : "Something went wrong."}</b>{" "}
      {execution.failure}
      {silent ? ` ${silent} never answered after the point of no return; look at its agent.` : ""}
    </Note>
  );
}
