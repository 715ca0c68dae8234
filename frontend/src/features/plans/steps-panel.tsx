/** The steps as they will be carried out, each action with what undoes it. */
import { ActionTitle, undoWords } from "./action-title";
import { PublisherNames } from "./publisher-names";

import type { CandidateDetail } from "@/api/evaluations";
import type { PlanDetail, PlanStep } from "@/api/plans";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel } from "@/components/ui/panel";
import { countText, fixed } from "@/lib/numbers";

const FIRST = 8;
const FIRST_STEPS = 30;

function StepRow({
  step,
  position,
  inFlight,
}: {
  step: PlanStep;
  position: number;
  /** Messages on links when the step is done. */
  inFlight?: number | null;
}) {
  const paged = usePaged(step.actions, FIRST, String(step.index));
  return (
    <li className={inFlight === undefined || inFlight === null ? "step plain" : "step"}>
      <div>
        <b>Step {position + 1}</b>
        <div className="aside">
          {step.actions.length === 1 ? "1 action" : `${step.actions.length} in parallel`}
        </div>
      </div>
      <div>
        {paged.visible.map((action) => (
          <div className="act two" key={action.index}>
            <div>
              <ActionTitle action={action} />
              {action.effect ? <p>{action.effect}</p> : null}
              <PublisherNames action={action} />
            </div>
            <p>undo: {undoWords(action)}</p>
          </div>
        ))}
        {paged.open || paged.close ? (
          <div className="aside">
            <PageFoot paged={paged} what="actions" />
          </div>
        ) : null}
      </div>
      {inFlight === undefined || inFlight === null ? null : (
        <div className="when">
          <b>{fixed(inFlight)}</b> in flight
        </div>
      )}
    </li>
  );
}

export function StepsPanel({
  plan,
  candidate,
  told,
}: {
  plan: PlanDetail;
  candidate?: CandidateDetail;
  /** The candidate, where its figures are about these steps. */
  told?: CandidateDetail;
}) {
  const paged = usePaged(plan.steps, FIRST_STEPS, plan.id);
  const bound = candidate?.lower_bound_steps ?? null;
  return (
    <Panel
      title="Steps"
      sub={
        bound === null
          ? "a step begins when every action of the one before is done"
          : `${countText(plan.steps.length, "step")}, at least ${fixed(bound)} ${bound === 1 ? "is" : "are"} needed`
      }
      right={
        candidate ? (
          <a href="#gantt">Steps against brokers</a>
        ) : (
          countText(plan.steps.length, "step")
        )
      }
      footer={paged.open || paged.close ? <PageFoot paged={paged} what="steps" /> : undefined}
      flush
    >
      <ol className="steps">
        {paged.visible.map((step, index) => {
          const position = paged.from + index;
          return (
            <StepRow
              key={step.index}
              step={step}
              position={position}
              inFlight={told?.moments[position + 1]?.in_flight}
            />
          );
        })}
      </ol>
    </Panel>
  );
}
