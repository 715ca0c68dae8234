/** Where a plan stands in its life: five stages, or the stage at which it ended. */
import type { Plan, PlanState } from "@/api/plans";
import { Icon, type IconName } from "@/components/ui/icons";

const STAGES: readonly { state: PlanState; word: string }[] = [
  { state: "draft", word: "Draft" },
  { state: "pending_review", word: "In review" },
  { state: "approved", word: "Approved" },
  { state: "executing", word: "Executing" },
  { state: "executed", word: "Executed" },
];

const ENDS: Partial<Record<PlanState, { word: string; icon: IconName; colour: string }>> = {
  rejected: { word: "Rejected", icon: "x", colour: "var(--bad)" },
  stale: { word: "Stale", icon: "clockx", colour: "var(--warn)" },
  superseded: { word: "Superseded", icon: "versions", colour: "var(--idle)" },
  discarded: { word: "Discarded", icon: "ban", colour: "var(--idle)" },
};

/** What the stage of execution says instead, while the plan does not go on. */
const HALTS: Partial<Record<string, { word: string; colour: string }>> = {
  pausing: { word: "Pausing", colour: "var(--warn)" },
  paused: { word: "Paused", colour: "var(--warn)" },
  stopping: { word: "Stopping", colour: "var(--warn)" },
  rolling_back: { word: "Rolling back", colour: "var(--warn)" },
};

const COLOURS: Partial<Record<PlanState, string>> = {
  draft: "var(--idle)",
  pending_review: "var(--waits)",
  approved: "var(--good)",
  executing: "var(--active)",
};

/** How many stages a plan went through before it ended without being executed. */
function reached(
  plan: Pick<Plan, "execution" | "submitted_at" | "approvals_given" | "approvals_needed">,
) {
  if (plan.execution) return 4;
  if (plan.submitted_at === null) return 1;
  return plan.approvals_needed > 0 && plan.approvals_given >= plan.approvals_needed ? 3 : 2;
}

/** `state`: the plan's, or what its execution does while it does not go on. */
export function PlanLifecycle({ plan, state }: { plan: Plan; state: string }) {
  const end = ENDS[plan.state];
  const now = STAGES.findIndex((stage) => stage.state === plan.state);
  const passed = end ? reached(plan) : plan.state === "executed" ? STAGES.length : now;
  const shown = end ? STAGES.slice(0, passed) : STAGES;
  const halt = HALTS[state];
  const colour = end?.colour ?? halt?.colour ?? COLOURS[plan.state] ?? "var(--good)";
  return (
    <ol
      className="life"
      aria-label="State of the plan"
      style={{ "--now": colour } as React.CSSProperties}
    >
      {shown.map((stage, index) => {
        const done = index < passed;
        const here = !end && index === now && !done;
        const last = plan.state === "executed" && index === STAGES.length - 1;
        return (
          <li
            key={stage.state}
            className={done ? "done" : here ? "now" : "next"}
            aria-current={here || last ? "step" : undefined}
          >
            <i>{done ? <Icon name="check" small /> : null}</i>
            {here && halt ? halt.word : stage.word}
          </li>
        );
      })}
      {end ? (
        <li className="now end" aria-current="step">
          <i>
            <Icon name={end.icon} small />
          </i>
          {end.word}
        </li>
      ) : null}
    </ol>
  );
}
