/** What was executed is rolled back by a new plan: read, approved and executed like every other. */
import { useState } from "react";
import { useNavigate } from "react-router";

import { useRollBackPlan, type PlanDetail } from "@/api/plans";
import { useSession } from "@/api/session";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

export function RollBackCommand({ plan }: { plan: PlanDetail }) {
  const rollBack = useRollBackPlan(plan);
  const navigate = useNavigate();
  const session = useSession().data;
  const [asking, setAsking] = useState(false);
  if (!plan.allowed_commands.includes("roll_back")) return null;
  const overload = plan.roll_back_overload;
  const accepts = overload !== "" && (session?.roles.includes("approver") ?? false);
  return (
    <>
      <Command icon="back" onClick={() => setAsking(true)}>
        Roll back
      </Command>
      <ConfirmDialog
        title={`Roll back ${plan.name}`}
        command="Roll back"
        dangerous={false}
        askReason
        needsReason={accepts}
        open={asking}
        onClose={() => setAsking(false)}
        run={async (reason) => {
          const made = await rollBack.mutateAsync({ reason, accept_overload: accepts });
          void navigate(to.plan(made.id));
        }}
      >
        <p>
          A draft that undoes the {countText(plan.blast_radius.actions, "action")} of {plan.name},
          last first, so that {plan.blast_radius.brokers > 0 ? "every broker has" : "there is"}{" "}
          again what {plan.blast_radius.brokers > 0 ? "it had" : "was"} before. Nothing changes
          until the draft is approved and executed.
        </p>
        {overload ? (
          <Note tone="warn">
            Going back there, {overload}.{" "}
            {accepts
              ? "Your reason accepts that; somebody else still approves the draft."
              : "The draft can be sent for review when an approver has accepted that with a reason."}
          </Note>
        ) : null}
      </ConfirmDialog>
    </>
  );
}
