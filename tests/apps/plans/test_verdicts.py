"""Whether a plan helped: only with a promise, two measured windows, and more than noise."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.executions.models import Execution
from apps.plans.domain.verdicts import (
    BLOCK,
    Judged,
    Window,
    judge,
    window_after,
    window_before,
)
from apps.plans.models import Plan, Verification
from apps.plans.services import plans_verify
from apps.systems.services import entity_update
from apps.telemetry.models import Sample
from tests.factories.fleet import Harbour
from tests.factories.plans import agents_come, agents_look, approved, carried_out, make_plan
from weir.model.plan import Promise

START = datetime(2026, 3, 18, 14, 0, tzinfo=UTC)
GAIN = (Promise(name="utility", unit="", before=100.0, after=110.0),)


def window(*blocks: float, brokers: str = "ab") -> Window:
    return Window(since=START, until=START, blocks=blocks, brokers=frozenset(brokers))


def around(mean: float, spread: float = 0.2) -> Window:
    return window(*(mean + spread * (1 if i % 2 else -1) for i in range(10)))


@pytest.mark.parametrize(
    ("promise", "after", "judged"),
    [
        (GAIN, around(109.5), Judged.HELPED),
        (GAIN, around(105.0), Judged.PARTLY),
        (GAIN, around(100.3), Judged.MISSED),
        (GAIN, around(90.0), Judged.MISSED),
        ((Promise(name="utility", unit="", before=110.0, after=100.0),), around(91), Judged.KEPT),
        ((Promise(name="utility", unit="", before=110.0, after=100.0),), around(80), Judged.MISSED),
    ],
)
def test_a_difference_beyond_the_noise_is_judged(
    promise: tuple[Promise, ...], after: Window, judged: Judged
) -> None:
    verdict = judge(promise, around(100.0), after)
    assert verdict.judged is judged
    assert "Before, it varied by \u00b10.4 % by itself." in verdict.because


@pytest.mark.parametrize(
    ("promise", "before", "after", "because"),
    [
        ((), around(100), around(110), "the plan promises no utility"),
        (
            (Promise(name="utility", unit="", before=None, after=110.0),),
            around(100),
            around(110),
            "no change was promised",
        ),
        (GAIN, None, around(110), "too little was measured in the 5 min before it began"),
        (GAIN, around(100), window(110, 110), "too little was measured in the 5 min after it"),
        (GAIN, around(100), window(*[110] * 10, brokers="a"), "b measured only on one side"),
        # Half a percent in a system that varies by two.
        (
            (Promise(name="utility", unit="", before=100.0, after=100.5),),
            around(100, spread=1.0),
            around(100.5, spread=1.0),
            "the promised change (+0.5 %) is smaller than what the measured utility varies",
        ),
    ],
)
def test_without_promise_window_or_difference_there_is_no_verdict(
    promise: tuple[Promise, ...], before: Window | None, after: Window | None, because: str
) -> None:
    verdict = judge(promise, before, after)
    assert verdict.judged is Judged.UNKNOWN
    assert verdict.because.startswith("Cannot be told, because ")
    assert because in verdict.because


def measure(harbour: Harbour, since: datetime, until: datetime, passed: float) -> None:
    """Samples as the agents at a and c would send them, one for every block, a little uneven."""
    at, uneven = since, 1
    while (at := at + BLOCK) <= until:
        uneven = -uneven
        for name, payload in (
            ("a", {"flows": {"tides": {"passed_per_s": passed + 0.01 * uneven}}}),
            ("c", {"classes": {"gulls": {"admitted": 5}}}),
        ):
            Sample.objects.create(
                broker=harbour.brokers[name],
                at=at,
                payload={"interval_s": BLOCK.total_seconds(), **payload},
            )


def executed(harbour: Harbour, ines: User, jon: User, olga: User, **values: object) -> Plan:
    """A plan carried out twenty minutes ago, within two minutes."""
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    plan = make_plan(harbour.system, ines, **values)
    execution = carried_out(harbour, agents, approved(plan, ines, jon), olga)
    started_at = timezone.now() - timedelta(minutes=20)
    Execution.objects.filter(pk=execution.pk).update(
        started_at=started_at, ended_at=started_at + timedelta(minutes=2)
    )
    return Plan.objects.get(pk=plan.pk)


def both_windows(harbour: Harbour, plan: Plan, before: float, after: float) -> None:
    execution = plan.execution
    assert execution is not None
    assert execution.started_at is not None
    assert execution.ended_at is not None
    measure(harbour, *window_before(execution.started_at), passed=before)
    measure(harbour, *window_after(execution.ended_at), passed=after)


def row_of(api: APIClient) -> dict[str, object]:
    (row,) = api.get("/api/v1/plans/outcomes?days=1").json()["results"]
    assert isinstance(row, dict)
    return row


def test_measures_on_both_sides_and_judges_once(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=20.0, after=60.0)
    assert plans_verify() == 2
    assert plans_verify() == 0
    row = row_of(api)
    # Log utility of weight 10: five gulls at 20 and at 60 msg/s.
    assert (row["judged"], row["known_at"]) == ("helped", None)
    assert row["measured_before"] == pytest.approx(152.2, abs=0.2)
    assert row["measured_after"] == pytest.approx(205.5, abs=0.2)
    assert "+40.0 % was promised" in str(row["because"])


def test_nothing_measured_is_no_help(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    executed(harbour, ines, jon, olga)
    plans_verify()
    row = row_of(api)
    assert (row["judged"], row["measured_before"], row["measured_after"]) == ("unknown", None, None)
    assert "too little was measured in the 5 min before it began" in str(row["because"])


def test_a_plan_without_a_before_promises_no_change(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    first = (Promise(name="utility", unit="", before=None, after=140.0),)
    plan = executed(harbour, ines, jon, olga, promise=first)
    both_windows(harbour, plan, before=20.0, after=60.0)
    plans_verify()
    row = row_of(api)
    assert row["judged"] == "unknown"
    assert "no change was promised" in str(row["because"])
    assert not Verification.objects.exists()


def test_too_early_says_when(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    ended_at = timezone.now() - timedelta(minutes=1)
    Execution.objects.filter(plan=plan).update(ended_at=ended_at)
    assert plans_verify() == 1
    row = row_of(api)
    until = window_after(ended_at)[1]
    assert row["judged"] == "too_early"
    assert row["because"] == (
        f"Too early to tell: what comes after it is measured until {until:%H:%M} UTC."
    )
    assert datetime.fromisoformat(str(row["known_at"])) == until


def test_another_plan_in_the_window_leaves_no_verdict(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=20.0, after=60.0)
    execution = plan.execution
    assert execution is not None
    assert execution.ended_at is not None
    Execution.objects.create(
        system=plan.system,
        number=99,
        subject_id=plan.public_id,
        subject_name="P-9",
        state="succeeded",
        started_at=execution.ended_at + timedelta(minutes=1),
        ended_at=execution.ended_at + timedelta(minutes=2),
    )
    plans_verify()
    row = row_of(api)
    assert row["judged"] == "unknown"
    assert "P-9 was begun before the effect of this plan was measured" in str(row["because"])


def test_a_heavier_weight_meanwhile_is_no_help(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    """Weights edited after the execution: at the model's new ones nothing can be compared."""
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=20.0, after=20.0)
    utility = harbour.consumers.utility
    # Between the two measurements, as an edit of the model would come.
    Execution.objects.filter(plan=plan).update(ended_at=timezone.now())
    plans_verify()
    entity_update(
        instance=utility,
        actor=None,
        expected_version=utility.version,
        values={"parameters": {"weight": 100.0}},
    )
    assert plan.execution is not None
    Execution.objects.filter(plan=plan).update(ended_at=plan.execution.ended_at)
    plans_verify()
    row = Verification.objects.get()
    assert row.judged == "unknown"
    assert "the utility functions that it was planned with are not known" in row.because
