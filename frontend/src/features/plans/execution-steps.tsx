/** Steps being carried out: every action with its four phases, how long it takes and what it pauses. */
import { memo, useState } from "react";

import { ActionTitle } from "./action-title";
import { DecideCommands } from "./decide-command";
import {
  headwayOf,
  PHASES,
  phaseText,
  SEGMENT_WORDS,
  segmentsOf,
  stepName,
  tookText,
} from "./phases";
import { waitText } from "./waits";

import type { Execution, ExecutionAction, ExecutionStep } from "@/api/plans";
import { MOVING } from "@/api/plans";
import { Icon } from "@/components/ui/icons";
import { PageFoot, usePaged } from "@/components/ui/paged";
import { Panel } from "@/components/ui/panel";
import { StateBadge } from "@/components/ui/state-badge";
import { useNow } from "@/lib/clock";
import { countText, durationText, fixed } from "@/lib/numbers";
import { exactTime } from "@/lib/time";

const FIRST = 12;

function PhaseBar({ action, now }: { action: ExecutionAction; now: Date }) {
  const segments = segmentsOf(action.state);
  const words = PHASES.map((phase, index) => `${phase} ${SEGMENT_WORDS[segments[index] ?? "w"]}`);
  return (
    <div className="phases">
      <span className="vh">{words.join(", ")}; </span>
      {segments.map((segment, index) => (
        <i key={PHASES[index]} className={segment} title={words[index]} aria-hidden="true" />
      ))}
      <span title={action.waiting_for.join(", ") || undefined}>{phaseText(action, now)}</span>
    </div>
  );
}

function ActionRow({
  execution,
  action,
  now,
}: {
  execution: string;
  action: ExecutionAction;
  now: Date;
}) {
  const waits = waitText(action, now);
  const pause = action.pause_s === null ? null : durationText(action.pause_s);
  return (
    <div className="act">
      <p>
        <ActionTitle action={action} />
      </p>
      <PhaseBar action={action} now={now} />
      <span className="r pause">
        {pause ? `pause ${pause.text} ${pause.unit}` : ""}
        {action.attempt > 1 ? (
          <span title="Earlier attempts were broken off"> attempt {action.attempt}</span>
        ) : null}
      </span>
      {action.detail ? <span className="why2">{action.detail}</span> : null}
      {action.waiting_for.length > 0 || action.decisions.length > 0 ? (
        <span className="why2 waits">
          {waits ? <span>{waits}</span> : null}
          <DecideCommands
            execution={execution}
            action={action}
            offered={waits !== "" || action.state === "dead"}
          />
        </span>
      ) : null}
    </div>
  );
}

const clock = (at: string) => exactTime(at).slice(0, 8);

const runs = (step: ExecutionStep) => ["in_progress", "aborting"].includes(step.state);

const StepRow = memo(function StepRow({
  execution,
  step,
  name,
  now,
}: {
  execution: string;
  step: ExecutionStep;
  name: string;
  now: Date;
}) {
  const current = runs(step);
  const paged = usePaged(step.actions, FIRST, `${step.direction} ${step.index}`);
  // What needs a look comes first when not everything is shown.
  const order = ["dead", "aborting", "preparing", "committed", "aborted", "pending", "done"];
  const shown = paged.open
    ? [...step.actions]
        .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
        .slice(0, FIRST)
    : paged.visible;
  const done = step.actions.filter((action) => action.state === "done").length;
  return (
    <li className={current ? "step cur" : "step"} aria-current={current ? "step" : undefined}>
      <div>
        <b>{name}</b>
        <div style={{ marginTop: 3 }}>
          <StateBadge state={step.state} />
        </div>
        {step.actions.length > FIRST ? (
          <div className="aside">
            {fixed(done)} of {fixed(step.actions.length)}
          </div>
        ) : null}
      </div>
      <div>
        {shown.map((action) => (
          <ActionRow key={action.id} execution={execution} action={action} now={now} />
        ))}
        {paged.open || paged.close ? (
          <div className="aside">
            <PageFoot paged={paged} what="actions" />
          </div>
        ) : null}
      </div>
      <div className="when">
        {step.started_at ? (
          <>
            <time dateTime={step.started_at} title={exactTime(step.started_at)}>
              {clock(step.started_at)}
            </time>
            <br />
            {tookText(step.started_at, step.ended_at, now)}
          </>
        ) : null}
      </div>
    </li>
  );
});

/** Steps of the list at once; of more of them a page is shown, the one where the execution is. */
const PAGE = 25;

type Listed = { step: ExecutionStep; name: string; key: string };

const listed = (step: ExecutionStep, position: number): Listed => ({
  step,
  name: stepName(step, position),
  key: `${step.direction} ${step.index}`,
});

function useFollowed(rows: readonly Listed[]) {
  const [picked, setPicked] = useState<number | null>(null);
  const open = rows.findIndex(({ step }) => !["completed", "aborted"].includes(step.state));
  const here = Math.floor((open === -1 ? Math.max(0, rows.length - 1) : open) / PAGE);
  const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
  const page = Math.min(picked ?? here, last);
  return { visible: rows.slice(page * PAGE, (page + 1) * PAGE), page, last, here, setPicked };
}

function Pages({ count, followed }: { count: number; followed: ReturnType<typeof useFollowed> }) {
  const { page, last, here, visible, setPicked } = followed;
  return (
    <div className="pager">
      <span>
        {fixed(page * PAGE + 1)} to {fixed(page * PAGE + visible.length)} of{" "}
        {countText(count, "step")}.{" "}
        {page === here ? null : (
          <button type="button" className="link" onClick={() => setPicked(null)}>
            Back to where it is
          </button>
        )}
      </span>
      <span className="r">
        <button
          type="button"
          className="btn sm"
          disabled={page === 0}
          onClick={() => setPicked(page - 1)}
        >
          <Icon name="left" small />
          Previous
        </button>
        <button
          type="button"
          className="btn sm"
          disabled={page === last}
          onClick={() => setPicked(page + 1)}
        >
          Next
          <Icon name="right" small />
        </button>
      </span>
    </div>
  );
}

export const ExecutionSteps = memo(function ExecutionSteps({
  execution,
}: {
  execution: Execution;
}) {
  const pauses = execution.steps.some((step) =>
    step.actions.some((action) => action.pause_s !== null || action.attempt > 1),
  );
  const running = MOVING.includes(execution.state) && execution.state !== "paused";
  const now = useNow(running);
  const [still] = useState(now);
  const groups = (["undo", "forward"] as const).map((direction) =>
    execution.steps.filter((step) => step.direction === direction),
  );
  const [undo = [], forward = []] = groups;
  const rows = [...forward.map(listed), ...undo.map(listed)];
  const followed = useFollowed(rows);
  const headway = headwayOf(execution);
  return (
    <Panel
      title="Steps"
      sub={PHASES.join(", ")}
      right={
        <>
          <span>
            {fixed(headway.done)} of {countText(headway.total, "action")}
            {headway.back ? " taken back" : ""}
          </span>
          <StateBadge state={execution.state} />
        </>
      }
      footer={rows.length > PAGE ? <Pages count={rows.length} followed={followed} /> : undefined}
      flush
    >
      <ol className={pauses ? "steps pauses" : "steps"} aria-label="Steps of the execution">
        {followed.visible.map(({ key, step, name }) => (
          // A row in which nothing runs tells no time.
          <StepRow
            key={key}
            execution={execution.id}
            step={step}
            name={name}
            now={runs(step) || step.state === "dead" ? now : still}
          />
        ))}
      </ol>
    </Panel>
  );
});
