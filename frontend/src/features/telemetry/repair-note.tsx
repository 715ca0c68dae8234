/** A silent broker: since when, what it alone held, and the way around it when it is gone. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";

import { planRepair, repairsQuery } from "@/api/in-force";
import { keys } from "@/api/query-keys";
import { Command } from "@/components/ui/command";
import { ConfirmDialog, Note } from "@/components/ui/dialogs";
import { to } from "@/lib/kinds";
import { fixed } from "@/lib/numbers";
import { ageText, exactTime } from "@/lib/time";

export function RepairNote({ system, broker }: { system: string; broker: string }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data } = useQuery(repairsQuery(system));
  const [asking, setAsking] = useState(false);
  const row = data?.find((each) => each.broker === broker);
  if (!row) return null;
  const may = row.allowed_commands.includes("plan");
  const make = async () => {
    const plan = await planRepair(broker);
    await queries.invalidateQueries({ queryKey: keys.plans.all });
    await navigate(to.plan(plan.id));
  };
  return (
    <Note tone="warn">
      <span title={exactTime(row.silent_since)}>
        Silent for {ageText(row.silent_since)}. {row.held}{" "}
      </span>
      {row.removable ? (
        <Command
          icon="plan"
          disabled={!may}
          reason="Your roles do not let you propose plans."
          onClick={() => setAsking(true)}
        >
          Repair around {row.broker_name}
        </Command>
      ) : (
        <span>
          If it is gone for good, a plan may remove it after {fixed(row.remove_after_s)} s of
          silence.
        </span>
      )}
      <ConfirmDialog
        title={`Repair the overlay around ${row.broker_name}`}
        command="Make a plan"
        dangerous={false}
        open={asking}
        onClose={() => setAsking(false)}
        run={make}
      >
        <p>
          For a broker whose machine and disk do not come back. Its neighbours are linked with each
          other; what they hold for it arrives. {row.held} This cannot be rolled back: should it
          come again, its agent is refused until it is enrolled anew.
        </p>
        <p>This makes a draft. Nothing changes before it is approved and executed.</p>
      </ConfirmDialog>
    </Note>
  );
}
