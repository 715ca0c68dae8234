"""The control plane: a database in memory around the production `decide` and `order_for`.

Executions go one after the other, in transactions; documents, sessions with incarnations, long
polls and observed states are as agents of production expect them. A crash loses only who was
waiting for an answer. `tests.lives.line` is the way to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.client import Away, Introduction, Refused, Session
from tests.lives.actions import Change, Edge, is_tree
from tests.lives.faults import stop_control
from tests.lives.lease import Lease
from weir.coordination.coordinator import UNDER_WAY, Coordinator, Limits
from weir.coordination.decisions import (
    AbortAction,
    AppendUndoSteps,
    BuryAction,
    CommitAction,
    Decision,
    FinishAction,
    MoveExecution,
    PrepareAction,
    RetryAction,
    applied,
)
from weir.coordination.views import ActionView, Direction, ExecutionView, StepView, orders_of
from weir.coordination.wire import (
    ClassSpec,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Observed,
    Order,
    OrderPhase,
    Report,
)
from weir.lifecycle.executions import EXECUTIONS, ExecutionCommand, ExecutionState
from weir.lifecycle.steps import ActionState, StepState

if TYPE_CHECKING:
    from tests.lives.world import World

LEASE_S = 5.0
POLL_S = 3.0
TICK_S = 0.5
ENDED = (
    ExecutionState.STOPPED,
    ExecutionState.FAILED,
    ExecutionState.ROLLED_BACK,
    ExecutionState.SUCCEEDED,
)
STRANGE = Order(
    action="from-the-future",
    attempt=1,
    kind="dance",
    phase=OrderPhase.PREPARE,
    role="i",
    peers={"i": "b0", "j": "b1"},
)


@dataclass(slots=True)
class Setting:
    """One row of what is in force; `changed`: the number from which on documents ask for it."""

    in_force: float | None
    desired: float | None
    changed: int = 0


class Control:
    """Documents, reports, leases, and the executions one after the other."""

    coordinator_class: type[Coordinator] = Coordinator
    checks_order_of_reports = True
    hides_who_never_came = False
    """A broker whose agent has never said where it is reached is in no document."""

    def __init__(self, world: World, edges: set[Edge], settings: dict[tuple[str, str], Setting]):
        self.world = world
        self.up = True
        self.reports_to_live: int | None = None
        """When not None: it stops before it takes in the report after so many more."""
        self.outage_s = 1.0
        self.edges = set(edges)
        self.settings = settings
        self.classes: dict[str, tuple[str, str]] = {}
        """Class -> (broker, flow)."""
        self.executions: list[ExecutionView] = []
        self.before: dict[int, object] = {}
        """Execution -> what was in force when it began."""
        self.changes: dict[str, Change] = {}
        self.leases = dict.fromkeys(world.names, Lease())
        self.observed: dict[str, tuple[int, int, Observed]] = {}
        self.documents: dict[str, Document] = {}
        self.revision = 0
        """Changes with every transaction that wrote something."""
        self.built: dict[str, int] = {}
        self.serials = dict.fromkeys(world.names, 0)
        self.listeners: list[Callable[[], None]] = []
        """Polls that wait for another document."""
        self.addresses: dict[str, str] = {}
        self.strange: set[str] = set()
        """Brokers whose documents hold an order of a kind that no agent knows."""
        self.removed: set[str] = set()
        """Brokers that a plan has removed; their agents are strangers."""
        self.coordinator = self.coordinator_class(
            Limits(
                prepare_timeout_s=2.5,
                setting_timeout_s=4.0,
                bury_after_s=world.bury_after_s,
                max_attempts=3,
            )
        )

    def stop(self) -> None:
        """The process ends; whoever waits for an answer hears that."""
        self.up = False
        self.reports_to_live = None
        self.tell()

    def start(self) -> None:
        """Another process on the same database."""
        self.up = True
        self.world.say("control plane is back")
        self.advance()

    # --- executions

    def execute(self, steps: list[list[Change]], *, pace_s: float, max_parallel: int) -> None:
        """A new execution."""
        number = len(self.executions)
        self.before[number] = self.in_force
        steps = self._replanned(steps)
        self.executions.append(
            ExecutionView(
                state=ExecutionState.PENDING,
                steps=tuple(
                    self._step(f"e{number}s{i}", i, [(c, None) for c in changes])
                    for i, changes in enumerate(steps)
                ),
                live=frozenset(),
                pace_s=pace_s,
                max_parallel=max_parallel,
            )
        )
        self.advance()

    def _replanned(self, steps: list[list[Change]]) -> list[list[Change]]:
        """With `before` as it is, and without what no longer fits: the plan before may have ended
        otherwise than planned."""
        values = {key: setting.in_force for key, setting in self.settings.items()}
        edges = set(self.edges)
        fresh: list[list[Change]] = []
        for step in steps:
            fresh.append([])
            for change in step:
                if not change.tree:
                    change = replace(change, before=values[change.key])
                    values[change.key] = change.after
                else:
                    go, come = change.edges(edges)
                    after = (edges - go) | come
                    if not go <= edges or come & edges or not is_tree(after):
                        continue
                    edges = after
                fresh[-1].append(change)
        return [step for step in fresh if step]

    @property
    def in_force(self) -> object:
        """Everything a rollback has to give back."""
        return frozenset(self.edges), {key: s.in_force for key, s in self.settings.items()}

    def _step(
        self,
        name: str,
        index: int,
        changes: list[tuple[Change, str | None]],
        direction: Direction = Direction.FORWARD,
    ) -> StepView:
        views = []
        for i, (change, inverts) in enumerate(changes):
            self.changes[f"{name}a{i}"] = change
            self.world.say("planned %sa%d %s", name, i, change)
            views.append(change.view(f"{name}a{i}", inverts))
        return StepView(
            id=name,
            index=index,
            state=StepState.PENDING,
            actions=tuple(views),
            direction=direction,
        )

    def command(self, command: ExecutionCommand) -> bool:
        """What a person asks of the newest execution; False when its state does not allow it."""
        if not self.executions or not EXECUTIONS.allows(self.executions[-1].state, command):
            return False
        view = self.executions[-1]
        self.executions[-1] = replace(view, state=EXECUTIONS.advance(view.state, command))
        self.world.say("a person says %s", command)
        self.world.counts[f"command_{command}"] += 1
        self.advance()
        return True

    @property
    def idle(self) -> bool:
        """Nothing is under way and nobody is missing."""
        return all(_over(view) for view in self.executions)

    @property
    def ended(self) -> bool:
        """No execution holds the system; somebody may still be missing."""
        return all(
            view.state in ENDED and all(s.state is not StepState.PENDING for s in view.steps)
            for view in self.executions
        )

    def remove(self, broker: str) -> None:
        """Its agent is a stranger from now on."""
        self.world.say("%s is removed", broker)
        self.removed.add(broker)
        if broker not in self.world.gone.destroyed:
            self.world.gone.excuse(broker)

    def tick(self) -> None:
        """Deadlines and pace."""
        if self.up and not self.idle:
            self.advance()
        self.world.clock.after(TICK_S, self.tick)

    def advance(self) -> None:
        """One transaction per execution: decide, apply, until nothing follows."""
        if not self.up:
            return
        now = self.world.clock.now
        for number, view in enumerate(self.executions):
            if _over(view):
                continue
            while decisions := self.coordinator.decide(self._fresh(view, now), now):
                for decision in decisions:
                    view = self._apply(number, view, decision, now)
                if len(decisions) > 500:
                    self.world.audit.fail("decide goes round in circles")
            self.executions[number] = view
        self.tell()

    def _fresh(self, view: ExecutionView, now: float) -> ExecutionView:
        live = frozenset(b for b, lease in self.leases.items() if lease.live(now))
        steps = tuple(
            replace(s, actions=tuple(self._confirmed(a) for a in s.actions))
            if s.state in (StepState.IN_PROGRESS, StepState.ABORTING)
            and any(a.awaited for a in s.actions)
            else s
            for s in view.steps
        )
        return replace(view, live=live, removed=frozenset(self.removed), steps=steps)

    def _confirmed(self, action: ActionView) -> ActionView:
        if not action.awaited or action.state not in UNDER_WAY:
            return action
        change = self.changes[action.id]
        broker, name = change.key
        setting = self.settings[change.key]
        _, number, observed = self.observed.get(broker, (0, 0, Observed()))
        if change.kind == "set_population":
            shown: float | None = observed.limits.get(name)
        else:
            shown = observed.gates[name].rate_per_s if name in observed.gates else None
        if shown == setting.desired and self._recent(number, setting):
            return replace(action, confirmed_by=frozenset({broker}))
        return replace(action, confirmed_by=frozenset())

    def _recent(self, number: int, setting: Setting) -> bool:
        """What was observed before the document that asked for it confirms nothing."""
        return number >= setting.changed

    def _apply(
        self, number: int, view: ExecutionView, decision: Decision, now: float
    ) -> ExecutionView:
        self.revision += 1
        self.world.say("decides %s", decision)
        audit = self.world.audit
        match decision:
            case AppendUndoSteps(steps=steps):
                first = len(view.steps)
                undo = tuple(
                    self._step(
                        f"e{number}s{first + i}",
                        first + i,
                        [(self.changes[a].inverse(), a) for a in actions],
                        Direction.UNDO,
                    )
                    for i, actions in enumerate(steps)
                )
                return replace(view, steps=(*view.steps, *undo))
            case PrepareAction(action=action):
                audit.prepared(action, decision.attempt)
                change = self.changes[action]
                if not change.tree:
                    self._desire(change, change.after)
            case CommitAction(action=action):
                self._commit(action, view)
            case AbortAction(action=action):
                audit.aborted(action, self._action(view, action).attempt)
                change = self.changes[action]
                if not change.tree:
                    self._desire(change, self.settings[change.key].in_force)
            case FinishAction(action=action):
                self.world.counts[f"done_{self.changes[action].kind}"] += 1
            case BuryAction():
                self.world.counts["buried"] += 1
            case RetryAction():
                self.world.counts["retried"] += 1
            case MoveExecution(command=command):
                self.world.counts[f"execution_{command}"] += 1
                if command is ExecutionCommand.SETTLE and (
                    view.state is ExecutionState.ROLLING_BACK
                ):
                    self.world.counts["rolled_back"] += 1
                    final = any(a.final for s in view.steps for a in s.actions)
                    if self.in_force != self.before[number] and not final:
                        audit.fail(f"the rollback of execution {number} left something behind")
        return applied(view, decision, now)

    @staticmethod
    def _action(view: ExecutionView, name: str) -> ActionView:
        return next(a for s in view.steps for a in s.actions if a.id == name)

    def _desire(self, change: Change, value: float | None) -> None:
        setting = self.settings[change.key]
        setting.desired = value
        setting.changed = self.revision
        self.world.audit.may_enforce(change, value)

    def _commit(self, name: str, view: ExecutionView) -> None:
        change = self.changes[name]
        self.world.audit.committed(name, self._action(view, name).attempt)
        if change.tree:
            go, come = change.edges(self.edges)
            if not go <= self.edges or come & self.edges:
                self.world.audit.fail(f"{name} {change} does not fit the overlay")
            for gone in sorted(self._action(view, name).gone):
                self.remove(gone)
            self.edges = (self.edges - go) | come
            self.world.audit.edges_changed(self.edges)
        else:
            setting = self.settings[change.key]
            setting.in_force = setting.desired
            self.world.audit.is_enforced(change, setting.in_force)

    # --- documents

    def neighbours(self, broker: str) -> frozenset[str]:
        """By the database's edges."""
        return frozenset(b for edge in self.edges if broker in edge for b in edge - {broker})

    def document(self, broker: str) -> Document:
        """Everything that shall be true at a broker now."""
        if self.built.get(broker) == self.revision:
            return self.documents[broker]
        self.built[broker] = self.revision
        scenario = self.world.scenario
        classes, gates = self._enforced(broker)
        orders = self._orders(broker)
        if broker in self.strange:
            orders.append(STRANGE)
        under_way = [
            self.settings[self.changes[action.id].key].changed
            for view in self.executions
            for step in view.steps
            for action in step.actions
            if action.state in UNDER_WAY and broker in action.awaited
        ]
        document = Document(
            system="s",
            broker=broker,
            version=str(self.serials[broker]),
            flows={
                flow: FlowSpec(delivery=self.world.deliveries[flow], ingress=source == broker)
                for flow, source in scenario.ingress.items()
            },
            classes=classes,
            gates=gates,
            neighbours={
                n: Neighbour(address=self.addresses.get(n, ""))
                for n in sorted(self.neighbours(broker))
                if n in self.addresses or not self.hides_who_never_came
            },
            orders=tuple(orders),
            asked=max(under_way, default=0),
        )
        before = self.documents.get(broker)
        if before is None or replace(document, number=before.number) != before:
            document = replace(document, version=str(self._next_version(broker)))
        self.documents[broker] = document = replace(document, number=self.revision)
        return document

    def _enforced(self, broker: str) -> tuple[dict[str, ClassSpec], dict[str, Gate]]:
        """The classes and gates that are asked for at a broker."""
        classes: dict[str, ClassSpec] = {}
        gates: dict[str, Gate] = {}
        for (where, name), setting in self.settings.items():
            if where != broker:
                continue
            if name in self.classes:
                limit = None if setting.desired is None else int(setting.desired)
                classes[name] = ClassSpec(flow=self.classes[name][1], limit=limit)
            elif setting.desired is not None:
                gates[name] = Gate(rate_per_s=setting.desired, burst=4.0)
        return classes, gates

    def _orders(self, broker: str) -> list[Order]:
        """Those of every action that agents may still have to hear of."""
        return [
            order
            for view in self.executions
            for step in view.steps
            for action in step.actions
            if (order := orders_of(action, self.addresses).get(broker)) is not None
        ]

    def _next_version(self, broker: str) -> int:
        """Never the same twice, also when a value goes there and back."""
        self.serials[broker] += 1
        return self.serials[broker]

    def tell(self) -> None:
        """Whoever waits for another document looks again."""
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener()

    # --- what agents ask and say

    def opened(self, broker: str, introduction: Introduction) -> Session:
        """POST session."""
        self._known(broker)
        now = self.world.clock.now
        self.leases[broker] = lease = self.leases[broker].opened(now, LEASE_S)
        self.observed.pop(broker, None)
        self.addresses[broker] = introduction.address
        self.revision += 1
        self.tell()
        return Session(
            system="s",
            broker=broker,
            incarnation=lease.incarnation,
            lease_s=LEASE_S,
            poll_s=POLL_S,
        )

    def check(self, broker: str, incarnation: int) -> None:
        """Raises Superseded for a session that was replaced, Refused for a stranger."""
        self._known(broker)
        if incarnation != self.leases[broker].incarnation:
            self.world.counts["fenced"] += 1
        self.leases[broker].check(incarnation)

    def _known(self, broker: str) -> None:
        if broker in self.removed:
            raise Refused(f"{broker} was removed")

    def heard(
        self,
        broker: str,
        incarnation: int,
        reports: Iterable[Report],
        observed: Observed | None,
        sent: int,
    ) -> float:
        """POST report."""
        if self.reports_to_live is not None:
            self.reports_to_live -= 1
            if self.reports_to_live < 0:
                stop_control(self.world, self.outage_s)
                raise Away("connection lost")
        self.check(broker, incarnation)
        now = self.world.clock.now
        self.leases[broker] = self.leases[broker].renewed(incarnation, now, LEASE_S)
        changed = False
        if observed is not None and (
            not self.checks_order_of_reports or sent > self.observed.get(broker, (0, 0, None))[0]
        ):
            changed = self.observed.get(broker, (0, 0, None))[2] != observed
            self.observed[broker] = (sent, observed.number, observed)
        for report in reports:
            self._store(broker, report)
            changed = True
        if changed:
            self.advance()
        return LEASE_S

    def _store(self, broker: str, report: Report) -> None:
        for number, view in enumerate(self.executions):
            if not any(a.id == report.action for s in view.steps for a in s.actions):
                continue
            self.executions[number] = replace(
                view,
                steps=tuple(
                    replace(
                        step,
                        actions=tuple(
                            _with_report(a, broker, report) if a.id == report.action else a
                            for a in step.actions
                        ),
                    )
                    for step in view.steps
                ),
            )


def _over(view: ExecutionView) -> bool:
    return view.state in ENDED and not any(
        s.state is StepState.PENDING or a.state is ActionState.DEAD
        for s in view.steps
        for a in s.actions
    )


def _with_report(action: ActionView, broker: str, report: Report) -> ActionView:
    if broker not in action.brokers:
        return action
    known = action.reports.get(broker, ())
    if any(r.attempt == report.attempt and r.phase == report.phase for r in known):
        return action
    return replace(action, reports={**action.reports, broker: (*known, report)})
