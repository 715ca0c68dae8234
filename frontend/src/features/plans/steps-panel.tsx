/** The steps as they will be carried out, each action with what undoes it. */
import { useState } from "react";

import { plain } from "./words";

import type { PlanDetail, PlanStep } from "@/api/plans";
import { Panel } from "@/components/ui/panel";
import { countText } from "@/lib/numbers";

const FIRST = 8;

function StepRow({ step, position }: { step: PlanStep; position: number }) {
  const [all, setAll] = useState(false);
  const shown = all ? step.actions : step.actions.slice(0, FIRST);
  const more = step.actions.length - shown.length;
  return (
    <li className="step plain">
      <div>
        <b>Step {position + 1}</b>
        <div className="aside">
          {step.actions.length === 1 ? "1 action" : `${step.actions.length} in parallel`}
        </div>
      </div>
      <div>
        {shown.map((action) => (
          <div className="act two" key={action.index}>
            <div>
              <b>{plain(action.title)}</b>
              {action.effect ? <p>{action.effect}</p> : null}
            </div>
            <p>undo: {plain(action.undo_title)}</p>
          </div>
        ))}
        {more > 0 ? (
          <button type="button" className="link" onClick={() => setAll(true)}>
            {countText(more, "more action")}
          </button>
        ) : null}
      </div>
    </li>
  );
}

export function StepsPanel({ plan }: { plan: PlanDetail }) {
  return (
    <Panel
      title="Steps"
      sub="a step begins when every action of the one before is done"
      right={countText(plan.steps.length, "step")}
      flush
    >
      <ol className="steps">
        {plan.steps.map((step, position) => (
          <StepRow key={step.index} step={step} position={position} />
        ))}
      </ol>
    </Panel>
  );
}
