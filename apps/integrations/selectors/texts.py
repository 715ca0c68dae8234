"""Write what a change says of its plan, and of how it goes on."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from apps.common.formatting import counted
from apps.executions.models import ExecutionStep
from apps.integrations.domain.contract import ChangeText, Ending
from apps.plans.models import Plan
from apps.plans.selectors.outcomes import Outcome
from apps.plans.selectors.presentation import Change as PlanChange
from apps.plans.selectors.readings import Caller, DetailReading, plan_reading, plan_rows
from weir import actions
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import StepState

LONGEST = 3_900
"""Characters of one text of a change; ServiceNow takes 4,000."""

HOURS = timedelta(hours=4)
"""How long a change is planned to last; people there may change it."""

STEP_WORDS = {
    StepState.COMPLETED: "done",
    StepState.ABORTED: "not done: it was taken back",
    StepState.DEAD: "needs a person",
}
ENDED_WORDS = {
    ExecutionState.SUCCEEDED: "was carried out",
    ExecutionState.FAILED: "failed",
    ExecutionState.STOPPED: "was stopped",
    ExecutionState.ROLLED_BACK: "was rolled back",
}


def link_of(plan: Plan) -> str:
    """Return where people read the plan."""
    return f"{settings.WEIR_PUBLIC_URL}/plans/{plan.public_id}"


def change_text(plan: Plan, key: str, now: datetime) -> ChangeText:
    """Return everything that people who decide about the change need."""
    caller = Caller(person=None, permissions=frozenset())
    reading = plan_reading(plan_rows().get(pk=plan.pk), caller)
    starts_at = reading.policy.next_window_at or now
    return ChangeText(
        key=key,
        title=f"{plan} {plan.title} ({plan.system.name})",
        description=_cut(_description(reading), plan),
        justification=_cut([*plan.content.why, *_promise(reading)], plan) or plan.title,
        implementation=_cut(_steps(reading), plan),
        back_out=_cut(_way_back(plan), plan),
        test=_cut(_test(reading), plan),
        starts_at=starts_at.isoformat(),
        ends_at=(starts_at + HOURS).isoformat(),
        link=link_of(plan),
    )


def _description(reading: DetailReading) -> list[str]:
    plan, blast = reading.plan, reading.plan.blast_radius
    people = reading.author or "Weir"
    return [
        f"{plan} changes the messaging system {plan.system.name}. Made by {people}.",
        f"Read it in Weir: {link_of(plan)}",
        f"Content hash: {plan.content_hash}",
        "",
        "Who is affected:",
        *([reading.hurt.sentence] if reading.hurt else []),
        f"{blast['brokers']} of {counted(blast['brokers_total'], 'broker')}, "
        f"{blast['topics']} of {counted(blast['topics_total'], 'topic')}, "
        f"{counted(blast['links'], 'link')}; at most "
        f"{counted(blast['consumers_admitted'], 'consumer')} let in and "
        f"{blast['consumers_released']:,} released.",
        "",
        "What changes:",
        *(_difference(change) for change in reading.changes),
    ]


def _difference(change: PlanChange) -> str:
    was = change.was or _figure(change.before, change.unit)
    becomes = change.becomes or _figure(change.after, change.unit)
    if change.unit == "link":
        return f"- link {change.label} {'removed' if change.before else 'added'}"
    return f"- {change.label}: {was} -> {becomes}"


def _figure(amount: float | None, unit: str) -> str:
    return "no limit" if amount is None else f"{amount:,.6g} {unit}".strip()


def _promise(reading: DetailReading) -> list[str]:
    return [
        f"Promised: {row.name} from {_figure_known(row.before, row.unit)} to "
        f"{_figure_known(row.after, row.unit)}."
        for row in reading.plan.content.promise
    ]


def _figure_known(amount: float | None, unit: str) -> str:
    return "not known" if amount is None else _figure(amount, unit)


def _steps(reading: DetailReading) -> list[str]:
    lines = ["Weir carries it out by itself, step by step, through the agents of the brokers."]
    for step in reading.steps:
        lines.append(f"Step {step['index'] + 1} of {len(reading.steps)}:")
        lines += [f"- {action['title']}" for action in step["actions"]]
    return lines


def _way_back(plan: Plan) -> list[str]:
    steps = plan.content.steps
    final = [a for step in steps for a in step.actions if actions.is_final(a)]
    inverse = actions.inverse_steps(steps)
    lines = ["An operator rolls the execution back in Weir, or makes a plan that does so later."]
    for number, step in enumerate(inverse, start=1):
        lines.append(f"Step {number} of {len(inverse)}:")
        lines += [f"- {actions.title(action)}" for action in step.actions]
    return [*lines, *(actions.undo_title(action) for action in final)]


def _test(reading: DetailReading) -> list[str]:
    return [
        "Before each step agents have confirmed the one before.",
        "Afterwards Weir measures whether the plan brought what it promises, and writes that here.",
        *_promise(reading),
    ]


def _cut(lines: Iterable[str], plan: Plan) -> str:
    """Return the lines as far as a field takes them, and where the others are."""
    kept: list[str] = []
    length = 0
    rest = f"and more: {link_of(plan)}"
    for row in lines:
        length += len(row) + 1
        if length > LONGEST - len(rest) - 1:
            return "\n".join([*kept, rest])
        kept.append(row)
    return "\n".join(kept)


def progress_text(steps: Sequence[ExecutionStep], *, total: int) -> str:
    """Return one line for each of these steps, which have ended."""
    lines = [
        f"Step {step.index + 1} of {total}"
        f"{' back' if step.direction == 'undo' else ''}: "
        f"{STEP_WORDS.get(StepState(step.state), step.state)}"
        f"{f', {step.ended_at:%Y-%m-%d %H:%M:%S} UTC' if step.ended_at else ''}."
        for step in steps
    ]
    if len(lines) > 40:
        lines = [*lines[:20], f"and {len(lines) - 40} more;", *lines[-20:]]
    return "\n".join(lines)


def ending_text(plan: Plan, outcome: Outcome | None) -> tuple[Ending, str]:
    """Return how the change of a plan that was begun ends, and what people read of it."""
    execution = plan.execution
    assert execution is not None
    state = ExecutionState(execution.state)
    sentence = f"{plan} {ENDED_WORDS.get(state, state.value)} ({execution})."
    if execution.failure:
        sentence += f" {execution.failure}"
    if outcome is None:
        return Ending.FAILED, f"{sentence}\n{link_of(plan)}"
    effect = f"Effect: {outcome.judged.value.replace('_', ' ')}. {outcome.because}"
    return Ending.SUCCEEDED, f"{sentence}\n{effect}\n{link_of(plan)}"
