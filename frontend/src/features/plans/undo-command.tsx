/** What was executed is undone by a new plan: read, approved and executed like every other. */
import { useState } from "react";
import { useNavigate } from "react-router";

import { useUndoPlan, type PlanDetail } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { to } from "@/lib/kinds";
import { countText } from "@/lib/numbers";

export function UndoCommand({ plan }: { plan: PlanDetail }) {
  const undo = useUndoPlan(plan.id);
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  if (!plan.allowed_commands.includes("undo")) return null;
  return (
    <>
      <Command icon="back" onClick={() => setAsking(true)}>
        Plan the way back
      </Command>
      <ConfirmDialog
        title={`Plan the way back from ${plan.name}`}
        command="Plan the way back"
        dangerous={false}
        open={asking}
        onClose={() => setAsking(false)}
        run={async () => {
          const made = await undo.mutateAsync();
          void navigate(to.plan(made.id));
        }}
      >
        <p>
          A draft that undoes the {countText(plan.blast_radius.actions, "action")} of {plan.name},
          last first, so that every broker has again what it had before. Nothing changes until the
          draft is approved and executed.
        </p>
      </ConfirmDialog>
    </>
  );
}
