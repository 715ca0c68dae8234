"""POST /placements/{id}/plan: each broker's part of the bucket, what shrinks first."""

from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.catalog.models import Publisher
from apps.executions.models import Setting
from apps.executions.services.adopt_model import model_adopt
from apps.placements.models import Placement
from apps.placements.services import propose
from apps.plans.models import Plan
from apps.plans.selectors.presentation import publishers_changed
from apps.policies.domain.rules import auto_approves
from apps.policies.domain.terms import Terms
from apps.systems.services import entity_update
from apps.telemetry.models import Sample
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.streets import (
    Streets,
    carry_from,
    carry_out,
    enforce,
    make_streets,
    place,
    values,
)
from weir.actions import inverse_steps, target_key
from weir.model.plan import Action

pytestmark = pytest.mark.django_db


@pytest.fixture
def streets() -> Streets:
    """Two pins keep publishers at b1 and b2, which both serve the topic for that."""
    streets = make_streets()
    Publisher.objects.filter(system=streets.system, name__in=["s01", "s09"]).update(pinned=True)
    carry_from(streets, "b1")
    return streets


def ask(api: Any, placement: Placement, **body: Any) -> Any:
    return api.post(f"/api/v1/placements/{placement.public_id}/plan", body, format="json")


def plan_of(api: Any, placement: Placement, **body: Any) -> Plan:
    answer = ask(api, placement, **body)
    assert answer.status_code == 201, answer.content
    return Plan.objects.get(public_id=answer.json()["id"])


def changes(plan: Plan) -> list[dict[str, tuple[Any, Any]]]:
    """Rate and size before and after, by broker, of each step."""

    def part(value: Any) -> Any:
        return value and (round(value["rate_per_s"], 3), round(value["size"], 3), value["mode"])

    return [
        {action.target["broker"]: (part(action.before), part(action.after)) for action in s.actions}
        for s in plan.content.steps
        if all(action.kind == "set_bucket" for action in s.actions)
    ]


def lists(plan: Plan) -> list[dict[str, tuple[Any, Any]]]:
    """Publishers before and after, by broker, of the steps that change lists."""

    def names(value: Any) -> Any:
        return value and value["publishers"]

    return [
        {
            action.target["broker"]: (names(action.before), names(action.after))
            for action in s.actions
        }
        for s in plan.content.steps
        if all(action.kind == "assign_publishers" for action in s.actions)
    ]


def test_the_source_is_bounded_before_others_open(api, streets):
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    plan = plan_of(api, placement)
    assert (plan.kind, plan.source_name) == ("placement", str(placement))
    first, second = changes(plan)
    shares = {row["broker"]: row for row in placement.outcome["shares"] if row["publishers"]}
    assert set(shares) == {"b1", "b2"}
    parts = {
        name: (round(row["token_rate_per_s"], 3), round(row["bucket"], 3), "enforce")
        for name, row in shares.items()
    }
    assert first == {"b1": (None, parts["b1"])}
    assert second == {"b2": (None, parts["b2"])}
    assert sum(part[0] for part in parts.values()) == pytest.approx(700.0)
    assert sum(part[1] for part in parts.values()) == pytest.approx(40.0)


def test_publishers_leave_before_parts_change_and_are_let_in_after(api, streets):
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    plan = plan_of(api, placement)
    kinds = [{action.kind for action in step.actions} for step in plan.content.steps]
    assert kinds == [{"assign_publishers"}, {"set_bucket"}, {"set_bucket"}, {"assign_publishers"}]
    first, last = lists(plan)
    stay, go = first["b1"][1], last["b2"][1]
    assert first == {"b1": (None, stay), "b2": (None, [])}
    assert last["b2"] == ([], go)
    assert last.keys() == {"b2"}, "who stays at b1 is in its list from the beginning"
    assert sorted([*stay, *go]) == sorted([*(f"s{n:02}" for n in range(1, 13)), "silent"])
    assert {"s01", "silent"} <= set(stay), "a pin, and one without a rate"
    assert "s09" in go
    assert plan.content.steps[0].actions[0].effect == (
        "Publishers of sensors that do not stay at b1 leave it; all that was sent before passes "
        "first."
    )
    assert plan.content.steps[3].actions[0].effect == f"{len(go)} publishers go on at b2."
    text = " ".join(plan.content.why)
    assert f"{len(go)} publishers move: {len(go)} to b2." in text
    assert "known by the name of its connection, and nobody else." in text
    assert "have to connect elsewhere" not in text
    assert "The bucket of sensors, 700 tokens/s and 40 tokens, is split over" in text


