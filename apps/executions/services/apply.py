"""Apply the coordinator's decisions to the rows, each along its lifecycle table."""

from datetime import UTC, datetime

from django.db import transaction

from apps.common.errors import ApplicationError
from apps.common.formatting import counted
from apps.executions.models import Direction, ExecutionAction, ExecutionStep
from apps.executions.selectors import publishers_left_out
from apps.executions.selectors.flow_map import changes_map
from apps.executions.services.flow_map import MapMoves
from apps.executions.services.loading import Loaded
from apps.executions.services.settings import Settings, settings_forget
from apps.executions.services.stream_places import Followers
from apps.executions.services.transitions import execution_move, record_execution, steps_append
from apps.telemetry.services import broker_remove
from apps.topology.models import Broker
from apps.topology.services import overlay_in_force, overlay_rewire
from weir import actions as kinds
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.coordination.decisions import (
    AbortAction,
    ActionDecision,
    AdoptAction,
    AppendUndoSteps,
    BuryAction,
    CommitAction,
    Decision,
    FinishAction,
    MoveExecution,
    PrepareAction,
    RetryAction,
    RevertAction,
    SettleAction,
    StepDecision,
)
from weir.coordination.wire import ReportPhase
from weir.errors import InvalidProblem
from weir.lifecycle.executions import ExecutionCommand
from weir.lifecycle.steps import ACTIONS, STEPS, ActionState, StepCommand, StepState
from weir.model.plan import Step

ENDED_STEPS = STEPS.ended
LISTED_NAMES = 3
"""The names of publishers that a sentence lists before it counts the others."""
ENDED_STEPS_SAID = {"completed": "was completed", "aborted": "was aborted", "dead": "is dead"}
ENDED_ACTIONS = frozenset({ActionState.DONE, ActionState.ABORTED, ActionState.DEAD})
LEFT = "The map was changed meanwhile: "
"""How the reason begins for which a move was not taken back."""
TOLD_BY_SETTINGS = (PrepareAction, AbortAction)
"""The decisions about a setting after which its agent reads another value."""


class EffectRefused(Exception):
    """Signal that a commit's effect is no longer possible; `instead` is the abort that follows."""

    def __init__(self, decision: CommitAction, reason: str) -> None:
        super().__init__(reason)
        self.instead = AbortAction(
            action=decision.action, reason=reason, deadline=decision.deadline
        )


