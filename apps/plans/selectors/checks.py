"""Check the live state before a plan is carried out; everything is read now and nothing is
touched.

A reviewer sees these, a dry run repeats them, and executing refuses where one of them fails.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.apps import apps
from django.utils.module_loading import import_string

from apps.common.formatting import counted
from apps.executions.models import ACTIVE_NAMES, Execution, Setting
from apps.executions.selectors import in_force, observed_of
from apps.executions.services.settings import asks_of, shows
from apps.plans.domain.envelope import Measured
from apps.plans.models import Plan
from apps.plans.selectors.approvals import enough, valid_approvals
from apps.plans.selectors.intermediate import TOLERANCE, Heaviest, NoModel, heaviest_state
from apps.plans.selectors.rules import Ruling
from apps.plans.selectors.staleness import has_moved, moved_because
from apps.telemetry.models import AgentState
from apps.telemetry.selectors import agents_of
from apps.telemetry.selectors.measured import measured
from apps.telemetry.selectors.silence import silences
from weir import actions
from weir.actions import InForce
from weir.coordination.wire import Observed
from weir.errors import InvalidProblem
from weir.model.plan import Action, Step

State = Literal["pass", "fail", "warn", "unknown"]
PASS: State = "pass"
FAIL: State = "fail"
WARN: State = "warn"
UNKNOWN: State = "unknown"
SHOWN = 3

MODEL = "model_unchanged"
BEFORE = "before_in_force"
ENVELOPE = "inside_envelope"
INTERMEDIATE = "intermediate_states"
AGENTS = "agents_alive"
GONE = "removed_are_silent"
OBSERVED = "agents_agree"
ROLL_BACK = "roll_back_ready"
IDLE = "system_idle"
WINDOW = "window_open"
APPROVALS = "approvals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Describe one check: `fail` forbids, `warn` and `unknown` do not."""

    name: str
    title: str
    state: State
    detail: str
    overload: str = ""
    """Where the plan would load more than a capacity, whether or not somebody has accepted it."""
    refusal: str = ""
    """The code of the problem by which executing is refused where a check of another app fails."""


def checks(plan: Plan, ruling: Ruling, now: datetime) -> list[Check]:
    """Return everything that has to hold when the plan is carried out. Only for unsettled plans."""
    found = in_force(plan.system, plan.content.steps)
    return [
        _model(plan),
        _before(plan, found),
        _envelope(measured_envelope(plan)),
        _intermediate(plan, found),
        *_agents(plan, found),
        *_gone(plan, ruling, now),
        _roll_back(plan, found),
        _idle(plan),
        _window(ruling),
        _approvals(plan, ruling, now),
        *_others(plan, now),
    ]


def _others(plan: Plan, now: datetime) -> Iterator[Check]:
    """Yield the checks of apps above this one, which name them.

    An `AppConfig` does so as `checks_plans = "apps.integrations.selectors.gate.change_check"`. Such
    a function takes plan and time, and returns None where it has nothing to check.
    """
    for config in apps.get_app_configs():
        path = getattr(config, "checks_plans", "")
        check: Check | None = import_string(path)(plan, now) if path else None
        if check is not None:
            yield check


def _check(name: str, title: str, state: State, detail: str) -> Check:
    return Check(name=name, title=title, state=state, detail=detail)


def _model(plan: Plan) -> Check:
    title = "Model unchanged since it was planned"
    if has_moved(plan):
        return _check(MODEL, title, FAIL, moved_because(plan))
    return _check(MODEL, title, PASS, f"version {plan.model_version}")


def _before(plan: Plan, found: InForce) -> Check:
    """Check that the plan starts from what is in force, so that its titles and its inverse are
    true."""
    title = "What is in force is what the plan starts from"
    state = found
    every = [action for step in plan.content.steps for action in step.actions]
    for action in every:
        try:
            state = actions.replay(state, [Step(actions=(action,))])
        except InvalidProblem as error:
            what = "its value before " if error.path.endswith("before") else ""
            said = f"{what}{error.message}".removesuffix("; plan again")
            return _check(BEFORE, title, FAIL, f"{actions.title(action)}: {said}")
    return _check(BEFORE, title, PASS, f"{len(every)} of {counted(len(every), 'action')}")


