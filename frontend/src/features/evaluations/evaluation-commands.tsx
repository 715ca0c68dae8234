/** Cancel an evaluation while it runs, or ask the same question again. */
import type { Schemas } from "@/api/client";
import { useCancelEvaluation, useRerunEvaluation, type Evaluation } from "@/api/evaluations";
import { Command } from "@/components/ui/command";
import { tell, tellFailure } from "@/components/ui/toast";

export function EvaluationCommands({ evaluation }: { evaluation: Evaluation }) {
  const cancel = useCancelEvaluation();
  const rerun = useRerunEvaluation();
  const may = (name: Schemas["RunCommandEnum"]) => evaluation.allowed_commands.includes(name);
  return (
    <>
      {may("cancel") ? (
        <Command
          icon="ban"
          disabled={cancel.isPending || evaluation.cancel_requested}
          reason="It is being stopped."
          onClick={() =>
            cancel.mutate(evaluation.id, {
              onSuccess: () => tell(`Cancelled ${evaluation.name}`),
              onError: (error) => tellFailure(`Not cancelled: ${evaluation.name}`, error),
            })
          }
        >
          Cancel
        </Command>
      ) : null}
      {may("rerun") ? (
        <Command
          icon="refresh"
          disabled={rerun.isPending}
          onClick={() =>
            rerun.mutate(evaluation.id, {
              onSuccess: () => tell(`Runs again: ${evaluation.name}`),
              onError: (error) => tellFailure(`Not run again: ${evaluation.name}`, error),
            })
          }
        >
          Run again
        </Command>
      ) : null}
    </>
  );
}
