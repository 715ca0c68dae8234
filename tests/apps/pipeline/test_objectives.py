"""Objectives judged minute by minute, after each change of the sums, and how that is read."""

import threading
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.catalog.models import Slo, Topic
from apps.pipeline.models import ChangedMinute, JudgedMinute, ObjectiveTerm
from apps.pipeline.selectors.objectives import slo_readings
from apps.pipeline.services.objectives import judged_tidy, objectives_judge
from apps.pipeline.services.sums import sums_add, sums_add_waiting
from apps.pipeline.tasks import judge_objectives
from apps.systems.models import System
from tests.apps.pipeline.promises import (
    BEGAN_S,
    MONTH_S,
    Rows,
    delivery,
    edit,
    edited,
    promise,
    receive,
)
from tests.conftest import client_of
from tests.factories import make_system, make_topic, make_user
from weir.queueing.wait_histogram import bin_of, upper_edge_s

PATIENCE_S = 60.0


@pytest.fixture
def system(db: None) -> System:
    system = make_system()
    edited(make_topic(system), BEGAN_S - 86_400)
    return system


def rates(minute: int, broker: str, **metrics: float) -> Rows:
    place = {"at_s": BEGAN_S + 60 * minute + 10, "broker": broker, "topic": "t1"}
    return [{**place, "metric": f"{name}_per_s", "value": value} for name, value in metrics.items()]


