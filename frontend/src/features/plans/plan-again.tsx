/** After a broken-off execution: a new plan from where the overlay stands to the same goal. */
import { useState } from "react";
import { useNavigate } from "react-router";

import { usePlanAgain, type CandidateDetail } from "@/api/evaluations";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { to } from "@/lib/kinds";

export function PlanAgain({ candidate }: { candidate: CandidateDetail | undefined }) {
  const navigate = useNavigate();
  const again = usePlanAgain(candidate?.id ?? "");
  const [asking, setAsking] = useState(false);
  if (!candidate?.allowed_commands.includes("plan_again")) return null;
  return (
    <>
      <Command icon="refresh" primary onClick={() => setAsking(true)} disabled={again.isPending}>
        Plan again from here
      </Command>
      <ConfirmDialog
        title="Plan again from here"
        command="Plan again"
        dangerous={false}
        open={asking}
        onClose={() => setAsking(false)}
        run={async () => {
          const plan = await again.mutateAsync();
          await navigate(to.plan(plan.id));
        }}
      >
        <p>
          Makes a new draft that leads from the overlay as it stands now to {candidate.title}. Steps
          that were carried out stay as they are; nothing changes until the draft is approved and
          executed.
        </p>
      </ConfirmDialog>
    </>
  );
}
