/** The red switch: it stops everything that Weir does by itself, in all systems. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { automaticStop, stopQuery } from "@/api/automation";
import { keys } from "@/api/query-keys";
import { useMay } from "@/api/session";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { tell } from "@/components/ui/toast";

export function StopCommand() {
  const queries = useQueryClient();
  const stop = useQuery(stopQuery);
  const may = useMay("stop_automatic");
  const [open, setOpen] = useState(false);
  if (!may || stop.data !== null) return null;
  return (
    <>
      <Command danger icon="stop" onClick={() => setOpen(true)}>
        Stop everything automatic
      </Command>
      <ConfirmDialog
        title="Stop everything automatic"
        open={open}
        onClose={() => setOpen(false)}
        command="Stop everything automatic"
        needsReason
        run={async (reason) => {
          await automaticStop(reason);
          await queries.invalidateQueries({ queryKey: keys.automaticStop });
          tell("Stopped everything automatic");
        }}
      >
        <p>In all systems, until somebody lets Weir go on:</p>
        <ul>
          <li>No schedule or trigger fires; what is due then is made up for once.</li>
          <li>No plan is approved, begun or taken back without a person.</li>
          <li>Executions that Weir began pause after the step under way.</li>
          <li>Controlled rates and adapted parts stay where they are.</li>
        </ul>
        <p>What people begin goes on.</p>
      </ConfirmDialog>
    </>
  );
}