def text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def judged(slo: Slo) -> dict[int, JudgedMinute]:
    rows = JudgedMinute.objects.filter(slo=slo)
    return {(row.since_s - BEGAN_S) // 60: row for row in rows}


def read(slo: Slo, now_s: float | None = None) -> Any:
    now = timezone.now() if now_s is None else datetime.fromtimestamp(now_s, UTC)
    (reading,) = slo_readings([Slo.objects.select_related("topic", "system").get(pk=slo.pk)], now)
    return reading


@pytest.mark.parametrize("seed", range(4))
def test_verdicts_are_those_of_all_rows_in_whatever_order_they_come(
    system: System, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    slos = [
        promise(system, "delay_p50_s", 0.02),
        promise(system, "delay_p99_s", 0.1),
        promise(system, "delay_mean_s", 0.03),
    ]
    rows = [
        delivery(
            int(minute),
            float(chance.lognormal(-4, 1)),
            consumer_class=str(chance.choice(["a", "b"])),
            messages=int(chance.integers(1, 40)),
        )
        for minute in chance.integers(0, 5, 300)
    ]
    chance.shuffle(rows)
    for piece in range(6):
        receive(system, "deliveries", rows[piece::6])
        if chance.random() < 0.7:
            assert sums_add_waiting(10)
        if chance.random() < 0.7:
            objectives_judge()
    sums_add_waiting(10)
    objectives_judge()
    assert not ChangedMinute.objects.exists()
    by_minute: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        minute = int(row["at_s"] - BEGAN_S) // 60
        by_minute[minute] += [row["delay_s"]] * row["messages"]
    for slo in slos:
        verdicts = judged(slo)
        assert set(verdicts) == set(by_minute)
        for minute, delays in by_minute.items():
            edges = sorted(min(upper_edge_s(bin_of(delay)), max(delays)) for delay in delays)
            exact = sorted(delays)
            count = len(delays)
            rank = {
                "delay_p50_s": -(-count // 2),
                "delay_p99_s": -(-count * 99 // 100),
            }.get(slo.quantity)
            value = np.mean(edges) if rank is None else edges[rank - 1]
            truth = np.mean(exact) if rank is None else exact[rank - 1]
            one = verdicts[minute]
            assert one.value == pytest.approx(value, rel=1e-9)
            assert truth <= one.value * (1 + 1e-9) <= truth * 1.0443 * (1 + 1e-9)
            assert one.has_held == (one.value <= slo.target)
            assert one.messages == count
            assert one.has_too_few == (slo.quantity == "delay_p99_s" and count < 100)
            assert one.evidence == "delivery"


def test_rates_of_all_brokers_count_together(system: System) -> None:
    loss, rate = promise(system, "loss_ratio", 0.1), promise(system, "rate_per_s", 90.0)
    rows = [
        *rates(0, "b1", offered=60.0, passed=60.0, shed=0.0),
        *rates(0, "b2", offered=40.0, passed=35.0, shed=5.0),
        *rates(1, "b1", offered=60.0, passed=40.0, shed=20.0),
        *rates(1, "b2", offered=40.0, passed=40.0, shed=0.0),
        # Publishers that send less than was promised are served.
        *rates(2, "b1", offered=10.0, passed=10.0, shed=0.0),
        *rates(3, "b1", offered=0.0, passed=0.0, shed=0.0),
    ]
    receive(system, "samples", rows)
    sums_add_waiting(1)
    assert objectives_judge() == 8
    lost, passed = judged(loss), judged(rate)
    assert [lost[minute].value for minute in range(4)] == pytest.approx([0.05, 0.2, 0.0, 0.0])
    assert [lost[minute].has_held for minute in range(4)] == [True, False, True, True]
    assert [lost[minute].has_too_few for minute in range(4)] == [False, False, False, True]
    assert [passed[minute].value for minute in range(4)] == pytest.approx([95.0, 80.0, 10.0, 0.0])
    assert [passed[minute].has_held for minute in range(4)] == [True, False, True, True]
    assert {row.evidence for row in lost.values()} == {"rates"}


def test_rates_of_which_one_is_missing_judge_nothing(system: System) -> None:
    slo = promise(system, "loss_ratio", 0.01)
    receive(system, "samples", rates(0, "b1", passed=10.0, shed=90.0))
    sums_add_waiting(1)
    assert objectives_judge() == 0
    assert judged(slo) == {}


def test_a_new_name_of_a_topic_begins_a_new_budget(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    receive(system, "deliveries", [delivery(0, 1.0)])
    sums_add_waiting(1)
    objectives_judge()
    edit(slo.topic, BEGAN_S + 61, name="t2")
    assert read(slo).since is None
    receive(system, "deliveries", [delivery(minute, 1.0, topic="t2") for minute in range(4)])
    sums_add_waiting(1)
    objectives_judge()
    assert set(judged(slo)) == {2, 3}


def test_answers_decide_where_a_topic_is_of_requests(system: System) -> None:
    slo = promise(system, "delay_p50_s", 0.1)
    Topic.objects.filter(system=system).update(pattern="request_response")
    receive(system, "deliveries", [delivery(0, 5.0)])
    receive(system, "requests", [delivery(0, 0.05), delivery(0, 0.06)])
    sums_add_waiting(2)
    objectives_judge()
    assert judged(slo)[0].evidence == "answer"
    assert judged(slo)[0].has_held


def test_a_minute_is_judged_once_it_has_ended(system: System) -> None:
    slo = promise(system)
    receive(system, "deliveries", [delivery(0, 0.01), delivery(1, 0.01)])
    sums_add_waiting(1)
    during = datetime.fromtimestamp(BEGAN_S + 119.9, UTC)
    assert objectives_judge(during) == 1
    assert set(judged(slo)) == {0}
    assert objectives_judge(during + timedelta(seconds=0.1)) == 1
    assert set(judged(slo)) == {0, 1}


def test_records_that_come_late_change_a_verdict(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    receive(system, "deliveries", [delivery(0, 0.01)])
    sums_add_waiting(1)
    objectives_judge()
    assert judged(slo)[0].has_held
    receive(system, "deliveries", [delivery(0, 9.0)])
    sums_add_waiting(1)
    assert objectives_judge() == 1
    assert not judged(slo)[0].has_held
    assert judged(slo)[0].messages == 2


def test_a_budget_that_has_not_begun_has_no_beginning(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    edit(slo, BEGAN_S + 305, target=3.0)
    objectives_judge(datetime.fromtimestamp(BEGAN_S + 310, UTC))
    assert read(slo, BEGAN_S + 310).since is None
    assert read(slo, BEGAN_S + 370).since == datetime.fromtimestamp(BEGAN_S + 360, UTC)


def test_an_edited_objective_begins_a_new_budget(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(4)])
    sums_add_waiting(1)
    objectives_judge()
    assert read(slo).compliance.counted.missed == 4

    edit(slo, BEGAN_S + 200, name="other")
    objectives_judge()
    assert read(slo).compliance.counted.missed == 4

    edit(slo, BEGAN_S + 60.5, target=2.0)
    assert read(slo).compliance.counted.measured == 0  # before anybody judged it anew
    assert read(slo).since is None
    objectives_judge()
    reading = read(slo)
    # The minute in which it was edited belongs to neither promise.
    assert set(judged(slo)) == {2, 3}
    assert reading.since == datetime.fromtimestamp(BEGAN_S + 120, UTC)
    assert reading.compliance.counted.missed == 0
    assert reading.compliance.share_held == 1.0


def test_edits_there_and_back_begin_a_new_budget(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(4)])
    sums_add_waiting(1)
    objectives_judge()
    edit(slo, BEGAN_S + 30, target=2.0)
    edit(slo, BEGAN_S + 70, target=0.1)
    objectives_judge()
    assert set(judged(slo)) == {2, 3}
    edit(slo.topic, BEGAN_S + 130, name="t2")
    edit(slo.topic, BEGAN_S + 140, name="t1")
    objectives_judge()
    assert set(judged(slo)) == {3}


def test_only_edits_of_promises_move_the_beginning(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    receive(system, "deliveries", [delivery(minute, 1.0, topic="t2") for minute in range(4)])
    sums_add_waiting(1)
    objectives_judge()
    edit(slo.topic, BEGAN_S + 30, name="t2")
    # None of these counts, whichever pass sees them.
    edit(slo, BEGAN_S + 150, name="other")
    edit(slo, BEGAN_S + 160, labels={"team": "x"})
    edit(slo.topic, BEGAN_S + 170, description="Orders.")
    objectives_judge()
    assert set(judged(slo)) == {1, 2, 3}
    edit(slo, BEGAN_S + 171, name="another")
    objectives_judge()
    assert set(judged(slo)) == {1, 2, 3}


def test_a_term_of_an_earlier_release_keeps_its_budget(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(4)])
    sums_add_waiting(1)
    objectives_judge()
    # It knew no versions, and took an edit of the name for one of the promise.
    ObjectiveTerm.objects.update(slo_version=0, topic_version=0, since_s=BEGAN_S + 60)
    objectives_judge()
    assert ObjectiveTerm.objects.get().since_s == BEGAN_S + 60
    assert set(judged(slo)) == {0, 1, 2, 3}
    assert ObjectiveTerm.objects.get().slo_version == slo.version


def test_what_was_added_before_an_objective_was_judged_first_counts(system: System) -> None:
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(3)])
    sums_add_waiting(1)
    assert not ChangedMinute.objects.exists()
    slo = promise(system, at_s=BEGAN_S + 60)
    assert objectives_judge() == 2
    assert set(judged(slo)) == {1, 2}


def test_stretches_end_with_the_last_judged_minute(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1, objective=0.99)
    # Ten of the last sixty minutes, and all of the last five.
    late = {*range(43, 48), *range(50, 55)}
    rows = [delivery(minute, 1.0 if minute in late else 0.01) for minute in range(55)]
    receive(system, "deliveries", rows)
    sums_add_waiting(1)
    objectives_judge()
    now_s = BEGAN_S + 57 * 60 + 12
    reading = read(slo, now_s)
    assert reading.until == datetime.fromtimestamp(BEGAN_S + 55 * 60, UTC)
    assert reading.compliance.counted.missed_in[60] == 10
    assert reading.compliance.counted.missed_in[5] == 5
    assert reading.compliance.standing == "page"
    assert reading.latest.at == datetime.fromtimestamp(BEGAN_S + 54 * 60, UTC)
    # Nobody has measured for ten minutes: nothing is known to go on.
    silent = read(slo, BEGAN_S + 66 * 60)
    assert silent.until == datetime.fromtimestamp(BEGAN_S + 61 * 60, UTC)
    assert silent.judged_until == reading.until
    assert silent.compliance.counted.missed_in[5] == 0
    assert silent.compliance.standing == "holds"


def test_windows_leave_out_what_was_before_them(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1, window_s=600)
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(20)])
    sums_add_waiting(1)
    objectives_judge()
    reading = read(slo, BEGAN_S + 20 * 60)
    assert reading.compliance.counted.measured == 10
    assert reading.since == datetime.fromtimestamp(BEGAN_S + 600, UTC)
    assert reading.compliance.budget_minutes == pytest.approx(0.1)


def test_verdicts_go_with_their_window(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1, window_s=600)
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(4)])
    sums_add_waiting(1)
    objectives_judge()
    later = datetime.fromtimestamp(BEGAN_S + 120 + 600 + 86_400, UTC)
    assert judged_tidy(later) == 2
    assert set(judged(slo)) == {2, 3}
    slo.refresh_from_db()
    slo.delete()
    assert not JudgedMinute.objects.exists()
    assert not ObjectiveTerm.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_minute_that_changes_while_others_judge_is_judged_again() -> None:
    system = make_system()
    edited(make_topic(system), BEGAN_S - 86_400)
    slo = promise(system, "delay_mean_s", 0.1)
    first = receive(system, "deliveries", [delivery(0, 0.01)])
    second = receive(system, "deliveries", [delivery(0, 9.0)])
    assert sums_add(first)
    assert objectives_judge() == 1
    added, may_commit = threading.Event(), threading.Event()

    def add() -> None:
        try:
            with transaction.atomic():
                assert sums_add(second)
                added.set()
                assert may_commit.wait(PATIENCE_S)
        finally:
            connection.close()

    adder = threading.Thread(target=add)
    adder.start()
    assert added.wait(PATIENCE_S)
    # The minute is left alone until those that change it have ended.
    assert objectives_judge() == 0
    may_commit.set()
    adder.join(PATIENCE_S)
    assert objectives_judge() == 1
    assert not judged(slo)[0].has_held
    assert judged(slo)[0].messages == 2


