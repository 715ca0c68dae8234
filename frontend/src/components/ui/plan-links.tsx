/** Links to the plans made from one allocation, each with its state. */
import { Link } from "react-router";

import type { Plan } from "@/api/plans";
import { to } from "@/lib/kinds";

const SHOWN = 3;

export function PlanLinks({ plans }: { plans: readonly Plan[] }) {
  return (
    <>
      {plans.slice(0, SHOWN).map((plan, index) => (
        <span key={plan.id}>
          {index > 0 ? ", " : ""}
          <Link to={to.plan(plan.id)}>{plan.name}</Link> {plan.state.replaceAll("_", " ")}
        </span>
      ))}
      {plans.length > SHOWN ? `, ${plans.length - SHOWN} more` : ""}
    </>
  );
}
