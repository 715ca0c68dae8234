"""Whom a plan disconnects: the first thing it says."""

import math
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.executions.models import Setting
from apps.executions.selectors import in_force
from apps.plans.models import Plan
from apps.plans.selectors.hurt import ClassHurt, Hurt, hurt_of
from apps.plans.services import plan_discard
from apps.telemetry.models import Sample
from tests.factories import make_class
from tests.factories.fleet import Harbour, population, put_in_force, rate
from tests.factories.plans import make_plan
from weir.model.plan import Action


def connected(harbour: Harbour, broker: str = "c", **classes: Any) -> None:
    """A sample of a broker: class -> admitted, or (admitted, waiting)."""
    rows = {}
    for name, count in classes.items():
        admitted, waiting = count if isinstance(count, tuple) else (count, 0)
        rows[name] = {"admitted": admitted, "waiting": waiting}
    Sample.objects.create(
        broker=harbour.brokers[broker],
        at=timezone.now(),
        payload={"interval_s": 1.0, "flows": {}, "classes": rows, "links": {}},
    )


def admit(after: int | None, name: str = "gulls", before: int | None = None) -> Action:
    def value(limit: int | None) -> dict[str, int] | None:
        return None if limit is None else {"limit": limit}

    return Action(
        kind="set_population",
        target={"class": name, "flow": "tides", "broker": "c"},
        before=value(before),
        after=value(after),
    )


def serve(name: str, *, stop: bool = False) -> Action:
    before, after = ({"flow": "tides"}, None) if stop else (None, {"flow": "tides"})
    target = {"class": name, "broker": "c"}
    return Action(kind="serve_class", target=target, before=before, after=after)


def hurt(harbour: Harbour, *steps: list[Action]) -> Hurt:
    plan = make_plan(harbour.system, None, *steps)
    return hurt_of(plan, in_force(harbour.system))


def test_it_begins_with_how_many_of_how_many_are_disconnected(harbour: Harbour) -> None:
    make_class(harbour.system, harbour.topic, harbour.brokers["c"], "terns")
    put_in_force(harbour.system)
    connected(harbour, gulls=36, terns=25)
    connected(harbour, "d", wardens=50)
    harm = hurt(harbour, [admit(10), admit(20, "terns")])
    assert harm.sentence == "31 of 111 connected consumers will be disconnected."
    assert [(row.name, row.broker, row.disconnected) for row in harm.classes] == [
        ("gulls", "c", 26),
        ("terns", "c", 5),
    ]
    # Nothing limits them today, and that is true.
    assert [(row.served_before, row.limit_before) for row in harm.classes] == [(True, None)] * 2


def test_a_limit_above_who_is_connected_hurts_nobody(harbour: Harbour) -> None:
    connected(harbour, gulls=9)
    harm = hurt(harbour, [admit(10)])
    assert (harm.disconnected, harm.unmeasured) == (0, [])
    assert harm.sentence == "None of 9 connected consumers will be disconnected."


def test_a_higher_limit_lets_those_in_that_wait(harbour: Harbour) -> None:
    Setting.objects.create(
        system=harbour.system,
        kind="set_population",
        target=dict(admit(5).target),
        target_key='{"broker":"c","class":"gulls","flow":"tides"}',
        in_force={"limit": 5},
        desired={"limit": 5},
    )
    connected(harbour, gulls=(5, 7))
    (row,) = hurt(harbour, [admit(9, before=5)]).classes
    assert (row.limit_before, row.limit_after, row.disconnected, row.let_in) == (5, 9, 0, 4)


def test_a_class_that_is_no_longer_served_loses_everybody(harbour: Harbour) -> None:
    connected(harbour, gulls=36)
    harm = hurt(harbour, [serve("gulls", stop=True)])
    assert harm.sentence == "36 of 36 connected consumers will be disconnected."
    assert (harm.classes[0].served_after, harm.classes[0].let_in) == (False, 0)