def measured_envelope(plan: Plan) -> list[Measured]:
    """Return every bound of the plan with what publishers offer now; a bound is named as its
    flow."""
    bounds = plan.content.envelope
    now = measured(plan.system).offered if bounds else {}
    return [
        Measured(
            name=bound.name,
            unit=bound.unit,
            low=bound.low,
            high=bound.high,
            measured=now.get(bound.name),
        )
        for bound in bounds
    ]


def _envelope(rows: list[Measured]) -> Check:
    title = "Load inside the envelope"
    known = [row for row in rows if row.measured is not None]
    outside = [row for row in known if not row.inside]
    if outside:
        return _check(ENVELOPE, title, FAIL, _listed([row.sentence for row in outside]))
    if not rows:
        return _check(ENVELOPE, title, PASS, "the plan assumes none")
    if len(known) < len(rows):
        missing = counted(len(rows), "quantity is", "quantities are")
        detail = f"{len(rows) - len(known)} of {missing} not measured now"
        return _check(ENVELOPE, title, UNKNOWN, detail)
    return _check(ENVELOPE, title, PASS, _listed([row.sentence for row in known]))


def _intermediate(plan: Plan, found: InForce) -> Check:
    title = "Every intermediate state is valid"
    steps = plan.content.steps
    trees = any(actions.protocol(a) == "tree" for step in steps for a in step.actions)
    try:
        worst: Heaviest | None = heaviest_state(plan.system, steps, found)
    except NoModel as error:
        return _check(INTERMEDIATE, title, UNKNOWN, str(error))
    except InvalidProblem as error:
        return _check(INTERMEDIATE, title, FAIL, str(error))
    said = [counted(len(steps), "step")]
    if trees:
        said.append("the overlay stays a tree")
    if worst is not None:
        said.append(worst.sentence)
    detail = ", ".join(said)
    if worst is None or (not worst.over and worst.share <= 1.0 + TOLERANCE):
        return _check(INTERMEDIATE, title, PASS, detail)
    if not worst.over:
        # Above a capacity, but no further than it may be today: the plan does no harm.
        return _check(INTERMEDIATE, title, WARN, detail)
    if plan.accepted_overload:
        who = plan.accepted_overload_by
        detail += f"; {who.display_name if who else 'Weir'} accepts that: {plan.accepted_overload}"
    return Check(
        name=INTERMEDIATE,
        title=title,
        state=WARN if plan.accepted_overload else FAIL,
        detail=detail,
        overload=worst.sentence,
    )


def _agents(plan: Plan, found: InForce) -> list[Check]:
    """Return whether each touched broker has a live agent, and whether it sees what the plan starts
    from.

    The first values a setting has are the ones that matter: later steps build on earlier ones.
    """
    first: dict[Any, Action] = {}
    for step in plan.content.steps:
        for action in step.actions:
            first.setdefault(actions.setting_key(action), action)
    gone = _absent(plan)
    touched = sorted({b for action in first.values() for b in actions.brokers(action)} - gone)
    enrolled = {agent.broker.name: agent for agent in agents_of(plan.system)}
    live = {name for name, agent in enrolled.items() if agent.state() == AgentState.LIVE}
    seen = observed_of(enrolled.values())
    # A broker without an agent has nothing to take back.
    touched = [broker for broker in touched if broker in enrolled or _asked(plan, broker)]
    silent = [broker for broker in touched if broker not in live]
    alive = _check(
        AGENTS,
        "Agents of all touched brokers hold their lease",
        FAIL if silent else PASS,
        f"no live agent at {_listed(silent)}"
        if silent
        else f"{len(touched)} of {counted(len(touched), 'agent')}",
    )
    controlled = {
        (row.kind, row.target_key): row.controlled
        for row in Setting.objects.filter(system=plan.system, controlled__isnull=False)
    }
    differ: dict[str, None] = {}
    for key, action in first.items():
        for broker in actions.brokers(action):
            if broker in live and broker in seen:
                wanted = [action.before, controlled.get(key, action.before)]
                if not _agrees(action, broker, seen[broker], wanted, found):
                    differ[broker] = None
    told = [broker for broker in touched if broker in live and broker in seen]
    title = "Agents see what the plan starts from"
    if differ:
        detail = f"something else is in force at {_listed(list(differ))}"
        # Agents keep bringing their brokers back to what is in force: it passes, or the agent says
        # why it cannot. Executing is safe either way.
        return [alive, _check(OBSERVED, title, WARN, detail)]
    if len(told) < len(touched):
        asked = counted(len(touched), "agent has", "agents have")
        detail = f"{len(told)} of {asked} said what they see"
        return [alive, _check(OBSERVED, title, UNKNOWN, detail)]
    agree = counted(len(touched), "agent agrees", "agents agree")
    return [alive, _check(OBSERVED, title, PASS, f"{len(told)} of {agree}")]


