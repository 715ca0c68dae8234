/** The database has gone back: nothing is sent to the agents of a system until somebody decides. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Command } from "./command";
import { ConfirmDialog, Note } from "./dialogs";

import { keys } from "@/api/query-keys";
import { restoredAdopt, restoredQuery } from "@/api/systems";

const LABEL = "Adopt the restored state";

export function RestoredNote({ system }: { system: string }) {
  const queries = useQueryClient();
  const state = useQuery(restoredQuery(system));
  const [asking, setAsking] = useState(false);
  if (!state.data?.restored) return null;
  const may = state.data.allowed_commands.includes("adopt_restored");
  return (
    <Note tone="bad">
      <p>{state.data.problem}</p>
      <Command
        danger
        onClick={() => setAsking(true)}
        disabled={!may}
        reason="Your roles do not let you execute plans."
      >
        {LABEL}
      </Command>
      <ConfirmDialog
        title={LABEL}
        open={asking}
        onClose={() => setAsking(false)}
        command={LABEL}
        needsReason
        run={async (reason) => {
          await restoredAdopt(system, reason);
          await queries.invalidateQueries({ queryKey: keys.agents.all });
        }}
      >
        <p>
          The agents of this system make true what the database says now. What they have carried out
          beyond it is taken back: limits and gates get the values of the restored database, links
          that it does not know are dropped. Restore a newer backup instead where there is one.
        </p>
      </ConfirmDialog>
    </Note>
  );
}