def test_the_api_says_how_objectives_held(system: System) -> None:
    late, fine = promise(system, "delay_mean_s", 0.1), promise(system, "delay_mean_s", 10.0)
    other = promise(system, "loss_ratio", 0.1)
    receive(system, "deliveries", [delivery(minute, 1.0) for minute in range(30)])
    sums_add_waiting(1)
    judge_objectives()
    api = client_of(make_user("ann", Role.VIEWER))
    address = "/api/v1/slo-compliance"
    page = api.get(f"{address}?system={system.public_id}").json()
    assert [row["name"] for row in page["results"]] == sorted(s.name for s in (late, fine, other))
    by_name = {row["name"]: row for row in page["results"]}
    row = by_name[late.name]
    assert row["id"] == str(late.public_id)
    assert (row["measured_minutes"], row["missed_minutes"]) == (30, 30)
    assert row["share_held"] == 0.0
    assert row["budget_left"] == pytest.approx(1 - 30 / 432)
    assert row["latest"]["value"] == pytest.approx(1.0, rel=0.05)
    assert row["judged_until"] == text(BEGAN_S + 30 * 60)
    assert row["judged_until"] < row["until"]
    assert by_name[other.name]["judged_until"] is None
    assert by_name[fine.name]["standing"] == "holds"
    assert by_name[other.name]["standing"] == "not_measured"
    assert by_name[other.name]["budget_left"] is None
    assert api.get(f"{address}/{late.public_id}").json() == row
    (only,) = api.get(f"{address}?quantity=loss_ratio").json()["results"]
    assert only["name"] == other.name
    assert api.get(f"{address}?system={make_system('other').public_id}").json()["count"] == 0


