"""Alerts of objectives, from when one begins until it is over; each is in the history once."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.catalog.models import Slo
from apps.pipeline.domain.alerts import Calls, call_changes, calls_after
from apps.pipeline.domain.error_budget import Counted, compliance, stretches
from apps.pipeline.models import JudgedMinute, ObjectiveTerm
from apps.pipeline.services import alerts
from apps.pipeline.services.objectives import objectives_judge
from apps.systems.models import System
from tests.apps.pipeline.promises import BEGAN_S, MONTH_S, edit, edited, promise
from tests.conftest import client_of
from tests.factories import make_system, make_topic, make_user

DAY_S = 86_400
PATIENCE_S = 60.0


@pytest.fixture
def system(db: None) -> System:
    system = make_system()
    edited(make_topic(system), BEGAN_S - 40 * DAY_S)
    return system


def judge(slo: Slo, minutes: Sequence[int], *, missed: bool) -> None:
    """Store verdicts of minutes, counted from BEGAN_S."""
    rows = [
        JudgedMinute(
            slo=slo,
            since_s=BEGAN_S + 60 * minute,
            value=1.0,
            has_held=not missed,
            has_too_few=False,
            messages=1000,
            evidence="delivery",
        )
        for minute in minutes
    ]
    JudgedMinute.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["slo_id", "since_s"],
        update_fields=["has_held"],
    )


def look(minute: float) -> None:
    objectives_judge(datetime.fromtimestamp(BEGAN_S + 60 * minute, UTC))


def noted(slo: Slo) -> list[tuple[str, Any, Any]]:
    """What the history says of an objective but for edits."""
    rows = AuditEntry.objects.filter(
        object_id=slo.public_id, action__in=["burn", "spend_budget", "recover"]
    )
    return [(row.action, row.before, row.after) for row in rows.order_by("id")]


@pytest.fixture
def slo(system: System) -> Slo:
    """One that was judged without a miss for an hour."""
    slo = promise(system, at_s=BEGAN_S - 2 * DAY_S)
    look(-61)
    judge(slo, range(-60, -1), missed=False)
    look(-1)
    assert noted(slo) == []
    assert ObjectiveTerm.objects.get().standing == "holds"
    return slo


FAST = ("burn", {"alert": None}, {"alert": "page"})
QUIET = ("recover", {"alert": "page"}, {"alert": None})


def test_an_alert_is_noted_when_it_begins_and_when_it_is_over(slo: Slo) -> None:
    judge(slo, range(12), missed=True)
    for minute in (12, 12.1, 13):
        look(minute)
    assert noted(slo) == [FAST]
    (entry,) = AuditEntry.objects.filter(action="burn")
    assert (entry.actor_name, entry.object_kind, entry.object_name) == ("Weir", "slo", slo.name)
    assert entry.system_id == slo.system.public_id
    assert entry.reason == (
        "The budget burns at 20.0 over 60 min and at 100.0 over 5 min, above 14.4."
    )
    judge(slo, range(12, 60), missed=False)
    look(60)
    assert noted(slo) == [FAST, QUIET]
    look(90)
    assert noted(slo) == [FAST, QUIET]


def test_an_alert_that_comes_and_goes_is_one(slo: Slo) -> None:
    """It fires at a minute and is quiet for four, again and again."""
    judge(slo, range(-30, 40), missed=True)
    look(40)
    assert noted(slo) == [FAST]
    for minute in range(40, 70):
        judge(slo, [minute], missed=minute % 5 == 0)
        # The short stretch has no miss in between where it is looked at alone.
        JudgedMinute.objects.filter(slo=slo, since_s__lt=BEGAN_S + 60 * minute - 60).update(
            has_held=minute % 5 != 0
        )
        look(minute + 1)
    assert noted(slo) == [FAST]


def test_a_pass_that_is_killed_notes_all_of_it_or_nothing(
    slo: Slo, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(slo, range(12), missed=True)
    with monkeypatch.context() as killed:

        def die(entries: object) -> None:
            raise KeyboardInterrupt

        killed.setattr(alerts, "record_all", die)
        with pytest.raises(KeyboardInterrupt):
            look(12)
    assert noted(slo) == []
    assert ObjectiveTerm.objects.get().alert == ""
    look(12)
    look(12)
    assert noted(slo) == [FAST]
    assert ObjectiveTerm.objects.get().alert == "page"


@pytest.mark.django_db(transaction=True)
def test_what_begins_while_the_system_is_edited_is_noted_afterwards(slo: Slo) -> None:
    judge(slo, range(12), missed=True)
    locked, may_end = threading.Event(), threading.Event()

    def edit_slowly() -> None:
        try:
            with transaction.atomic():
                System.objects.select_for_update(no_key=True).get(pk=slo.system_id)
                locked.set()
                assert may_end.wait(PATIENCE_S)
        finally:
            connection.close()

    editor = threading.Thread(target=edit_slowly)
    editor.start()
    assert locked.wait(PATIENCE_S)
    look(12)
    assert noted(slo) == []
    may_end.set()
    editor.join(PATIENCE_S)
    look(12)
    assert noted(slo) == [FAST]


def test_a_spent_budget_is_noted_once_and_an_edit_begins_anew(slo: Slo) -> None:
    judge(slo, range(-440, 0), missed=True)
    look(0)
    assert noted(slo) == [FAST, ("spend_budget", {"budget_spent": False}, {"budget_spent": True})]
    assert AuditEntry.objects.get(action="spend_budget").reason == (
        "440 minutes were missed of 432 that may be."
    )
    judge(slo, range(0, 20), missed=False)
    look(20)
    edit(slo, BEGAN_S + 60 * 20, target=5.0)
    look(20.5)
    *_, last = noted(slo)
    assert last[0] == "recover"
    assert last[1]["budget_spent"] is True
    assert last[2] == {name: None if name == "alert" else False for name in last[1]}
    assert ObjectiveTerm.objects.get().spent_s is None
    assert AuditEntry.objects.filter(action="recover").latest("id").reason == (
        "No minute of its window was measured."
    )


def test_who_burns_fast_and_then_slowly_recovers_to_that(slo: Slo) -> None:
    judge(slo, range(-300, 0), missed=True)
    look(0)
    judge(slo, range(0, 70), missed=False)
    for minute in range(1, 70, 2):
        look(minute)
    assert noted(slo) == [FAST, ("recover", {"alert": "page"}, {"alert": "ticket"})]


@pytest.mark.parametrize("seed", range(20))
def test_changes_lead_from_each_state_to_the_next(seed: int) -> None:
    chance = np.random.default_rng(seed)
    states = [Calls()]
    known: dict[str, Any] = {"alert": None, "budget_spent": False}
    for minute in range(1, 300):
        missed_in = {length: int(chance.integers(0, length)) for length in stretches(MONTH_S)}
        if chance.random() < 0.7:
            missed_in = dict.fromkeys(missed_in, 0)
        held = compliance(
            Counted(
                measured=1000,
                missed=int(chance.integers(300, 500)),
                too_few=0,
                missed_in=missed_in,
            ),
            objective=0.99,
            window_s=MONTH_S,
        )
        until_s = 60 * minute
        states.append(calls_after(states[-1], held, since_s=0, until_s=until_s))
        for number, burn in enumerate(held.burns):
            last_s = max(
                (state.fired_s[number] or 0 for state in states[:-1]),
                default=0,
            )
            lasts = last_s > 0 and until_s - last_s < 60 * burn.short_minutes
            assert (states[-1].fired_s[number] is not None) == (burn.fires or lasts)
    for before, after in pairwise(states):
        for change in call_changes(before, after):
            assert all(known[name] == value for name, value in change.before.items())
            known |= change.after
        assert known == {"alert": after.alert, "budget_spent": after.spent_s is not None}


def test_the_list_is_narrowed_by_how_objectives_stand(system: System) -> None:
    slos = [promise(system, target=0.1 + n, at_s=BEGAN_S - 2 * DAY_S) for n in range(7)]
    look(0)
    for slo in slos[:5]:
        judge(slo, range(12), missed=True)
    judge(slos[5], range(12), missed=False)
    look(13)
    api = client_of(make_user("ann", Role.VIEWER))
    address = "/api/v1/slo-compliance"

    def names(standing: str) -> list[str]:
        every, query = [], f"{address}?standing={standing}&page_size=2"
        while query:
            page = api.get(query).json()
            assert page["count"] == {"page": 5, "holds": 1, "not_measured": 1}.get(standing, 0)
            assert all(row["standing"] == standing for row in page["results"])
            every += [row["name"] for row in page["results"]]
            query = page["next"]
        return every

    assert names("page") == sorted(slo.name for slo in slos[:5])
    assert names("holds") == [slos[5].name]
    assert names("not_measured") == [slos[6].name]
    assert names("spent") == names("ticket") == []
    # Until it is judged anew, what was known of it is of another promise.
    edit(slos[0], BEGAN_S + 13 * 60, target=9.0)
    rows = api.get(f"{address}?standing=not_measured").json()["results"]
    assert {row["name"] for row in rows} == {slos[0].name, slos[6].name}
    refused = api.get(f"{address}?standing=bad")
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == ["standing"]