def test_a_class_that_was_not_served_had_no_limit_to_lose(harbour: Harbour) -> None:
    connected(harbour, gulls=36)
    harm = hurt(harbour, [serve("terns"), admit(4, "terns")])
    (row,) = harm.classes
    assert (row.served_before, row.connected, row.disconnected) == (False, 0, 0)
    assert harm.unmeasured == []


def test_who_leaves_in_a_step_between_is_counted(harbour: Harbour) -> None:
    connected(harbour, gulls=36)
    harm = hurt(harbour, [admit(10)], [admit(50, before=10)])
    assert (harm.classes[0].limit_after, harm.disconnected) == (50, 26)


def test_without_measurements_nothing_is_claimed(harbour: Harbour) -> None:
    harm = hurt(harbour, [admit(10)])
    assert (harm.connected, harm.unmeasured) == (None, ["gulls at c"])
    assert harm.sentence == (
        "Whether consumers will be disconnected cannot be told. Nobody measures now how many "
        "consumers of gulls at c are connected."
    )


def test_taking_a_limit_away_hurts_nobody_whoever_measures(harbour: Harbour) -> None:
    harm = hurt(harbour, [admit(10)], [admit(None, before=10)])
    assert harm.unmeasured == ["gulls at c"]  # for a while there are at most ten
    harm = hurt(harbour, [rate(None, 40.0)])
    assert (harm.sentence, harm.classes) == ("The plan disconnects no consumer.", [])


def test_where_nobody_is_connected_nobody_can_be_hurt(harbour: Harbour) -> None:
    connected(harbour, gulls=0)
    harm = hurt(harbour, [admit(10)])
    assert harm.sentence == "No consumer is connected now, so none will be disconnected."


def test_the_api_says_it_until_the_plan_is_settled(
    harbour: Harbour, ines: User, api: APIClient
) -> None:
    connected(harbour, gulls=36)
    plan: Plan = make_plan(harbour.system, ines, [population(None, 5)])
    body = api.get(f"/api/v1/plans/{plan.public_id}").json()["hurt"]
    assert body["sentence"] == "31 of 36 connected consumers will be disconnected."
    assert (body["connected"], body["disconnected"], body["unmeasured"]) == (36, 31, [])
    assert body["classes"][0]["disconnected"] == 31
    plan_discard(plan=plan, actor=ines)
    assert api.get(f"/api/v1/plans/{plan.public_id}").json()["hurt"] is None


LIMITS = st.none() | st.integers(min_value=0, max_value=200)
COUNTS = st.integers(min_value=0, max_value=200)


@given(connected=COUNTS, waiting=COUNTS, after=LIMITS, between=LIMITS, served=st.booleans())
def test_nobody_is_counted_twice_and_no_limit_is_passed(
    connected: int, waiting: int, after: int | None, between: int | None, served: bool
) -> None:
    most = [math.inf if limit is None else limit for limit in (after, between)]
    row = ClassHurt(
        name="gulls",
        broker="c",
        connected=connected,
        waiting=waiting,
        served_before=True,
        limit_before=None,
        served_after=served,
        limit_after=after,
        least=min(most) if served else 0,
    )
    assert row.disconnected is not None
    assert row.let_in is not None
    assert 0 <= row.disconnected <= connected
    assert 0 <= row.let_in <= waiting
    assert connected - row.disconnected <= (min(most) if served else 0)
    if row.let_in:
        assert served
        assert after is None or connected + row.let_in <= after


@pytest.mark.parametrize("lost", [1, 1200])
def test_one_is_said_as_one(lost: int) -> None:
    row = ClassHurt(
        name="gulls",
        broker="c",
        connected=lost,
        waiting=0,
        served_before=True,
        limit_before=None,
        served_after=True,
        limit_after=0,
        least=0,
    )
    noun = "consumer" if lost == 1 else "consumers"
    said = Hurt(connected=lost, classes=[row]).sentence
    assert said == f"{lost:,} of {lost:,} connected {noun} will be disconnected."