class Applier:
    """Apply the decisions of one round. `save` writes rows, effects happen at once."""

    def __init__(self, loaded: Loaded, now: datetime) -> None:
        self.loaded = loaded
        self.execution = loaded.execution
        self.now = now
        self.documents_changed = False
        self.asked: dict[int, kinds.SettingKey] = {}
        """Actions whose agents read another value from now on; its number follows."""
        self.lowered: set[kinds.SettingKey] = set()
        """Other settings of which that is true."""
        self.followed: dict[int, frozenset[str]] = {}
        """Moves of the map, with the brokers that have to follow each; its number follows."""
        self.moved = False
        """The map was changed, and who has to follow was not known before: decide again."""
        self.removed = False
        """Somebody was removed, so that others may wait for nobody any more."""
        self._settings = Settings(self.execution.system)
        self._map = MapMoves(self.execution)
        self._moves: list[ExecutionAction] = []
        self._left: dict[int, str] = {}
        """Moves to take back of which nothing is left to take back, with the reason."""
        self._actions: dict[int, ExecutionAction] = {}
        self._steps: dict[int, ExecutionStep] = {}

    def apply(self, decision: Decision) -> None:
        """Carry one decision out. Raises EffectRefused before anything of it was done."""
        if isinstance(decision, MoveExecution):
            sentences = (
                decision.reason,
                self._left_out(decision.command),
                self._left_moved(decision.command),
            )
            reason = " ".join(filter(None, sentences))
            execution_move(self.execution, decision.command, actor=None, reason=reason)
        elif isinstance(decision, AppendUndoSteps):
            self._append(decision)
        elif isinstance(decision, StepDecision):
            self._step(decision)
        else:
            self._action(decision)

    def save(self) -> None:
        """Write every row that was moved."""
        self._settings.save()
        self._move_all()
        self.lowered |= self._settings.lowered
        ExecutionAction.objects.bulk_update(
            self._actions.values(),
            [
                *("state", "attempt", "deadline_at", "moved_at", "interests", "detail"),
                "by_hand",
                *("pause_s", "started_at", "ended_at", "asked_number"),
            ],
        )
        ExecutionStep.objects.bulk_update(self._steps.values(), ["state", "started_at", "ended_at"])
        if self._actions or self._steps:
            # An execution is shown with how many of its actions are done.
            self.execution.save(update_fields=["updated_at"])
        self._actions, self._steps = {}, {}

    def _step(self, decision: StepDecision) -> None:
        row = self.loaded.steps[decision.step]
        row.state = STEPS.advance(StepState(row.state), decision.command).value
        if decision.command is StepCommand.BEGIN:
            row.started_at = self.now
        elif row.state in ENDED_STEPS:
            row.ended_at = self.now
            said = f"{self.loaded.view.step_name(decision.step)} {ENDED_STEPS_SAID[row.state]}."
            record_execution(self.execution, f"step_{row.state}", None, reason=said)
        self._steps[row.pk] = row

    def _action(self, decision: ActionDecision) -> None:
        row = self.loaded.actions[decision.action]
        action = row.action
        of_map = changes_map(action)
        setting = kinds.protocol(action) == "setting" and not of_map
        if isinstance(decision, CommitAction):
            if of_map:
                self._move(row, decision)
            elif setting:
                self._settings.prove(action)
            else:
                self._swap(row, decision)
        elif isinstance(decision, AdoptAction | RevertAction):
            self._follow(row, decision)
        elif setting and isinstance(decision, PrepareAction):
            self._settings.ask(action)
        elif setting and isinstance(decision, AbortAction):
            self._settings.give_up(action)
        elif row.kind == PUBLISHERS and isinstance(decision, SettleAction):
            view = self.loaded.view_of(decision.action)
            # Of what was given up in this very round nobody has confirmed anything.
            confirmed = view.confirmed_by if view.state is ActionState.ABORTING else frozenset()
            if view.awaited - confirmed:
                self._settings.doubt(action)
        row.state = ACTIONS.advance(ActionState(row.state), decision.command).value
        row.moved_at = self.now
        row.ended_at = self.now if row.state in ENDED_ACTIONS else None
        match decision:
            case PrepareAction():
                row.attempt, row.deadline_at = decision.attempt, _time(decision.deadline)
                row.started_at = row.started_at or self.now
                row.pause_s = None
            case CommitAction():
                row.deadline_at, row.detail = _time(decision.deadline), self._left.get(row.pk, "")
                row.interests = {role: list(flows) for role, flows in decision.interests.items()}
            case AdoptAction():
                row.deadline_at = _time(decision.deadline)
                row.interests = {role: list(flows) for role, flows in decision.interests.items()}
                row.detail = row.by_hand = decision.reason
            case RevertAction():
                row.deadline_at, row.detail = None, decision.reason
                row.by_hand = decision.reason
            case AbortAction():
                row.deadline_at, row.detail = _time(decision.deadline), decision.reason
            case BuryAction():
                row.detail = decision.reason
            case FinishAction():
                left = row.detail if of_map and row.detail.startswith(LEFT) else ""
                row.deadline_at, row.detail = None, decision.detail or left
                row.pause_s = self._pause_s(decision.action, ReportPhase.SWITCHED)
            case SettleAction() | RetryAction():
                row.deadline_at = None
                row.pause_s = self._pause_s(decision.action, ReportPhase.RELEASED) or row.pause_s
        self._actions[row.pk] = row
        if setting and isinstance(decision, TOLD_BY_SETTINGS):
            row.asked_number = None
            self.asked[row.pk] = kinds.setting_key(action)
        # A list that was proved, or given up, no longer keeps its publishers from other brokers.
        heard = row.pk in self.asked or row.kind == PUBLISHERS
        self.documents_changed |= heard or not (setting or of_map)

    def _left_out(self, command: ExecutionCommand) -> str:
        """Say who is let in nowhere where an execution ends between releasing publishers and
        letting them in; empty where that is nobody."""
        stopped = command is ExecutionCommand.SETTLE and self.execution.state == "stopping"
        if command is not ExecutionCommand.FAIL and not stopped:
            return ""
        self._settings.save()
        sentences = []
        for flow, names in publishers_left_out(self.execution).items():
            first = ", ".join(names[:LISTED_NAMES])
            more = f" and {len(names) - LISTED_NAMES:,} more" if len(names) > LISTED_NAMES else ""
            are = "is" if len(names) == 1 else "are"
            sentences.append(
                f"{counted(len(names), 'publisher')} of {flow} {are} let in nowhere now ({first}"
                f"{more}): roll this back, or carry out another plan of the placement."
            )
        return " ".join(sentences)

    def _left_moved(self, command: ExecutionCommand) -> str:
        """Say what a rollback has left where somebody moved it; empty where that is nothing."""
        if command is not ExecutionCommand.SETTLE or self.execution.state != "rolling_back":
            return ""
        left = [
            next(iter(row.target.values()))
            for row in self.loaded.actions.values()
            if changes_map(row.action)
            and row.inverts_id is not None
            and row.detail.startswith(LEFT)
        ]
        if not left:
            return ""
        first = ", ".join(left[:LISTED_NAMES])
        more = f" and {len(left) - LISTED_NAMES:,} more" if len(left) > LISTED_NAMES else ""
        return (
            f"{counted(len(left), 'move was', 'moves were')} not taken back, because somebody "
            f"has changed them since: {first}{more}."
        )

    def _move(self, row: ExecutionAction, decision: CommitAction) -> None:
        """Change the map that Weir keeps; `save` writes all moves of the round together."""
        beside = (a for a in self.loaded.actions.values() if a.step_id == row.step_id)
        try:
            self._map.move(row.action, (other.action for other in beside))
        except InvalidProblem as error:
            reason = f"{LEFT}{error}"
            if self.loaded.steps[str(row.step_id)].direction != Direction.UNDO:
                raise EffectRefused(decision, reason) from error
            # What somebody has moved since is theirs; it keeps nothing else from going back.
            self._left[row.pk] = reason
        else:
            self._moves.append(row)

    def _move_all(self) -> None:
        """Write the moves of the round, and who has to follow them: brokers whose documents say
        something else of a flow from now on."""
        system, agents = self.execution.system, self.loaded.following
        watched = bool(self._moves) and agents.is_awaited
        followers = Followers(system, frozenset(agents.seen), self._moves) if watched else None
        self._map.save()
        for pk, brokers in (followers.by_action() if followers else {}).items():
            self._actions[pk].interests = brokers
            self._actions[pk].asked_number = None
            self.followed[pk] = frozenset(brokers)
            self.documents_changed = True
        self.moved |= watched
        self._moves = []

    def _swap(self, row: ExecutionAction, decision: CommitAction) -> None:
        """Change the overlay's edges, in the transaction in which the action is committed."""
        try:
            with transaction.atomic():
                overlay = overlay_in_force(self.execution.system)
                title = kinds.title(row.action)
                overlay_rewire(
                    overlay=overlay,
                    rewire=lambda edges: kinds.kind_of(row.action).apply_edges(edges, row.action),
                    reason=f"{self.execution} of {self.execution.subject_name}: {title}",
                )
                self._remove(row, title)
        except (InvalidProblem, ApplicationError) as error:
            raise EffectRefused(decision, f"The overlay was changed meanwhile: {error}") from error

    def _follow(self, row: ExecutionAction, decision: AdoptAction | RevertAction) -> None:
        """Give the overlay the edges by which the agents forward already, whoever decided that."""
        adopted = isinstance(decision, AdoptAction)
        action = row.action if adopted else kinds.inverse(row.action)
        title = kinds.title(row.action)
        told = f"{title}: {decision.reason}"
        try:
            with transaction.atomic():
                overlay_rewire(
                    overlay=overlay_in_force(self.execution.system),
                    rewire=lambda edges: kinds.kind_of(action).apply_edges(edges, action),
                    reason=f"{self.execution} of {self.execution.subject_name}: {told}",
                )
                self._remove(row, title)
        except (InvalidProblem, ApplicationError) as error:
            # The agents' links follow the overlay in force once the action is over.
            told = f"{told}; the overlay in force does not take that any more: {error}"
        command = "adopt_outcome" if adopted else "revert_outcome"
        record_execution(self.execution, command, None, reason=told)

    def _remove(self, row: ExecutionAction, title: str) -> None:
        """Remove brokers that are gone for good: their agents are revoked, their settings are in
        force no more."""
        gone = kinds.absent(row.action)
        if not gone:
            return
        # What this decision has changed is written first; settings are read anew afterwards.
        self._settings.save()
        self.lowered |= self._settings.lowered
        for broker in Broker.objects.filter(system=self.execution.system, name__in=gone):
            settings = settings_forget(self.execution.system, broker.name)
            ended = f"; no longer in force: {', '.join(settings)}" if settings else ""
            broker_remove(broker=broker, reason=f"{self.execution}: {title}{ended}")
            self.removed = True
        self._settings = Settings(self.execution.system)

    def _append(self, decision: AppendUndoSteps) -> None:
        """Append steps that take back what is in force, last first."""
        undone = [[self.loaded.actions[name] for name in names] for names in decision.steps]
        steps = [Step(actions=tuple(kinds.inverse(r.action) for r in rows)) for rows in undone]
        steps_append(
            self.execution, steps, Direction.UNDO, inverts=[row for rows in undone for row in rows]
        )

    def _pause_s(self, action: str, phase: ReportPhase) -> float | None:
        """Return the longest pause of a participant in the running attempt."""
        pauses = [
            report.pause_s
            for said in self.loaded.reports.get(action, {}).values()
            for report in said
            if report.phase is phase and report.pause_s is not None
        ]
        return max(pauses, default=None)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