def test_rows_count_publishers_and_steps_name_the_first(api, streets):
    answer = ask(api, place(streets, drained_brokers=[streets.brokers["b3"]])).json()
    rows = [row for row in answer["changes"] if row["kind"] == "assign_publishers"]
    stay, go = (
        len(names["publishers"])
        for names in values(Plan.objects.get(), "assign_publishers").values()
    )
    assert [(row["label"], row["was"], row["becomes"]) for row in rows] == [
        ("sensors at b1", "no list", f"{stay} publishers"),
        ("sensors at b2", "no list", "0 publishers"),
        ("sensors at b2", "0 publishers", f"{go} publishers"),
    ]
    last = answer["steps"][3]["actions"][0]
    assert last["after"] == {"publishers": go}
    assert (last["publishers"]["let_in"], last["publishers"]["released"]) == (go, 0)
    assert last["publishers"]["let_in_names"] == sorted(last["publishers"]["let_in_names"])
    assert "s09" in last["publishers"]["let_in_names"]
    first = answer["steps"][0]["actions"][0]["publishers"]
    assert (first["let_in"], first["is_first"]) == (stay, True)
    assert all(action["publishers"] is None for action in answer["steps"][1]["actions"])


def test_a_step_names_fifty_publishers_and_counts_the_others():
    action = Action(
        kind="assign_publishers",
        target={"flow": "f", "broker": "b"},
        before={"publishers": [f"p{n:03}" for n in range(80)]},
        after={"publishers": ["p000", "q"]},
    )
    changed = publishers_changed(action)
    assert changed is not None
    assert (changed["released"], changed["let_in"], changed["is_first"]) == (79, 1, False)
    assert changed["released_names"] == [f"p{n:03}" for n in range(1, 51)]
    assert changed["let_in_names"] == ["q"]


def test_another_placement_releases_publishers_of_lists_in_force(api, streets):
    carry_out(streets, plan_of(api, place(streets, drained_brokers=[streets.brokers["b3"]])))
    Publisher.objects.filter(system=streets.system, topic=streets.topic).update(pinned=False)
    placement = place(streets, drained_brokers=[streets.brokers["b1"]])
    assert not placement.moves.exclude(from_broker="b1").exists(), "the lists say who is where"
    plan = plan_of(api, placement)
    first, last = lists(plan)
    assert first["b1"][1] == []
    assert last["b1"] == ([], None)
    assert "moves" in " ".join(plan.content.why) or "move:" in " ".join(plan.content.why)
    carry_out(streets, plan)
    answer = ask(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_change")


def test_more_publishers_than_a_list_takes_get_parts_alone(api, streets, monkeypatch):
    monkeypatch.setattr(propose, "MOST_PUBLISHERS", 3)
    plan = plan_of(api, place(streets))
    assert lists(plan) == []
    text = " ".join(plan.content.why)
    assert "the plan sets parts alone" in text
    assert "have to connect elsewhere" in text


def test_the_promise_is_the_percentile(api, streets):
    placement = place(streets)
    (promise,) = plan_of(api, placement).content.promise
    assert (promise.unit, promise.after) == ("s", placement.p99_s)
    assert promise.before == placement.outcome["today"]["p99_s"]


def test_a_source_that_is_not_used_is_closed_first(api, streets):
    carry_from(streets, "b4", delivery="reliable")
    placement = place(streets)
    plan = plan_of(api, placement)
    assert changes(plan)[0] == {"b4": (None, (0.0, 0.0, "enforce"))}
    assert lists(plan)[0]["b4"] == (None, [])
    assert lists(plan)[-1]["b4"] == ([], None)
    assert plan.content.steps[1].actions[0].effect == (
        "Nothing of sensors enters at b4 any more; its publishers are refused."
    )
    assert plan.content.why[-1] == (
        "sensors enters at b4 no more, once all that its publishers had sent there has passed."
    )


def test_counting_first_and_enforcing_then(api, streets):
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    counted = plan_of(api, placement, mode="count")
    assert counted.title.startswith("Count what the parts of L-1 would hold of sensors")
    (step,) = changes(counted)
    assert {row[1][2] for row in step.values()} == {"count"}
    assert counted.content.promise == ()
    assert lists(counted) == []
    assert "Nobody is moved by counting" in " ".join(counted.content.why)
    enforce(streets, values(counted))
    (step,) = changes(plan_of(api, placement))
    assert step.keys() == {"b1", "b2"}, "what is only counted bounds nothing"


def test_what_is_enforced_is_not_lifted_to_be_counted(api, streets):
    placement = place(streets)
    enforce(streets, values(plan_of(api, placement)))
    answer = ask(api, placement, mode="count")
    assert (answer.status_code, answer.json()["code"]) == (409, "enforced_already")


def test_what_is_in_force_already_makes_no_plan(api, streets):
    placement = place(streets)
    carry_out(streets, plan_of(api, placement))
    answer = ask(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_change")


def test_another_placement_shrinks_parts_first(api, streets):
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    whole = {"rate_per_s": 700.0, "size": 40.0, "mode": "enforce"}
    enforce(streets, {"b1": whole, "b3": whole | {"rate_per_s": 10.0, "size": 1.0}})
    first, second = changes(plan_of(api, placement))
    assert first["b3"][1] is None
    assert first["b1"][1][0] < 700.0
    assert set(second) == {"b2"}


def test_a_placement_of_an_older_model_is_stale(api, streets):
    placement = place(streets)
    publisher = Publisher.objects.filter(topic=streets.topic).first()
    assert publisher is not None
    entity_update(
        instance=publisher,
        actor=None,
        expected_version=publisher.version,
        values={"rate_per_s": 51.0},
    )
    answer = ask(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_is_stale")


def test_a_topic_that_agents_do_not_know_is_carried_first(api, streets):
    placement = place(streets)
    Setting.objects.filter(system=streets.system, kind="carry_flow").delete()
    answer = ask(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_carried")


def test_a_topic_without_a_source_opens_at_all_brokers(api):
    streets = make_streets()
    model_adopt(system=streets.system, actor=None, reason="As loaded.")
    (step,) = changes(plan_of(api, place(streets)))
    assert all(before is None and after[2] == "enforce" for before, after in step.values())


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.EDITOR, 201)])
def test_who_may_plan(streets, role, status):
    placement = place(streets)
    client = client_of(make_user(role.value, role))
    shown = client.get(f"/api/v1/placements/{placement.public_id}").json()["allowed_commands"]
    assert ("plan" in shown) is (status == 201)
    assert ask(client, placement).status_code == status


def test_no_such_mode(api, streets):
    answer = ask(api, place(streets), mode="perhaps")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "mode")


