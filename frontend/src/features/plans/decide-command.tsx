/** Ends an action that waits: what that brings about is said before it is asked for. */
import { useState } from "react";

import { plain } from "./words";

import { useDecide, type Decision, type ExecutionAction } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";

const WORDS: Record<Decision["outcome"], string> = {
  abort: "Call off",
  bury: "Stop waiting",
  commit: "Order the switch again",
};

export function DecideCommands({
  execution,
  action,
  offered,
}: {
  execution: string;
  action: ExecutionAction;
  /** Whether it has waited for so long that a person may want to end it. */
  offered: boolean;
}) {
  const decide = useDecide(execution);
  const [asking, setAsking] = useState<Decision | null>(null);
  // The dialog stays what it was while it closes, and when news make the decision impossible.
  const [shown, setShown] = useState<Decision | null>(null);
  const title = plain(action.title);
  return (
    <>
      {(offered ? action.decisions : []).map((decision) => (
        <Command
          key={decision.outcome}
          small
          danger={decision.outcome !== "abort"}
          onClick={() => {
            setShown(decision);
            setAsking(decision);
          }}
        >
          {WORDS[decision.outcome]}
        </Command>
      ))}
      {shown ? (
        <ConfirmDialog
          title={`${WORDS[shown.outcome]}: ${title}`}
          command={WORDS[shown.outcome]}
          needsReason
          open={asking !== null}
          onClose={() => setAsking(null)}
          run={(reason) =>
            decide.mutateAsync({ action: action.id, outcome: shown.outcome, reason })
          }
        >
          <p>{shown.risk}</p>
        </ConfirmDialog>
      ) : null}
    </>
  );
}