def test_the_api_gives_minutes_by_step(system: System) -> None:
    slo = promise(system, "delay_mean_s", 0.1)
    rows = [delivery(minute, 0.01 * (minute + 1)) for minute in range(20) if minute != 7]
    receive(system, "deliveries", rows)
    sums_add_waiting(1)
    objectives_judge()
    api = client_of(make_user("ann", Role.VIEWER))
    address = f"/api/v1/slo-compliance/{slo.public_id}/minutes"
    since, until = (
        datetime.fromtimestamp(BEGAN_S + seconds, UTC).isoformat() for seconds in (0, 1200)
    )
    answer = api.get(address, {"since": since, "until": until, "step_s": 300}).json()
    assert [step["measured_minutes"] for step in answer["steps"]] == [5, 4, 5, 5]
    assert [step["missed_minutes"] for step in answer["steps"]] == [0, 0, 5, 5]
    worst = [step["worst"] for step in answer["steps"]]
    assert worst == pytest.approx([0.05, 0.1, 0.15, 0.2], rel=1e-9)
    usual = api.get(address).json()
    # Since the budget began, not the whole window.
    assert usual["since"] == text(BEGAN_S - 600)
    assert usual["judged_until"] == text(BEGAN_S + 20 * 60)
    assert usual["step_s"] == 60
    assert sum(step["measured_minutes"] for step in usual["steps"]) == 19
    month_ago = datetime.fromtimestamp(BEGAN_S - MONTH_S, UTC).isoformat()
    for query, field in (
        ({"since": until, "until": since}, "until"),
        ({"step_s": 90}, "step_s"),
        ({"since": since, "until": until, "step_s": 0}, "step_s"),
        ({"since": "2020-01-01T00:00:00Z"}, "since"),
        ({"since": "9999-12-31T23:00:00Z", "until": "9999-12-31T23:59:59Z"}, "until"),
        ({"step_s": 60, "since": month_ago}, "step_s"),
        # What was sent is to blame.
        ({"since": "2150-01-01T00:00:00Z"}, "since"),
        ({"until": "0001-01-01T00:00:00Z"}, "until"),
    ):
        refused = api.get(address, query)
        assert refused.status_code == 400, query
        assert [error["field"] for error in refused.json()["errors"]] == [field]
