"""Publishers of a topic, each at one broker: whom documents let in, over HTTP and Postgres."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.catalog.models import Publisher
from apps.common.errors import Conflict
from apps.executions.models import Execution, Revision, Setting
from apps.executions.services import execution_roll_back, execution_stop
from apps.executions.services.advance import execution_advance
from apps.executions.services.settings import settings_forget
from apps.systems.services import entity_create, entity_update
from apps.telemetry.models import Agent
from tests.factories.fleet import FakeAgent, Harbour, start
from weir.actions import target_key
from weir.coordination.wire import Publishers, publishers_digest
from weir.model.plan import Action

PART = {"rate_per_s": 30.0, "size": 1.5, "mode": "enforce"}


def names(*publishers: str) -> dict[str, Any]:
    return {"publishers": list(publishers)}


def assign(at: str, before: dict | None, after: dict | None) -> Action:
    target = {"flow": "tides", "broker": at}
    return Action(kind="assign_publishers", target=target, before=before, after=after)


def part(at: str, before: dict | None, after: dict | None) -> Action:
    target = {"flow": "tides", "broker": at}
    return Action(kind="set_bucket", target=target, before=before, after=after)


def state(execution: Execution) -> str:
    execution.refresh_from_db()
    return execution.state


def enforce(harbour: Harbour, kind: str = "assign_publishers", **values: dict[str, Any]) -> None:
    """These lists, or parts, are in force."""
    for broker, value in values.items():
        target = {"flow": "tides", "broker": broker}
        Setting.objects.update_or_create(
            system=harbour.system,
            kind=kind,
            target_key=target_key(target),
            defaults={"target": target, "in_force": value, "desired": value},
        )
    Revision.objects.filter(system=harbour.system).update(number=F("number") + 1)


@pytest.fixture
def split(harbour: Harbour, agents: dict[str, FakeAgent]) -> dict[str, FakeAgent]:
    """Tides enter at a, where p and q publish, and at b, where r does."""
    enforce(harbour, "set_bucket", a=PART, b=PART)
    enforce(harbour, a=names("p", "q"), b=names("r"))
    for agent in agents.values():
        agent.obey()
    return agents


def here(agent: FakeAgent) -> tuple[str, ...]:
    return agent.poll_now().publishers["tides"].here


def test_without_lists_every_publisher_is_let_in_everywhere(harbour, agents):
    assert agents["a"].obey().publishers == {}


def test_a_list_closes_the_topic_wherever_it_enters(harbour, agents):
    enforce(harbour, "set_bucket", b=PART, c=PART)
    execution = start(harbour.system, [assign("b", None, names("p"))])
    entry = agents["b"].poll_now().publishers["tides"]
    assert entry == Publishers(here=("p",), next=("a", "c"))
    # The source is closed because others have parts, and c has a part and no list.
    for other in "ac":
        assert agents[other].poll_now().publishers["tides"] == Publishers(
            elsewhere={"b": ("p",)},
            addresses={"b": "sim://b"},
            next=tuple(sorted({"a", "b", "c"} - {other})),
        )
    assert agents["d"].poll_now().publishers == {}
    agents["b"].obey()
    assert state(execution) == "succeeded"


def test_a_list_that_no_agent_shows_is_not_in_force(harbour, split):
    execution = start(harbour.system, [assign("a", names("p", "q"), names("q"))])
    split["a"].obey(publishers={})
    assert state(execution) == "running", "they have not left yet"
    split["a"].obey(publishers={"tides": publishers_digest(["p", "q"])})
    assert state(execution) == "running"
    split["a"].obey()
    assert state(execution) == "succeeded"


def test_a_release_that_takes_too_long_says_for_what_it_waited(harbour, split):
    execution = start(harbour.system, [assign("a", names("p", "q"), names("q"))])
    problem = "publishers of tides that left a cannot go on elsewhere: messages wait at a"
    split["a"].obey(publishers={}, problems=[problem, "publishers of tidesmen wait"])
    Agent.objects.update(lease_until=timezone.now() + timedelta(hours=1))
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=60))
    assert state(execution) == "running", "what waits at a gate may need a while to pass"
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=121))
    detail = f"a did not show the new value within 120 s; a reports: {problem}"
    assert execution.steps.get().actions.get().detail == detail


def test_nobody_is_let_in_before_the_other_broker_has_released_it(harbour, split):
    execution = start(
        harbour.system,
        [assign("a", names("p", "q"), names("q")), assign("b", names("r"), names("p", "r"))],
    )
    assert here(split["a"]) == ("q",)
    assert here(split["b"]) == ("r",)
    assert "p" not in split["c"].poll_now().publishers.get("tides", Publishers()).elsewhere
    split["b"].obey()
    assert state(execution) == "running", "b does not let p in yet"
    before = split["b"].poll_now()
    split["a"].obey()
    after = split["b"].obey()
    assert after.number > before.number
    assert after.publishers["tides"].here == ("p", "r")
    assert split["a"].poll_now().publishers["tides"].elsewhere == {"b": ("p", "r")}
    assert state(execution) == "succeeded"


def test_an_aborted_release_lets_them_in_again_where_they_were(harbour, split):
    execution = start(
        harbour.system,
        [assign("a", names("p", "q"), names("q")), assign("b", names("r"), names("p", "r"))],
    )
    for row in execution.steps.get().actions.all():
        Setting.objects.filter(
            system=harbour.system, kind=row.kind, target_key=target_key(row.target)
        ).update(desired=F("in_force"))
        row.state = "aborting"
        row.save(update_fields=["state"])
    Revision.objects.filter(system=harbour.system).update(number=F("number") + 1)
    assert here(split["a"]) == ("p", "q")
    assert here(split["b"]) == ("r",)


def test_taking_back_goes_the_same_way(harbour, split):
    execution = start(
        harbour.system,
        [assign("a", names("p", "q"), names("q"))],
        [assign("b", names("r"), names("p", "r"))],
        [part("d", None, PART)],
    )
    split["a"].obey()
    split["b"].obey()
    assert state(execution) == "running"
    execution_roll_back(execution=execution, actor=None, reason="Back.")
    split["d"].obey()
    split["d"].obey()
    assert here(split["a"]) == ("q",), "b has not released p"
    assert here(split["b"]) == ("r",)
    split["b"].obey()
    assert here(split["a"]) == ("p", "q")
    split["a"].obey()
    assert state(execution) == "rolled_back"


def test_a_list_that_ends_lets_nobody_in_as_long_as_others_have_one(harbour, split):
    execution = start(harbour.system, [assign("b", names("r"), None)])
    assert split["b"].poll_now().publishers["tides"] == Publishers(
        elsewhere={"a": ("p", "q")}, addresses={"a": "sim://a"}, next=("a",)
    )
    split["b"].obey(publishers={"tides": publishers_digest(["r"])})
    assert state(execution) == "running"
    split["b"].obey()
    assert state(execution) == "succeeded"
    execution = start(harbour.system, [assign("a", names("p", "q"), None)])
    assert split["a"].obey().publishers == {}, "without any list the topic is open"
    assert state(execution) == "succeeded"


def test_a_new_place_waits_until_all_before_it_has_passed_it_too(harbour, split):
    execution = start(harbour.system, [assign("c", None, names())])
    assert split["a"].poll_now().publishers["tides"].next == ("b", "c")
    split["c"].obey()
    assert state(execution) == "running"
    split["a"].obey()
    split["b"].obey(publishers={})
    assert state(execution) == "running", "what b let in may not have passed c yet"
    split["b"].obey()
    assert state(execution) == "succeeded"


def test_who_may_be_at_a_silent_broker_is_let_in_nowhere_else(harbour, split):
    execution = start(harbour.system, [assign("b", names("r"), names("r", "s"))])
    assert here(split["b"]) == ("r", "s")
    Agent.objects.filter(broker__name="b").update(lease_until=timezone.now())
    execution_advance(execution.pk, now=timezone.now() + timedelta(minutes=1))
    assert state(execution) == "failed"
    start(harbour.system, [assign("a", names("p", "q"), names("p", "q", "s"))])
    assert here(split["a"]) == ("p", "q"), "b has read that it lets s in, and not said that it left"


def test_who_was_kept_out_is_let_in_once_the_silent_broker_is_back(harbour, split):
    execution = start(
        harbour.system,
        [assign("a", names("p", "q"), names("q"))],
        [assign("b", names("r"), names("p", "r"))],
    )
    split["a"].obey()
    split["b"].poll_now()
    Agent.objects.filter(broker__name="b").update(lease_until=timezone.now())
    execution_advance(execution.pk, now=timezone.now() + timedelta(minutes=1))
    assert state(execution) == "failed"
    setting = Setting.objects.get(kind="assign_publishers", target__broker="b")
    assert setting.in_force == names("p", "r"), "b may let p in"
    split["b"].come().obey(publishers={})
    setting.refresh_from_db()
    assert setting.in_force == names("p", "r"), "b has not released p yet"
    split["b"].obey()
    setting.refresh_from_db()
    assert setting.in_force == names("r")
    start(harbour.system, [assign("a", names("q"), names("p", "q"))])
    assert here(split["a"]) == ("p", "q")


def test_a_list_ends_once_whom_it_let_in_has_left(harbour, split):
    execution = start(harbour.system, [assign("b", names("r"), None)])
    split["b"].obey(publishers={})
    assert state(execution) == "running", "r may still be connected"
    split["b"].obey()
    assert state(execution) == "succeeded"


def test_a_stop_says_who_is_let_in_nowhere(harbour, split):
    execution = start(
        harbour.system,
        [assign("a", names("p", "q"), names("q"))],
        [assign("b", names("r"), names("p", "r"))],
    )
    split["a"].poll_now()
    execution_stop(execution=execution, actor=None)
    split["a"].obey()
    assert state(execution) == "stopped"
    entry = AuditEntry.objects.get(object_id=execution.public_id, action="settle")
    assert entry.reason == (
        "1 publisher of tides is let in nowhere now (p): roll this back, or carry out another plan "
        "of the placement."
    )


def test_a_failure_says_who_is_let_in_nowhere(harbour, split):
    execution = start(
        harbour.system,
        [assign("a", names("p", "q"), names("q"))],
        [assign("b", names("r"), names("p", "r"))],
    )
    split["a"].obey()
    split["b"].poll_now()
    execution_advance(execution.pk, now=timezone.now() + timedelta(seconds=20))
    split["b"].obey()
    execution_advance(execution.pk)
    assert state(execution) == "failed"
    assert execution.failure.endswith(
        "1 publisher of tides is let in nowhere now (p): roll this back, or carry out another plan "
        "of the placement."
    )


def test_a_publisher_in_a_list_keeps_its_name(harbour, split):
    publisher = entity_create(
        model=Publisher,
        system=harbour.system,
        actor=None,
        values={"name": "p", "topic": harbour.topic, "broker": harbour.brokers["a"]},
    )
    with pytest.raises(Conflict) as refused:
        entity_update(instance=publisher, actor=None, expected_version=1, values={"name": "other"})
    assert refused.value.code == "in_force"
    assert str(refused.value) == (
        "p keeps its name: tides takes it at a. Add a publisher with the new name, place its "
        "topic, carry out that plan and move the client; then delete this one."
    )
    free = entity_create(
        model=Publisher,
        system=harbour.system,
        actor=None,
        values={"name": "z", "topic": harbour.topic},
    )
    entity_update(instance=free, actor=None, expected_version=1, values={"name": "y"})


def test_lists_of_a_flow_that_is_carried_no_more_are_left_out(harbour, split):
    Setting.objects.filter(system=harbour.system, kind="carry_flow").delete()
    Revision.objects.filter(system=harbour.system).update(number=F("number") + 1)
    assert split["a"].poll_now().publishers == {}


def test_publishers_of_a_broker_that_leaves_the_topic_are_shown_where_they_belong(harbour, split):
    """They were released in a moment in which nobody else let them in, and ask again and again."""
    execution = start(
        harbour.system,
        [assign("b", names("r"), names())],
        [part("b", PART, None)],
        [assign("a", names("p", "q"), names("p", "q", "r"))],
        [assign("b", names(), None)],
    )
    for _ in range(5):
        for agent in ("b", "a"):
            split[agent].obey()
    assert state(execution) == "succeeded"
    assert split["b"].obey().publishers["tides"] == Publishers(
        elsewhere={"a": ("p", "q", "r")}, addresses={"a": "sim://a"}
    )
    # Nothing passes there any more, so that nobody waits for it.
    assert split["a"].poll_now().publishers["tides"] == Publishers(here=("p", "q", "r"))
    start(harbour.system, [assign("b", None, names("r"))])
    assert split["b"].poll_now().publishers["tides"].next == ("a",)


def test_publishers_left_behind_are_shown_where_the_topic_enters(harbour, split):
    none = {"rate_per_s": 0.0, "size": 0.0, "mode": "enforce"}
    execution = start(
        harbour.system,
        [assign("b", names("r"), names())],
        [part("b", PART, None), part("a", PART, none)],
        [part("a", none, None)],
        [assign("a", names("p", "q"), None), assign("b", names(), None)],
    )
    for _ in range(5):
        for agent in ("a", "b"):
            split[agent].obey()
    assert state(execution) == "succeeded"
    entry = split["b"].poll_now().publishers["tides"]
    assert entry == Publishers(everyone=("a",), addresses={"a": "sim://a"})
    assert split["a"].poll_now().publishers == {}, "it takes every publisher"
    assert split["c"].poll_now().publishers == {}
    # Where it enters again there is nothing to be shown.
    enforce(harbour, "set_bucket", a=PART, b=PART)
    assert split["b"].poll_now().publishers == {}


def test_publishers_of_a_broker_that_is_gone_may_go_on_elsewhere(harbour, split):
    with transaction.atomic():
        forgotten = settings_forget(harbour.system, "b")
    assert 'assign_publishers {"broker":"b","flow":"tides"}' in forgotten
    execution = start(harbour.system, [assign("a", names("p", "q"), names("p", "q", "r"))])
    entry = split["a"].obey().publishers["tides"]
    assert (entry.here, entry.next) == (("p", "q", "r"), ())
    assert state(execution) == "succeeded"
