/** Pause, resume, stop, roll back: each says exactly what it will do before it is asked for. */
import { useState } from "react";

import { currentStep, undoable } from "./phases";
import { touchesBrokers } from "./step-view";
import { plain } from "./words";

import { useExecutionCommand, type Execution, type PlanDetail } from "@/api/plans";
import { Command } from "@/components/ui/command";
import { ConfirmDialog } from "@/components/ui/dialogs";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Scroll } from "@/components/ui/scroll";
import { useNow } from "@/lib/clock";
import { countText } from "@/lib/numbers";

/** So many are in one box; more of them are paged. */
const FIRST = 50;

const waiting = (execution: Execution) =>
  execution.steps
    .filter((step) => step.direction === "forward" && step.state === "pending")
    .reduce((sum, step) => sum + step.actions.length, 0);

function RollBackText({ plan, execution }: { plan: PlanDetail; execution: Execution }) {
  const undo = undoable(execution);
  const paged = usePaged(undo, FIRST, execution.id);
  const touches = touchesBrokers(plan);
  const running = currentStep(execution);
  const goesOn = ["in_progress", "aborting"].includes(running?.step.state ?? "");
  if (undo.length === 0) {
    return (
      <p>
        Nothing has been done yet that could be undone.{" "}
        {goesOn ? `${running?.name} ends first and is undone then.` : ""}{" "}
        {touches ? "Every broker keeps what is in force." : "What is in force stays."}
      </p>
    );
  }
  return (
    <>
      <p>
        {countText(undo.length, "action is", "actions are")} undone, last first
        {goesOn ? `; ${running?.name} ends first and is undone too` : ""}. Afterwards{" "}
        {touches ? "every broker has what it had" : "all is as it was"} before {plan.name}, and the
        plan is stale.
      </p>
      <Scroll label="What is undone" maxHeight={240}>
        <ol className="undo" aria-label="What is undone" start={paged.from + 1}>
          {paged.visible.map(({ key, step, index, action }) => (
            <li key={key}>
              {plain(plan.steps[step]?.actions[index]?.undo_title ?? `Undo: ${action.title}`)}
            </li>
          ))}
        </ol>
      </Scroll>
      <PageFoot paged={paged} what="actions" />
    </>
  );
}

type Asked = "pause" | "resume" | "stop" | "roll-back";

export function ExecutionCommands({ plan, execution }: { plan: PlanDetail; execution: Execution }) {
  const command = useExecutionCommand(execution.id);
  const [asking, setAsking] = useState<Asked | null>(null);
  const may = (name: Execution["allowed_commands"][number]) =>
    execution.allowed_commands.includes(name);
  const running = currentStep(execution);
  const midStep = ["in_progress", "aborting"].includes(running?.step.state ?? "");
  const step = running?.name.toLowerCase() ?? "the running step";
  const stopWord = midStep ? `Stop after ${step}` : "Stop";
  const left = waiting(execution);
  const now = useNow(execution.hold_at !== null);
  const outside =
    execution.held ||
    (execution.hold_at !== null && Date.parse(execution.hold_at) <= now.getTime());
  const confirm = (name: Asked) => ({
    open: asking === name,
    onClose: () => setAsking(null),
    askReason: true,
    run: (reason: string) => command.mutateAsync({ command: name, reason }),
  });
  return (
    <>
      {may("pause") ? (
        <Command icon="pause" onClick={() => setAsking("pause")}>
          {execution.held ? "Keep paused" : "Pause"}
        </Command>
      ) : null}
      {may("resume") ? (
        <Command
          icon="play"
          primary
          disabled={command.isPending}
          onClick={() => (outside ? setAsking("resume") : command.mutate({ command: "resume" }))}
        >
          {outside ? "Resume outside the window" : "Resume"}
        </Command>
      ) : null}
      {may("stop") ? (
        <Command icon="stop" onClick={() => setAsking("stop")}>
          {stopWord}
        </Command>
      ) : null}
      {may("roll_back") ? (
        <Command icon="back" danger onClick={() => setAsking("roll-back")}>
          Roll back
        </Command>
      ) : null}
      <ConfirmDialog
        title={execution.held ? `Keep ${plan.name} paused` : `Pause ${plan.name}`}
        command={execution.held ? "Keep paused" : "Pause"}
        dangerous={false}
        {...confirm("pause")}
      >
        <p>
          {execution.held ? "It does not go on by itself when the window opens. " : ""}
          {midStep
            ? `${running?.name ?? "The step"} goes on to its end; then nothing`
            : "Nothing"}{" "}
          new begins until somebody resumes. {countText(left, "action waits", "actions wait")}.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        title={`Resume ${plan.name} outside the window`}
        command="Resume now"
        {...confirm("resume")}
      >
        <p>
          {execution.hold_because} {plan.name}{" "}
          {execution.held ? "goes on by itself" : "can be resumed"} when changes are allowed again.
          Resumed now it carries out {countText(left, "action")} at a time when the policy forbids
          changes.
        </p>
      </ConfirmDialog>
      <ConfirmDialog title={`Stop ${plan.name}`} command={stopWord} {...confirm("stop")}>
        <p>
          {midStep ? `${running?.name ?? "The step"} goes on to its end. ` : ""}
          {countText(left, "action")} will not be carried out. What was done stays in force and can
          still be rolled back; the plan becomes stale and cannot be resumed.
        </p>
      </ConfirmDialog>
      <ConfirmDialog title={`Roll back ${plan.name}`} command="Roll back" {...confirm("roll-back")}>
        <RollBackText plan={plan} execution={execution} />
      </ConfirmDialog>
    </>
  );
}
