"""Whether a plan helped: only with a promise, two measured windows, and more than noise."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.catalog.models import Slo
from apps.executions.models import Execution, Setting
from apps.pipeline.models import JudgedMinute, ObjectiveTerm
from apps.plans.domain.parts import Kept
from apps.plans.domain.verdicts import (
    BLOCKS,
    LAG,
    Judged,
    Window,
    judge,
    window_after,
    window_before,
)
from apps.plans.models import Plan, Verification
from apps.plans.selectors.measured_windows import measured_between, weights_of
from apps.plans.selectors.outcomes import can_be_judged, outcome_of
from apps.plans.selectors.parts import figures_before, parts_of
from apps.plans.services import plans_verify
from apps.systems.services import entity_create, entity_delete, entity_update
from apps.telemetry.models import Sample
from tests.factories import make_system
from tests.factories.fleet import Harbour, population, rate, shift
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    make_plan,
    make_policy,
)
from weir.model.plan import LINK_TRAFFIC, TAIL_DELAY, Action, Promise, Source

START = datetime(2026, 3, 18, 14, 0, tzinfo=UTC)
WINDOW_S = 300.0
WINDOW = timedelta(seconds=WINDOW_S)
GAIN = (Promise(name="utility", unit="", before=100.0, after=110.0),)


def window(*blocks: float, brokers: str = "ab") -> Window:
    return Window(since=START, until=START + WINDOW, blocks=blocks, brokers=frozenset(brokers))


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
        (GAIN, window(), around(110), "too little was measured in the 5 minutes before it began"),
        (GAIN, around(100), window(110, 110), "too little was measured in the 5 minutes after it"),
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
    promise: tuple[Promise, ...], before: Window, after: Window, because: str
) -> None:
    verdict = judge(promise, before, after)
    assert verdict.judged is Judged.UNKNOWN
    assert verdict.because.startswith("Cannot be told, because ")
    assert because in verdict.because


def measure(
    harbour: Harbour,
    since: datetime,
    until: datetime,
    *,
    passed: float,
    offered: float | None = None,
    admitted: int = 5,
    waiting: int = 0,
    sent: float = 0.0,
    wait_s: float | None = None,
) -> None:
    """Samples as the agents at a and c would send them, one for every block, a little uneven."""
    block, uneven = (until - since) / BLOCKS, 0.01
    for at in (since + block * number for number in range(1, BLOCKS + 1)):
        uneven = -uneven
        came = passed if offered is None else offered
        rates = {"offered_per_s": came + uneven, "passed_per_s": passed + uneven}
        consumers = {"admitted": admitted, "waiting": waiting}
        waits = {} if wait_s is None else {"wait_p99_s": wait_s}
        for name, payload in (
            (
                "a",
                {
                    "flows": {"tides": {**rates, **waits, "shed_per_s": came - passed}},
                    "links": {"b": {"sent_per_s": sent / 2}},
                },
            ),
            (
                "b",
                {"flows": {}, "links": {"a": {"sent_per_s": 0.0}, "c": {"sent_per_s": sent / 2}}},
            ),
            ("c", {"classes": {"gulls": consumers}}),
        ):
            Sample.objects.create(
                broker=harbour.brokers[name],
                at=at,
                payload={"interval_s": block.total_seconds(), **payload},
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


def both_windows(
    harbour: Harbour,
    plan: Plan,
    before: float,
    after: float,
    window_s: float = WINDOW_S,
    **figures: Any,
) -> None:
    execution = plan.execution
    assert execution is not None
    assert execution.started_at is not None
    assert execution.ended_at is not None
    measure(harbour, *window_before(execution.started_at, window_s), passed=before)
    measure(harbour, *window_after(execution.ended_at, window_s), passed=after, **figures)


def row_of(api: APIClient) -> dict[str, object]:
    (row,) = api.get("/api/v1/plans/outcomes?days=1").json()["results"]
    assert isinstance(row, dict)
    return row


def test_measures_on_both_sides_and_judges_once(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0)
    assert plans_verify() == 2
    assert plans_verify() == 0
    row = row_of(api)
    # Log utility of weight 10: five gulls at 12 and at 40 msg/s.
    assert (row["judged"], row["known_at"]) == ("helped", None)
    assert row["measured_before"] == pytest.approx(128.2, abs=0.2)
    assert row["measured_after"] == pytest.approx(185.7, abs=0.2)
    assert "+40.0 % was promised" in str(row["because"])
    assert (row["parts_kept"], row["parts_missed"], row["parts_unknown"]) == (3, 0, 0)
    assert 'weir_promises{verdict="helped"} 1' in api.get("/metrics").content.decode()
    parts = {part["quantity"]: part for part in parts_shown(api, plan)}
    rate = parts["rate"]
    assert (rate["name"], rate["where"], rate["unit"]) == ("tides", "a", "msg/s")
    assert (rate["promised"], rate["before"], rate["after"]) == (40.0, 12.0, pytest.approx(40.0))
    assert rate["because"] == "55 msg/s came; the limit passed."
    assert (parts["consumers"]["promised"], parts["consumers"]["after"]) == (5.0, 5.0)
    assert (parts["load"]["name"], parts["load"]["kept"]) == ("c", "kept")
    # At rest, the limits are what passes.
    assert parts["load"]["after"] == pytest.approx(parts["load"]["promised"])


def parts_shown(api: APIClient, plan: Plan) -> list[dict[str, Any]]:
    """The parts of an outcome as the API gives them."""
    parts: list[dict[str, Any]] = api.get(f"/api/v1/plans/{plan.public_id}/outcome").json()["parts"]
    return parts


@pytest.mark.parametrize(
    ("figures", "missed", "because", "judged"),
    [
        ({"after": 60.0}, ["rate", "load"], "20 msg/s more than the limit passed", "partly"),
        ({"after": 30.0, "offered": 50.0}, ["rate"], "the gate drops bursts", "partly"),
        (
            {"after": 40.0, "admitted": 3, "waiting": 4},
            ["consumers"],
            "2 waited on average",
            "missed",
        ),
        (
            {"after": 40.0, "admitted": 9},
            ["consumers", "load"],
            "4 more than the limit were",
            "partly",
        ),
    ],
)
def test_a_part_that_is_missed_says_by_how_much_and_why(
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
    api: APIClient,
    figures: dict[str, Any],
    missed: list[str],
    because: str,
    judged: str,
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, **figures)
    plans_verify()
    parts = parts_shown(api, plan)
    assert [part["quantity"] for part in parts if part["kept"] == "missed"] == missed
    assert any(because in part["because"] for part in parts)
    row = row_of(api)
    # More than was planned raises the utility; the promise is not kept for that.
    assert row["judged"] == judged
    assert f"{len(missed)} of 3 parts of the promise missed: " in str(row["because"])


def test_rate_control_is_named_where_it_holds_a_gate(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    Setting.objects.filter(system=plan.system, kind="set_flow_rate").update(
        controlled={"rate_per_s": 25.0, "burst": 5.0}
    )
    both_windows(harbour, plan, before=12.0, after=25.0, offered=50.0)
    plans_verify()
    (rate,) = [part for part in parts_shown(api, plan) if part["quantity"] == "rate"]
    assert rate["kept"] == "missed"
    assert "rate control holds the gate at 25 msg/s" in rate["because"]


def test_an_objective_about_delays_is_a_part_once_its_minutes_are_judged(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0)
    slo = entity_create(
        model=Slo,
        system=harbour.system,
        actor=None,
        values={"name": "swift", "topic": harbour.topic, "quantity": "delay_p99_s", "target": 0.5},
    )
    assert plan.execution is not None
    assert plan.execution.started_at is not None
    assert plan.execution.ended_at is not None
    ObjectiveTerm.objects.create(
        slo=slo,
        topic="tides",
        since_s=0,
        **{name: getattr(slo, name) for name in ("quantity", "target", "objective", "window_s")},
    )
    first = int(window_after(plan.execution.ended_at, WINDOW_S)[0].timestamp()) // 60 * 60
    for minute in range(first - 3600, first + 600, 60):
        JudgedMinute.objects.create(
            slo=slo,
            since_s=minute,
            value=0.9 if minute > plan.execution.started_at.timestamp() else 0.1,
            has_held=False,
            has_too_few=False,
            messages=10,
            evidence="delivery",
        )
    plans_verify()
    parts = {part["quantity"]: part for part in parts_shown(api, plan)}
    delay = parts["delay"]
    assert (delay["name"], delay["where"], delay["kept"]) == ("tides", "p99, swift", "missed")
    assert (delay["promised"], delay["before"]) == (0.5, pytest.approx(0.1))
    assert delay["after"] == pytest.approx(0.9)
    assert delay["because"] == "The objective held in 0 of 4 minutes; before, in 4 of 4."


def test_an_objective_that_is_edited_or_made_meanwhile_is_no_part(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0)
    values = {"topic": harbour.topic, "quantity": "delay_p99_s", "target": 0.5}
    slo, other = (
        entity_create(model=Slo, system=harbour.system, actor=None, values={"name": name, **values})
        for name in ("swift", "swifter")
    )
    Execution.objects.filter(plan=plan).update(ended_at=timezone.now() - timedelta(minutes=1))
    assert plans_verify() == 1
    entity_update(instance=slo, actor=None, expected_version=1, values={"target": 900.0})
    entity_delete(instance=other, actor=None, expected_version=1)
    entity_create(model=Slo, system=harbour.system, actor=None, values={"name": "late", **values})
    assert plan.execution is not None
    Execution.objects.filter(plan=plan).update(ended_at=plan.execution.ended_at)
    assert plans_verify() == 1
    delays = [part for part in parts_shown(api, plan) if part["quantity"] == "delay"]
    assert [part["where"] for part in delays] == ["p99, swift", "p99, swifter"]
    assert {part["because"] for part in delays} == {
        "The objective was edited or deleted meanwhile."
    }


def test_a_plan_of_limits_alone_is_judged_by_its_parts(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    first = (Promise(name="utility", unit="", before=None, after=140.0),)
    plan = executed(harbour, ines, jon, olga, promise=first)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0)
    plans_verify()
    row = row_of(api)
    assert row["judged"] == "kept"
    assert str(row["because"]).startswith("3 of 3 parts of the promise kept.")
    assert "The utility is not judged: no change was promised" in str(row["because"])


def test_the_record_counts_what_can_be_told_over_thirty_days(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    empty = api.get("/api/v1/plans/outcomes").json()
    assert empty["record"] | {"since": None} == {
        "since": None,
        "executed": 0,
        "decided": 0,
        "kept": 0,
        "share": None,
        "objective": 0.95,
        "is_met": None,
    }
    plan = executed(harbour, ines, jon, olga)
    plans_verify()
    record = api.get("/api/v1/plans/outcomes").json()["record"]
    assert (record["executed"], record["decided"], record["is_met"]) == (1, 0, None)
    Verification.objects.update(judged="partly")
    asked = f"/api/v1/plans/outcomes?system={plan.system.public_id}"
    body = api.get(f"{asked}&judged=partly&judged=missed").json()
    assert (body["record"]["share"], body["record"]["is_met"]) == (0.0, False)
    assert [row["name"] for row in body["results"]] == ["P-1"]
    assert api.get(f"{asked}&judged=helped").json()["results"] == []
    Verification.objects.update(judged="helped")
    record = api.get(asked).json()["record"]
    assert (record["kept"], record["share"], record["is_met"]) == (1, 1.0, True)
    elsewhere = make_system("elsewhere").public_id
    other = api.get(f"/api/v1/plans/outcomes?system={elsewhere}").json()
    assert (other["record"]["executed"], other["results"]) == (0, [])


def test_the_policy_says_how_long_is_measured(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    make_policy(harbour.system, judge_window_s=60)
    # Of a minute no delay is known; so nobody waits for it either.
    swift = {"name": "swift", "topic": harbour.topic, "quantity": "delay_p99_s", "target": 0.5}
    entity_create(model=Slo, system=harbour.system, actor=None, values=swift)
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0, window_s=60.0)
    ended_at = timezone.now() - timedelta(seconds=95)
    Execution.objects.filter(plan=plan).update(ended_at=ended_at)
    assert plans_verify() == 1
    # Other terms are for plans that begin from now on.
    make_policy(harbour.system, judge_window_s=900)
    assert datetime.fromisoformat(str(row_of(api)["known_at"])) == (
        window_after(ended_at, 60.0)[1] + LAG
    )
    ended_at = timezone.now() - timedelta(seconds=101)
    Execution.objects.filter(plan=plan).update(ended_at=ended_at)
    measure(harbour, *window_after(ended_at, 60.0), passed=40.0, offered=55.0)
    assert plans_verify() == 1
    assert row_of(api)["judged"] == "helped"


def test_a_plan_that_was_not_executed_has_no_outcome(plan: Plan, api: APIClient) -> None:
    answer = api.get(f"/api/v1/plans/{plan.public_id}/outcome")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_in_this_state")


def test_nothing_measured_is_no_help(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    executed(harbour, ines, jon, olga)
    plans_verify()
    row = row_of(api)
    assert (row["judged"], row["measured_before"], row["measured_after"]) == ("unknown", None, None)
    assert "too little was measured in the 5 minutes before it began" in str(row["because"])


def test_a_plan_of_links_alone_promises_nothing_that_is_judged(
    harbour: Harbour, ines: User
) -> None:
    links = make_plan(harbour.system, ines, [shift("a", "b", "c")], promise=())
    assert not can_be_judged(links)
    carried = Execution.objects.create(
        system=harbour.system,
        number=99,
        subject_id=links.public_id,
        subject_name="P-1",
        state="succeeded",
        started_at=START,
        ended_at=START,
    )
    links.execution = carried
    assert outcome_of(links, timezone.now()).because == (
        "Cannot be told, because it promises nothing that is measured."
    )
    assert can_be_judged(make_plan(harbour.system, ines, promise=()))


LINKS = Promise(name=LINK_TRAFFIC, unit="msg/s", before=4000.0, after=2000.0)
PART = {"rate_per_s": 40.0, "size": 8.0, "mode": "enforce"}


def test_traffic_on_links_is_a_part_of_what_moves_them(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga, promise=(LINKS,))
    execution = plan.execution
    assert execution is not None
    assert execution.started_at is not None
    assert execution.ended_at is not None
    # Three for each message before, and two after: a third less, where a half was promised.
    measure(harbour, *window_before(execution.started_at, WINDOW_S), passed=20.0, sent=60.0)
    measure(harbour, *window_after(execution.ended_at, WINDOW_S), passed=40.0, sent=80.0)
    assert plans_verify() == 2
    (traffic,) = [part for part in parts_shown(api, plan) if part["quantity"] == "traffic"]
    assert (traffic["name"], traffic["where"], traffic["unit"]) == ("links", "", "msg/s")
    assert traffic["kept"] == "missed"
    assert (traffic["before"], traffic["after"]) == (pytest.approx(60.0), pytest.approx(80.0))
    assert traffic["promised"] == pytest.approx(60.0, rel=1e-3)
    assert traffic["because"] == (
        "For each message that comes links carry 2 messages, 3 before; 1.5 was promised."
    )
    row = row_of(api)
    assert row["judged"] == "partly"
    assert "1 of 4 parts of the promise missed: traffic of links" in str(row["because"])
    links = make_plan(harbour.system, ines, [shift("a", "b", "c")], promise=(LINKS,))
    assert can_be_judged(links)


def test_waits_at_a_divided_bucket_are_a_part(harbour: Harbour, ines: User) -> None:
    bucket = Action(
        kind="set_bucket", target={"flow": "tides", "broker": "a"}, before=None, after=PART
    )
    promise = Promise(name=TAIL_DELAY.format(topic="tides"), unit="s", before=None, after=0.02)
    plan = make_plan(harbour.system, ines, [bucket], promise=(promise,))
    assert can_be_judged(plan)
    measure(harbour, START, START + WINDOW, passed=12.0, wait_s=0.5)
    before = figures_before(plan, measured_between(plan, START, START + WINDOW), None)
    assert before["waits"] == {"tides": pytest.approx([0.5] * BLOCKS)}
    since, until = window_after(START + WINDOW, WINDOW_S)
    measure(harbour, since, until, passed=12.0, wait_s=0.0125)
    plan.execution = Execution(system=harbour.system, started_at=START + WINDOW)
    (part,) = parts_of(plan, before, measured_between(plan, since, until), None)
    assert (part.quantity, part.name, part.kept) == ("wait", "tides", Kept.KEPT)
    assert (part.promised, part.before, part.after) == (0.02, 0.5, pytest.approx(0.0125))
    # An agent that is silent may be where they wait longest.
    Sample.objects.filter(broker__name="a", at__gt=since + WINDOW * 0.5).delete()
    (part,) = parts_of(plan, before, measured_between(plan, since, until), None)
    assert part.kept is Kept.UNKNOWN


def test_too_early_says_when(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    ended_at = timezone.now() - timedelta(minutes=1)
    Execution.objects.filter(plan=plan).update(ended_at=ended_at)
    assert plans_verify() == 1
    row = row_of(api)
    until = window_after(ended_at, WINDOW_S)[1]
    assert row["judged"] == "too_early"
    assert row["because"] == (
        f"Too early to tell: what comes after it is measured until {until:%H:%M} UTC."
    )
    assert datetime.fromisoformat(str(row["known_at"])) == until + LAG


def test_a_moment_after_its_end_it_is_too_early(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    """Nothing was written yet: whoever looks now shall not read that nothing was measured."""
    plan = executed(harbour, ines, jon, olga)
    Execution.objects.filter(plan=plan).update(ended_at=timezone.now() - timedelta(seconds=2))
    assert (row_of(api)["judged"], row_of(api)["known_at"]) == ("too_early", None)
    Execution.objects.filter(plan=plan).update(ended_at=timezone.now() - timedelta(minutes=2))
    assert "nothing was measured when it was carried out" in str(row_of(api)["because"])


def test_a_plan_that_is_taken_back_at_once_missed_its_promise(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0)
    undo = Source(kind="plan", id=str(plan.public_id), name="P-1")
    back = make_plan(harbour.system, ines, [rate(40.0, None)], source=undo)
    assert plan.execution is not None
    assert plan.execution.ended_at is not None
    Execution.objects.create(
        system=plan.system,
        number=99,
        subject_id=back.public_id,
        subject_name="P-2",
        state="succeeded",
        started_at=plan.execution.ended_at + timedelta(minutes=1),
        ended_at=plan.execution.ended_at + timedelta(minutes=2),
    )
    plans_verify()
    row = row_of(api)
    assert row["judged"] == "missed"
    assert row["because"] == "P-2 took it back before its effect was measured."


def test_what_was_not_measured_is_not_nothing(
    harbour: Harbour, ines: User, jon: User, olga: User, api: APIClient
) -> None:
    """Agents that know no rate for a while send none: that is no gate that is closed."""
    plan = executed(harbour, ines, jon, olga)
    both_windows(harbour, plan, before=12.0, after=40.0, offered=55.0)
    assert plan.execution is not None
    assert plan.execution.ended_at is not None
    since, _ = window_after(plan.execution.ended_at, WINDOW_S)
    blind = Sample.objects.filter(broker__name="a", at__gt=since, at__lte=since + WINDOW * 0.4)
    assert blind.count() == 4
    for sample in blind:
        del sample.payload["flows"]["tides"]["passed_per_s"]
        sample.save()
    plans_verify()
    (rate_,) = [part for part in parts_shown(api, plan) if part["quantity"] == "rate"]
    assert (rate_["kept"], rate_["after"]) == ("kept", pytest.approx(40.0))
    seen = measured_between(plan, *window_after(plan.execution.ended_at, WINDOW_S))
    assert len(seen.series("a", "passed_per_s", "tides").blocks) == 6
    assert len(seen.series("a", "offered_per_s", "tides").blocks) == 10


def test_no_load_is_promised_where_limits_are_taken_away(harbour: Harbour, ines: User) -> None:
    """What nothing limits depends on demand alone: the model's figure is no promise."""
    limits = make_plan(harbour.system, ines)
    problem = weights_of(limits)
    seen = measured_between(limits, START, START + WINDOW)
    assert figures_before(limits, seen, problem)["load"]["place"] == "c"
    # At c the consumers of the first are not limited, and of the second the rate is not; nothing
    # else costs anything.
    rates_alone = make_plan(harbour.system, ines, [rate(None, 40.0)])
    assert figures_before(rates_alone, seen, problem)["load"] is None
    consumers_alone = make_plan(harbour.system, ines, [population(None, 5)])
    assert figures_before(consumers_alone, seen, problem)["load"] is None


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
    # Gates and limits act as planned; whether that was worth it nobody can say any more.
    assert row.judged == "kept"
    assert "The utility is not judged: the utility functions that it was" in row.because