def sample(streets: Streets, broker: str, **flow: float) -> None:
    Sample.objects.create(
        broker=streets.brokers[broker],
        at=timezone.now(),
        payload={"flows": {streets.topic.name: flow}, "classes": {}, "links": {}, "broker": {}},
    )


def test_what_is_in_force_stands_beside_what_is_measured(api, streets):
    placement = place(streets)
    address = f"/api/v1/placements/{placement.public_id}/parts"
    whole = {"token_rate_per_s": 700.0, "bucket": 40.0}
    unmeasured = {"wait_messages": 0, "largest_wait_p99_s": None}
    unmeasured |= {"unlisted": None, "unlisted_names": []}
    assert api.get(address).json() == {"results": [], **whole, **unmeasured}
    part = {"rate_per_s": 350.0, "size": 20.0}
    enforce(streets, {"b1": {**part, "mode": "count"}, "b2": {**part, "mode": "enforce"}})
    counted = {"bucket_messages": 900, "bucket_held": 9, "bucket_p99_s": 0.1}
    sample(streets, "b1", passed_per_s=300.0, backlog=0, bucket_longest_s=0.4, **counted)
    sample(streets, "b2", passed_per_s=299.0, backlog=7, **counted)
    first, second = api.get(address).json()["results"]
    assert first == {
        **{"broker": "b1", **part, "mode": "count", "passed_per_s": 300.0, "waiting": 0},
        **{"messages": 900, "held": 9, "p99_s": 0.1, "longest_s": 0.4},
        **dict.fromkeys(["wait_messages", "wait_p99_s", "publishers"]),
    }
    assert second == {
        **{"broker": "b2", **part, "mode": "enforce", "passed_per_s": 299.0, "waiting": 7},
        **dict.fromkeys(["messages", "held", "p99_s", "longest_s"]),
        **dict.fromkeys(["wait_messages", "wait_p99_s", "publishers"]),
    }
    Sample.objects.all().delete()
    assert api.get(address).json()["results"][0]["passed_per_s"] is None


