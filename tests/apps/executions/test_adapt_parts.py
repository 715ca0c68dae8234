"""An order to adapt parts is in force once each of its brokers has obeyed a later document."""

import time

from django.db import transaction

from apps.executions.models import Execution, Setting
from apps.executions.services import execution_roll_back
from apps.executions.services.settings import settings_forget
from tests.factories.fleet import start
from weir.model.plan import Action

ORDER = {"window_s": 10.0, "period_s": 1.0, "least_share": 0.02, "brokers": ["a", "b"]}


def state(execution: Execution) -> str:
    execution.refresh_from_db()
    return execution.state


def order(before: dict | None, after: dict | None) -> Action:
    return Action(kind="adapt_parts", target={"flow": "tides"}, before=before, after=after)


def setting() -> Setting:
    return Setting.objects.get(kind="adapt_parts")


def test_it_waits_for_each_of_its_brokers_and_for_no_other(harbour, agents):
    execution = start(harbour.system, [order(None, ORDER)])
    agents["c"].obey()
    agents["a"].obey()
    assert state(execution) == "running"
    assert setting().in_force is None
    agents["b"].obey()
    assert state(execution) == "succeeded"
    assert setting().in_force == ORDER


def test_what_an_agent_saw_before_it_was_asked_proves_nothing(harbour, agents):
    documents = {name: agents[name].obey() for name in "ab"}
    execution = start(harbour.system, [order(None, ORDER)])
    for name in "ab":
        agents[name].say(observed=agents[name].observed(number=documents[name].number))
    assert state(execution) == "running"


def test_agents_hear_of_it_at_once_although_nothing_of_theirs_changes(harbour, agents):
    before = agents["a"].obey()
    asking = agents["a"].asking()
    time.sleep(0.1)
    assert not asking.done(), "a poll waits until something changes"
    start(harbour.system, [order(None, ORDER)])
    assert asking.result(1.0).status_code == 200, "a long poll ends within a second"
    after = agents["a"].poll_now()
    assert after.asked == after.number > before.asked
    assert after.version != before.version, "an agent reports when it has obeyed another version"
    assert (after.buckets, after.flows) == (before.buckets, before.flows)


def test_it_is_rolled_back_from_the_middle_of_a_change(harbour, agents, admin):
    steps = [order(None, ORDER)], [order(ORDER, {**ORDER, "brokers": ["a", "c"]})]
    execution = start(harbour.system, *steps)
    for name in "aba":
        agents[name].obey()
    assert state(execution) == "running", "c has not heard it"
    assert setting().in_force == ORDER
    execution_roll_back(execution=execution, actor=admin)
    for name in "cab":  # what is under way ends, then the second step is taken back
        agents[name].obey()
    assert state(execution) == "rolled_back", "nobody has to hear that the first one ends"
    assert (setting().in_force, setting().desired) == (None, None)


def test_a_silent_broker_keeps_no_order_in_force(harbour, agents):
    execution = start(harbour.system, [order(None, ORDER)])
    agents["a"].obey()
    assert state(execution) == "running", "b is silent"
    agents["b"].obey()
    without = {**ORDER, "brokers": ["a"]}
    execution = start(harbour.system, [order(ORDER, without)])
    agents["a"].obey()
    assert state(execution) == "succeeded", "b leaves it"
    execution = start(harbour.system, [order(without, None)])
    assert state(execution) == "succeeded"
    assert (setting().in_force, setting().desired) == (None, None)


def test_it_goes_on_without_a_broker_that_is_removed(harbour, agents):
    execution = start(harbour.system, [order(None, ORDER)])
    for name in "ab":
        agents[name].obey()
    assert state(execution) == "succeeded"
    with transaction.atomic():
        settings_forget(harbour.system, "b")
    assert setting().in_force == setting().desired == {**ORDER, "brokers": ["a"]}
    with transaction.atomic():
        settings_forget(harbour.system, "a")
    assert (setting().in_force, setting().desired) == (None, None)
