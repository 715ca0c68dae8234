"""Two processes at once, and one that dies in the middle."""

import pytest

from apps.executions.models import Execution, ExecutionAction, ExecutionStep, Setting
from apps.executions.selectors import edges_in_force
from apps.executions.selectors.modelled import STRUCTURE
from apps.executions.services import execution_roll_back, executions_tick
from apps.executions.services.advance import execution_advance
from apps.executions.services.apply import Applier
from apps.topology.models import Overlay
from tests.at_once import at_once
from tests.factories.fleet import population, rate, shift, start

SHIFTED = {("a", "c"), ("b", "c"), ("c", "d")}


def votes(agents, brokers="abc", phase="ready"):
    """The requests, not yet sent."""
    bodies = []
    for broker in brokers:
        order = agents[broker].poll_now().orders[0]
        said = {"action": order.action, "attempt": order.attempt, "phase": phase}
        bodies.append((agents[broker], said))
    return [lambda agent=agent, said=said: agent.say(said) for agent, said in bodies]


def test_votes_that_arrive_at_once_commit_once(harbour, agents):
    start(harbour.system, [shift("a", "b", "c")])
    version = Overlay.objects.get().version
    answers = at_once(*votes(agents))
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert ExecutionAction.objects.get().state == "committed"
    assert edges_in_force(harbour.system) == SHIFTED
    assert Overlay.objects.get().version == version + 1


def test_thinkers_that_meet_think_one_after_the_other(harbour, agents, monkeypatch):
    """Votes are in, nobody has drawn the conclusion: four do at once."""
    execution = start(harbour.system, [shift("a", "b", "c")])
    monkeypatch.setattr("apps.executions.services.reports.execution_advance", lambda pk: None)
    for vote in votes(agents):
        vote()
    assert ExecutionAction.objects.get().state == "preparing"
    version = Overlay.objects.get().version
    moved = at_once(*[lambda: execution_advance(execution.pk)] * 4)
    assert sorted(moved) == [False, False, False, True]
    assert Overlay.objects.get().version == version + 1


def test_of_two_starts_one_holds_the_system(harbour):
    def begin():
        try:
            return start(harbour.system, [rate(None, 90.0)])
        except Exception as error:
            return error

    began = at_once(begin, begin)
    assert sum(isinstance(b, Execution) for b in began) == 1
    (refused,) = [b for b in began if not isinstance(b, Execution)]
    assert refused.code == "system_is_busy"


class Killed(BaseException):
    """The process is gone: nothing below catches this."""


@pytest.fixture
def kill(monkeypatch):
    """The process dies after so many decisions were applied, before anything is committed."""

    def after(decisions: int):
        applied = []
        true_apply = Applier.apply

        def apply(self, decision):
            if len(applied) >= decisions:
                raise Killed
            true_apply(self, decision)
            applied.append(decision)

        monkeypatch.setattr(Applier, "apply", apply)

    return after


def test_a_thought_is_whole_or_was_never_thought(harbour, agents, kill, monkeypatch):
    execution = start(harbour.system, [shift("a", "b", "c")])
    with monkeypatch.context() as context:
        context.setattr("apps.executions.services.reports.execution_advance", lambda pk: None)
        for vote in votes(agents):
            vote()
    kill(1)
    # The commit is the only decision; it dies with the row lock held and the edges moved.
    true_save = Applier.save
    monkeypatch.setattr(Applier, "save", lambda self: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        execution_advance(execution.pk)
    assert ExecutionAction.objects.get().state == "preparing"
    assert edges_in_force(harbour.system) == {("a", "b"), ("b", "c"), ("c", "d")}
    assert agents["a"].poll_now().orders[0].phase == "prepare"
    monkeypatch.undo()
    assert Applier.save is true_save
    executions_tick()
    assert edges_in_force(harbour.system) == SHIFTED
    assert agents["a"].poll_now().orders[0].phase == "commit"


@pytest.mark.parametrize("decisions", range(4))
def test_killed_in_any_decision_of_a_start(harbour, agents, kill, monkeypatch, decisions):
    """Start, begin the step, prepare two settings: dies after each of them."""
    with monkeypatch.context() as context:
        context.setattr("apps.executions.services.commands.execution_advance", lambda pk: False)
        execution = start(harbour.system, [rate(None, 90.0), population(None, 4)])
    kill(decisions)
    with pytest.raises(Killed):
        executions_tick()
    assert Execution.objects.get().state == "pending"
    assert ExecutionStep.objects.get().state == "pending"
    assert not Setting.objects.exclude(kind__in=STRUCTURE).exists()
    monkeypatch.undo()
    executions_tick()
    agents["a"].obey()
    agents["c"].obey()
    execution.refresh_from_db()
    assert execution.state == "succeeded"


def test_killed_while_the_undo_steps_are_appended(harbour, agents, admin, kill, monkeypatch):
    execution = start(harbour.system, [rate(None, 90.0)], [population(None, 4)])
    agents["a"].obey()
    execution_roll_back(execution=execution, actor=admin)
    with monkeypatch.context() as context:
        context.setattr("apps.executions.services.reports.execution_advance", lambda pk: None)
        agents["c"].obey()
    kill(3)
    with pytest.raises(Killed):
        executions_tick()
    monkeypatch.undo()
    assert set(ExecutionStep.objects.values_list("direction", flat=True)) == {"forward"}
    executions_tick()
    for _ in range(2):
        agents["c"].obey()
        agents["a"].obey()
    execution.refresh_from_db()
    assert execution.state == "rolled_back"
    rates = Setting.objects.exclude(kind__in=STRUCTURE)
    assert not rates.filter(in_force__isnull=False).exists()


def test_a_fault_in_one_execution_does_not_hold_up_another(harbour, agents, monkeypatch):
    from tests.factories.fleet import make_harbour

    other = make_harbour("elsewhere")
    first = start(harbour.system, [rate(None, 90.0)])
    with monkeypatch.context() as context:
        context.setattr("apps.executions.services.commands.execution_advance", lambda pk: False)
        second = start(other.system, [rate(None, 90.0)])
    true_advance = execution_advance

    def broken(pk, **options):
        if pk == first.pk:
            raise ZeroDivisionError
        return true_advance(pk, **options)

    monkeypatch.setattr("apps.executions.services.commands.execution_advance", broken)
    executions_tick()
    second.refresh_from_db()
    assert second.state == "running"


def test_a_vote_survives_a_fault_in_what_follows_from_it(harbour, agents, monkeypatch):
    start(harbour.system, [shift("a", "b", "c")])

    def fail(pk):
        raise ZeroDivisionError

    with monkeypatch.context() as context:
        context.setattr("apps.executions.services.reports.execution_advance", fail)
        for vote in votes(agents):
            assert vote().status_code == 200
    assert ExecutionAction.objects.get().state == "preparing"
    executions_tick()
    assert ExecutionAction.objects.get().state == "committed"