def test_measured_waits_are_those_of_enforced_parts(api, streets):
    placement = place(streets)
    address = f"/api/v1/placements/{placement.public_id}/parts"
    part = {"rate_per_s": 200.0, "size": 10.0, "mode": "enforce"}
    enforce(streets, {"b1": part, "b2": part, "b3": {**part, "mode": "count"}})
    enforce(
        streets,
        {"b1": {"publishers": ["s01", "s02"]}, "b2": {"publishers": []}},
        kind="assign_publishers",
    )
    sample(streets, "b1", wait_messages=5_000, wait_p99_s=0.02, wait_mean_s=0.001)
    sample(streets, "b2", wait_messages=70, wait_p99_s=0.5, wait_longest_s=0.6)
    # What waits at the gate of the whole bucket, while the part is only counted.
    sample(streets, "b3", wait_messages=4_000, wait_p99_s=2.0)
    answer = api.get(address).json()
    rows = {
        row["broker"]: (row["wait_messages"], row["wait_p99_s"], row["publishers"])
        for row in answer["results"]
    }
    assert rows == {"b1": (5_000, 0.02, 2), "b2": (70, 0.5, 0), "b3": (None, None, None)}
    assert (answer["wait_messages"], answer["largest_wait_p99_s"]) == (5_070, 0.5)
    publishers = Publisher.objects.filter(topic=streets.topic)
    assert answer["unlisted"] == publishers.count() - 2
    assert answer["unlisted_names"] == ["s03", "s04", "s05"]