def _asked(plan: Plan, broker: str) -> bool:
    """Return whether an action asks something of the broker."""
    return any(
        actions.protocol(action) == "tree" or asks_of(action, action.after, broker)
        for step in plan.content.steps
        for action in step.actions
        if broker in actions.brokers(action)
    )


def _absent(plan: Plan) -> frozenset[str]:
    steps = plan.content.steps
    return frozenset().union(*(actions.absent(a) for step in steps for a in step.actions))


def _gone(plan: Plan, ruling: Ruling, now: datetime) -> list[Check]:
    """Check that brokers to be removed as gone for good were silent for as long as the policy
    asks."""
    gone = _absent(plan)
    if not gone:
        return []
    title = "Brokers that are removed are silent"
    least_s = ruling.terms.remove_after_s
    for silence in sorted(silences(plan.system, now), key=lambda row: row.broker):
        if silence.broker in gone and silence.seconds < least_s:
            said = "speaks" if silence.seconds <= 0 else f"was heard {silence.seconds:.0f} s ago"
            detail = f"{silence.broker} {said}; it is removed after {least_s} s of silence"
            return [_check(GONE, title, FAIL, detail)]
    return [_check(GONE, title, PASS, f"{_listed(sorted(gone))}: for more than {least_s} s")]


def _agrees(action: Action, broker: str, seen: Observed, wanted: list[Any], found: InForce) -> bool:
    """Return whether the agent's own look at its broker shows one of the values that may be in
    force."""
    if actions.protocol(action) == "tree":
        links = sorted({b if a == broker else a for a, b in found.edges if broker in (a, b)})
        return sorted(seen.links) == links
    return any(shows(seen, action, value, broker) for value in wanted)


def _roll_back(plan: Plan, found: InForce) -> Check:
    """Check the plan's inverse as the plan is, from what the plan will have put in force."""
    title = "Can be rolled back"
    steps = plan.content.steps
    final = [a for step in steps for a in step.actions if actions.is_final(a)]
    if final:
        return _check(ROLL_BACK, title, WARN, actions.undo_title(final[0]))
    inverse = actions.inverse_steps(steps)
    count = sum(len(step.actions) for step in inverse)
    said = f"{counted(count, 'action')}, {counted(len(inverse), 'step')}"
    try:
        after = actions.replay(found, steps)
        leads_back = actions.replay(after, inverse) == found
        worst = heaviest_state(plan.system, inverse, after)
    except (InvalidProblem, NoModel) as error:
        return _check(ROLL_BACK, title, UNKNOWN, str(error))
    if not leads_back:
        detail = f"{said}, which do not lead back to what is in force"
        return _check(ROLL_BACK, title, FAIL, detail)
    if worst is not None and worst.over:
        detail = f"{said}, only with a reason of somebody who may approve: {worst.sentence}"
        return _check(ROLL_BACK, title, WARN, detail)
    return _check(ROLL_BACK, title, PASS, said)


def _idle(plan: Plan) -> Check:
    title = "No other execution holds the system"
    active = Execution.objects.filter(system=plan.system, state__in=ACTIVE_NAMES).first()
    if active is None:
        return _check(IDLE, title, PASS, "none is active")
    detail = f"{active} of {active.subject_name} is {active.state.replace('_', ' ')}"
    return _check(IDLE, title, FAIL, detail)


def _window(ruling: Ruling) -> Check:
    state = PASS if ruling.window_open else FAIL
    return _check(WINDOW, "Maintenance window open", state, ruling.window_text)


def _approvals(plan: Plan, ruling: Ruling, now: datetime) -> Check:
    given = len(valid_approvals(plan, now))
    detail = f"{given} of {ruling.approvals_needed} given"
    if ruling.approves_by_itself:
        detail = ruling.approves_by_itself
    state = PASS if enough(plan, ruling, now) else WARN
    return _check(APPROVALS, "Approvals that the policy asks for", state, detail)


def _listed(names: list[str]) -> str:
    if len(names) <= SHOWN:
        return ", ".join(names)
    return ", ".join(names[:SHOWN]) + f" and {len(names) - SHOWN} more"
