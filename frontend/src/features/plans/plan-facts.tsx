/** The line of facts under a plan's title: kind, author, hash, where it comes from, when. */
import { Link } from "react-router";

import { executeReason } from "./plan-commands";
import type { PlanTree } from "./use-tree";

import type { Execution, PlanDetail } from "@/api/plans";
import type { Fact } from "@/components/ui/page";
import { answerAddress, computationOf, planKind } from "@/lib/computations";
import { to } from "@/lib/kinds";
import { ageText, clockText, exactTime } from "@/lib/time";

export function factsOf(
  plan: PlanDetail,
  execution: Execution | undefined,
  tree: PlanTree,
): Fact[] {
  const kind = planKind(plan.kind);
  const source = computationOf(plan.source.kind);
  return [
    {
      key: "kind",
      icon: kind.icon,
      text: (
        <>
          {kind.word}, <Link to={to.topology(plan.system)}>{plan.system_name}</Link>
        </>
      ),
    },
    {
      key: "author",
      icon: "user",
      text: plan.answerable
        ? `${plan.author ?? "Weir"}, set up by ${plan.answerable}`
        : (plan.author ?? "Weir"),
    },
    {
      key: "hash",
      icon: "fingerprint",
      text: (
        <>
          <span className="mono" title={plan.content_hash}>
            {plan.content_hash.slice(0, 8)}
          </span>{" "}
          on model v{plan.model_version}
        </>
      ),
    },
    ...(source && plan.source.id
      ? [
          {
            key: "source",
            icon: source.icon,
            text: (
              <>
                from <Link to={source.answer(plan.system, plan.source.id)}>{plan.source.name}</Link>
                {plan.run && plan.run_name ? (
                  <>
                    , run <Link to={to.run(plan.run)}>{plan.run_name}</Link>
                  </>
                ) : null}
              </>
            ),
          },
        ]
      : []),
    ...(plan.source.kind === "plan" && plan.source.id
      ? [
          {
            key: "source",
            icon: "back" as const,
            text: (
              <>
                rolls back <Link to={to.plan(plan.source.id)}>{plan.source.name}</Link>
              </>
            ),
          },
        ]
      : []),
    ...(tree.candidate
      ? [
          {
            key: "candidate",
            icon: kind.icon,
            text: (
              <>
                from {tree.candidate.title} of{" "}
                <Link to={answerAddress(plan.kind, plan.system, tree.candidate.evaluation)}>
                  {tree.candidate.evaluation_name}
                </Link>
              </>
            ),
          },
        ]
      : []),
    { key: "time", icon: "clock", text: <When plan={plan} execution={execution} /> },
  ];
}

function When({ plan, execution }: { plan: PlanDetail; execution: Execution | undefined }) {
  if (execution?.started_at) {
    return (
      <>
        started{" "}
        <span title={exactTime(execution.started_at)}>{clockText(execution.started_at)}</span> UTC
        by {execution.started_by || "Weir"}
        {execution.ended_at ? `, ended ${exactTime(execution.ended_at).slice(0, 8)} UTC` : ""}
      </>
    );
  }
  const closed = executeReason(plan);
  const window = closed && ["pending_review", "approved"].includes(plan.state) ? `, ${closed}` : "";
  if (plan.state === "pending_review" && plan.waiting_since) {
    return (
      <span title={exactTime(plan.waiting_since)}>
        waiting {ageText(plan.waiting_since)}
        {window}
      </span>
    );
  }
  return (
    <span title={exactTime(plan.created_at)}>
      made {clockText(plan.created_at)} UTC
      {window}
    </span>
  );
}