def test_an_unused_source_stays_closed_however_often_it_is_planned(api, streets):
    whole = {"rate_per_s": 350.0, "size": 20.0, "mode": "enforce"}
    enforce(streets, {"b1": whole, "b2": whole})
    Publisher.objects.filter(system=streets.system, topic=streets.topic).update(pinned=False)
    placement = place(streets, drained_brokers=[streets.brokers["b1"]])
    plan = plan_of(api, placement)
    closed = {"rate_per_s": 0.0, "size": 0.0, "mode": "enforce"}
    assert dict(plan.content.steps[1].actions[0].after) == closed
    carry_out(streets, plan)
    answer = ask(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_change")


def test_counting_closes_nothing(api, streets):
    Publisher.objects.filter(system=streets.system, topic=streets.topic).update(pinned=False)
    plan = plan_of(api, place(streets, drained_brokers=[streets.brokers["b1"]]), mode="count")
    assert not any("no more" in sentence for sentence in plan.content.why)


PACE = {"window_s": 20.0, "period_s": 2.0, "least_share": 0.05}


def kinds_of(plan: Plan) -> list[set[str]]:
    return [{action.kind for action in step.actions} for step in plan.content.steps]


def orders(plan: Plan) -> list[tuple[int, Any, Any]]:
    """Step, value before and value after of each change of the order to adapt parts."""
    return [
        (index, action.before, action.after)
        for index, step in enumerate(plan.content.steps)
        for action in step.actions
        if action.kind == "adapt_parts"
    ]


def adapt(streets: Streets, *brokers: str) -> dict[str, Any]:
    """An order over these brokers is in force."""
    target = {"flow": streets.topic.name}
    value = {**PACE, "brokers": sorted(brokers)}
    Setting.objects.update_or_create(
        system=streets.system,
        kind="adapt_parts",
        target_key=target_key(target),
        defaults={"target": target, "in_force": value, "desired": value},
    )
    return value


def test_parts_follow_the_traffic_from_the_last_step_on(api, streets):
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    plan = plan_of(api, placement, adaptation=PACE)
    assert kinds_of(plan) == [
        *({"assign_publishers"}, {"set_bucket"}, {"set_bucket"}, {"assign_publishers"}),
        {"adapt_parts"},
    ]
    assert orders(plan) == [(4, None, {**PACE, "brokers": ["b1", "b2"]})]
    assert plan.content.why[-1] == (
        "From the last step on the control plane moves rate and size between the parts of sensors "
        "at b1, b2 by what agents measure, without another approval: every 2 s, by the last 20 s. "
        "The sums stay as they are; an idle broker keeps 5 % of them where demand leaves enough, "
        "and at least a tenth of that. The page of the placement shows every move, and operators "
        "stop it there at once."
    )
    assert plan.blast_radius["brokers"] == 2


def test_a_plan_of_the_order_alone_has_one_step_and_counts_its_brokers(api, streets):
    placement = place(streets)
    carry_out(streets, plan_of(api, placement))
    plan = plan_of(api, placement, adaptation={})
    brokers = sorted(row["broker"] for row in placement.outcome["shares"] if row["publishers"])
    defaults = {"window_s": 10.0, "period_s": 1.0, "least_share": 0.02}
    assert orders(plan) == [(0, None, {**defaults, "brokers": brokers})]
    assert len(plan.content.steps) == 1
    assert plan.title == "Begin the adaptation of the parts of sensors"
    assert plan.content.why[0] == "Parts and publishers of sensors stay where they are."
    assert (plan.content.promise, plan.blast_radius["brokers"]) == ((), len(brokers))
    (row,) = api.get(f"/api/v1/plans/{plan.public_id}").json()["changes"]
    assert (row["kind"], row["label"], row["was"], row["becomes"]) == (
        *("adapt_parts", "sensors", "parts stay"),
        f"every 1 s by 10 s, idle 2 %, {len(brokers)} brokers",
    )


def test_a_policy_never_begins_an_adaptation_by_itself(api, streets):
    terms = Terms(auto_approve_max_share=1.0, auto_approve_max_change=1e9)
    placement = place(streets)
    carry_out(streets, plan_of(api, placement))
    plan = plan_of(api, placement, adaptation=PACE)
    assert auto_approves(terms, plan.content, plan.blast_radius) is None


def test_an_order_ends_before_parts_change_and_begins_again_over_the_new_brokers(api, streets):
    carry_out(streets, plan_of(api, place(streets, drained_brokers=[streets.brokers["b3"]])))
    before = adapt(streets, "b1", "b2")
    Publisher.objects.filter(system=streets.system, topic=streets.topic).update(pinned=False)
    plan = plan_of(api, place(streets, drained_brokers=[streets.brokers["b1"]]))
    last = len(plan.content.steps) - 1
    brokers = sorted(broker for broker, part in values(plan).items() if part["rate_per_s"])
    assert "b1" not in brokers
    assert orders(plan) == [(0, before, None), (last, None, {**PACE, "brokers": brokers})]
    assert kinds_of(plan)[0] == kinds_of(plan)[-1] == {"adapt_parts"}
    assert "ends before they change" in " ".join(plan.content.why)
    undo = inverse_steps(plan.content.steps)
    assert [undo[0].actions[0].after, undo[-1].actions[0].after] == [None, before]


def test_a_plan_says_whose_stop_it_leaves(api, streets):
    placement = place(streets)
    carry_out(streets, plan_of(api, placement))
    adapt(streets, *[row["broker"] for row in placement.outcome["shares"] if row["publishers"]])
    stays = "stays so until an operator resumes it."
    longer = {**PACE, "window_s": 30.0}
    assert stays not in " ".join(plan_of(api, placement, adaptation=longer).content.why)
    operator = make_user("tom", Role.OPERATOR)
    stop = f"/api/v1/topics/{streets.topic.public_id}/adaptation/stop"
    assert client_of(operator).post(stop, {}, format="json").status_code == 200
    why = " ".join(plan_of(api, placement, adaptation=longer).content.why)
    assert f"was stopped by {operator.display_name} and {stays}" in why
    assert stays not in " ".join(plan_of(api, placement, adaptation=None).content.why)


def test_an_order_ends_first_with_null_and_goes_on_when_nothing_is_said(api, streets):
    placement = place(streets)
    carry_out(streets, plan_of(api, placement))
    brokers = [row["broker"] for row in placement.outcome["shares"] if row["publishers"]]
    before = adapt(streets, *brokers)
    assert ask(api, placement).json()["code"] == "nothing_to_change"
    assert ask(api, placement, adaptation=PACE).json()["code"] == "nothing_to_change"
    ended = plan_of(api, placement, adaptation=None)
    assert (ended.title, orders(ended)) == (
        "End the adaptation of the parts of sensors",
        [(0, before, None)],
    )
    changed = plan_of(api, placement, adaptation={**PACE, "window_s": 30.0})
    assert orders(changed) == [(0, before, {**before, "window_s": 30.0})]
    assert len(changed.content.steps) == 1
    Publisher.objects.filter(system=streets.system, topic=streets.topic).update(pinned=False)
    other = place(streets, drained_brokers=[streets.brokers[brokers[-1]]])
    moved = plan_of(api, other, adaptation=None)
    assert orders(moved) == [(0, before, None)], "it does not begin again"
    assert len(moved.content.steps) > 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"adaptation": PACE, "mode": "count"}, "adaptation"),
        ({"adaptation": {**PACE, "window_s": 1.0}}, "adaptation.window_s"),
        ({"adaptation": {**PACE, "period_s": 0.5}}, "adaptation.period_s"),
        ({"adaptation": {**PACE, "period_s": 21.0}}, "adaptation.period_s"),
        ({"adaptation": {**PACE, "least_share": 0.3}}, "adaptation.least_share"),
        ({"adaptation": {**PACE, "gain": 1.0}}, "adaptation.gain"),
    ],
)
def test_what_an_order_may_not_say_is_refused_at_the_field(api, streets, body, field):
    answer = ask(api, place(streets), **body)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_counting_takes_no_adaptation_and_may_say_so(api, streets):
    plan = plan_of(api, place(streets), mode="count", adaptation=None)
    assert orders(plan) == []
