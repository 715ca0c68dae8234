"""Edits of the model reach agents by a plan: what it does, in which order, and what it says."""

import pytest

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.selectors import in_force
from apps.executions.services import executions_tick
from apps.executions.services.documents import document_of, facts_of
from apps.executions.services.reports import agent_heard
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_of_model, plan_roll_back, plan_submit
from apps.systems.services import entity_delete, entity_update
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_revoke
from tests.conftest import client_of
from tests.factories import make_class, make_topic
from tests.factories.fleet import Harbour, must, population, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    make_plan,
    make_policy,
)
from weir import actions
from weir.coordination.wire import ClassSpec, Delivery, Document, FlowSpec, Gate, Publishers
from weir.model.plan import Action

pytestmark = pytest.mark.django_db


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    return agents_come(harbour)


def edit(row, **values) -> None:
    fresh = type(row).objects.get(pk=row.pk)
    entity_update(instance=fresh, actor=None, expected_version=fresh.version, values=values)


def drop(row) -> None:
    fresh = type(row).objects.get(pk=row.pk)
    entity_delete(instance=fresh, actor=None, expected_version=fresh.version)


def told(harbour: Harbour, broker: str) -> Document:
    return document_of(must(facts_of(harbour.system.pk))[1], broker)


def titles(plan: Plan) -> list[list[str]]:
    return [[actions.title(a) for a in step.actions] for step in plan.content.steps]


def bring(harbour: Harbour, agents, ines: User, jon: User, olga: User) -> Plan:
    """The model's plan, carried out."""
    plan = plan_of_model(system=harbour.system, actor=ines)
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    assert plan_refreshed(plan).state == "executed"
    return plan


def plan_refreshed(plan: Plan) -> Plan:
    return Plan.objects.get(pk=plan.pk)


def limit(harbour, agents, ines, jon, olga) -> None:
    """Tides and gulls get their first limits."""
    plan = make_plan(harbour.system, ines, [rate(None, 40.0), population(None, 5)])
    carried_out(harbour, agents, approved(plan, ines, jon), olga)


def test_a_model_that_is_in_force_needs_no_plan(harbour, ines):
    with pytest.raises(Conflict) as caught:
        plan_of_model(system=harbour.system, actor=ines)
    assert caught.value.code == "nothing_to_change"


def test_a_new_topic_comes_before_its_class(harbour, agents, ines, jon, olga):
    ebb = make_topic(harbour.system, "ebb", source=harbour.brokers["b"], rate_max_per_s=10.0)
    make_class(harbour.system, ebb, harbour.brokers["d"], "terns")
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan) == [["Carry ebb from b, best effort"], ["Serve terns at d with ebb"]]
    assert "Nothing limits the rate of ebb until an allocation does." in plan.content.why
    assert told(harbour, "b").flows["ebb"] == FlowSpec(delivery=Delivery.BEST_EFFORT, ingress=True)
    assert told(harbour, "d").classes == {"terns": ClassSpec(flow="ebb", limit=None)}


def test_a_class_leaves_before_its_topic_ends_and_its_limits_go_last(
    harbour, agents, ines, jon, olga
):
    limit(harbour, agents, ines, jon, olga)
    drop(harbour.consumers)
    drop(harbour.topic)
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan) == [
        ["Stop serving gulls at c"],
        ["Stop carrying tides from a"],
        [
            "Stop limiting tides at a (was 40 msg/s)",
            "Admit every consumer of gulls at c (limit was 5)",
        ],
    ]
    assert any("Consumers of gulls at c are let go" in sentence for sentence in plan.content.why)
    assert any("tides ends" in sentence for sentence in plan.content.why)
    assert plan.blast_radius["consumers_released"] == 5
    assert told(harbour, "a").flows == {}
    assert told(harbour, "c").classes == {}


def test_a_topic_that_moves_takes_its_rate_along(harbour, agents, ines, jon, olga):
    limit(harbour, agents, ines, jon, olga)
    edit(harbour.topic, source=harbour.brokers["b"])
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan) == [
        ["Set tides at b to 40 msg/s, burst 5"],
        ["Carry tides from b instead of a"],
        ["Stop limiting tides at a (was 40 msg/s)"],
    ]
    assert any("let it drain first" in sentence for sentence in plan.content.why)
    assert told(harbour, "a").gates == {}
    assert told(harbour, "b").gates == {"tides": Gate(rate_per_s=40.0, burst=5.0)}
    assert [told(harbour, name).flows["tides"].ingress for name in "ab"] == [False, True]


def test_a_class_that_moves_takes_its_limit_along(harbour, agents, ines, jon, olga):
    limit(harbour, agents, ines, jon, olga)
    ebb = make_topic(harbour.system, "ebb", source=harbour.brokers["b"], rate_max_per_s=10.0)
    edit(harbour.consumers, topic=ebb)
    plan = bring(harbour, agents, ines, jon, olga)
    assert "Serve gulls at c with ebb instead of tides" in titles(plan)[2]
    assert told(harbour, "c").classes == {"gulls": ClassSpec(flow="ebb", limit=5)}


def test_a_weaker_promise_is_said(harbour, agents, ines, jon, olga):
    edit(harbour.topic, delivery="best_effort")
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan) == [["Carry tides as best effort instead of reliable"]]
    assert "tides may lose messages from then on: best effort." in plan.content.why
    assert told(harbour, "a").flows["tides"].delivery is Delivery.BEST_EFFORT


def test_what_agents_do_not_show_is_not_in_force(harbour, agents, ines, jon, olga):
    make_topic(harbour.system, "ebb", source=harbour.brokers["b"], rate_max_per_s=10.0)
    plan = approved(plan_of_model(system=harbour.system, actor=ines), ines, jon)
    execution = plan_execute(plan=plan, actor=olga)
    for name, agent in agents.items():
        number = told(harbour, name).number
        seen = {
            "version": "v",
            "number": number,
            "ingress": {"tides": "reliable"} if name == "a" else {},
        }
        agent_heard(
            agent=agent,
            incarnation=agent.incarnation,
            reports=[],
            observed={"gates": {}, "limits": {}, "links": [], "served": {}, **seen},
            telemetry=None,
        )
    executions_tick()
    execution.refresh_from_db()
    assert execution.state == "running"
    agents_look(harbour, agents)
    execution.refresh_from_db()
    assert execution.state == "succeeded"


def test_it_is_taken_back_by_its_inverse(harbour, agents, ines, jon, olga):
    def asked() -> list[object]:
        documents = [told(harbour, name) for name in "abcd"]
        return [(one.flows, one.classes, one.gates, one.neighbours) for one in documents]

    before = asked()
    ebb = make_topic(harbour.system, "ebb", source=harbour.brokers["b"], rate_max_per_s=10.0)
    make_class(harbour.system, ebb, harbour.brokers["d"], "terns")
    plan = bring(harbour, agents, ines, jon, olga)
    way_back = plan_roll_back(plan=plan_refreshed(plan), actor=ines)
    carried_out(harbour, agents, approved(way_back, ines, jon), olga)
    assert asked() == before


def test_a_broker_without_an_agent_has_nothing_to_take_back(harbour, agents, ines, jon, olga):
    agent_revoke(agent=agents.pop("c"), actor=None)
    drop(harbour.consumers)
    bring(harbour, agents, ines, jon, olga)
    assert told(harbour, "c").classes == {}


def test_a_broker_without_an_agent_cannot_be_asked_for_anything(harbour, agents, ines, jon, olga):
    agent_revoke(agent=agents.pop("d"), actor=None)
    ebb = make_topic(harbour.system, "ebb", source=harbour.brokers["b"], rate_max_per_s=10.0)
    make_class(harbour.system, ebb, harbour.brokers["d"], "terns")
    plan = approved(plan_of_model(system=harbour.system, actor=ines), ines, jon)
    with pytest.raises(Conflict) as caught:
        plan_execute(plan=plan, actor=olga)
    assert caught.value.code == "agents_silent"


def test_the_policy_never_approves_it_by_itself(harbour, agents, ines):
    make_policy(harbour.system, auto_approve_max_share=1.0, auto_approve_max_change=1.0)
    edit(harbour.topic, delivery="best_effort")
    plan = plan_submit(plan=plan_of_model(system=harbour.system, actor=ines), actor=ines)
    assert plan.state == "pending_review"


def test_what_would_overload_a_broker_is_not_sent_for_review(harbour, agents, ines):
    """Ten unlimited consumers of 100 msg/s at 2 units each do not fit the 1,000 units of d."""
    make_class(harbour.system, harbour.topic, harbour.brokers["d"], "terns")
    plan = plan_of_model(system=harbour.system, actor=ines)
    assert (
        "Everybody who asks is let in to terns until an allocation limits it." in plan.content.why
    )
    with pytest.raises(Conflict) as caught:
        plan_submit(plan=plan, actor=ines)
    assert caught.value.code == "would_overload"
    assert "d would carry 200 % of its capacity" in caught.value.message


class TestApi:
    def test_makes_the_plan_and_shows_it(self, harbour, ines):
        edit(harbour.topic, source=harbour.brokers["b"])
        body = {"system": str(harbour.system.public_id), "change_ticket": "CHG-1042"}
        answer = client_of(ines).post("/api/v1/plans", body, format="json")
        assert answer.status_code == 201, answer.content
        plan = answer.json()
        assert plan["change_ticket"] == "CHG-1042"
        assert answer["ETag"] == f'"{plan["version"]}"'
        assert (plan["kind"], plan["title"]) == ("model", "Bring the model into force: 1 flow")
        (change,) = plan["changes"]
        assert (change["was"], change["becomes"]) == ("from a, reliable", "from b, reliable")
        (step,) = plan["steps"]
        assert step["actions"][0]["after"] == {"broker": "b", "delivery": "reliable"}

    def test_shows_which_limits_are_in_force(self, harbour, agents, ines, jon, olga):
        def limits() -> list[tuple[str, float | None, str]]:
            query = {"system": str(harbour.system.public_id)}
            rows = client_of(ines).get("/api/v1/model-state", query).json()["results"]
            return [(row["name"], row["limit"], row["unit"]) for row in rows]

        assert limits() == [("tides", None, "msg/s"), ("gulls", None, "consumers")]
        limit(harbour, agents, ines, jon, olga)
        assert limits() == [("tides", 40.0, "msg/s"), ("gulls", 5.0, "consumers")]

    def test_levels_agree_with_the_check_before_and_after_it_is_carried_out(
        self, harbour, agents, ines, jon, olga
    ):
        """200 % in the check is 200 % on the map, though no allocation proposes the plan."""
        terns = make_class(harbour.system, harbour.topic, harbour.brokers["d"], "terns")
        plan = plan_of_model(system=harbour.system, actor=ines)
        address = f"/api/v1/plans/{plan.public_id}/levels"

        def at_d() -> list[float]:
            answer = client_of(ines).get(address)
            assert answer.status_code == 200, answer.content
            stops = answer.json()["stops"]
            return [row["share"] for stop in stops for row in stop if row["broker"] == "d"]

        before, after = at_d()
        assert (before < 1.0, after) == (True, 2.0)
        edit(terns, population_max=1)
        again = plan_of_model(system=harbour.system, actor=ines)
        address = f"/api/v1/plans/{again.public_id}/levels"
        draft = at_d()
        carried_out(harbour, agents, approved(again, ines, jon), olga)
        assert at_d() == draft

    def test_says_why_levels_are_not_known(self, harbour, ines):
        edit(harbour.topic, source=harbour.brokers["b"])
        plan = plan_of_model(system=harbour.system, actor=ines)
        edit(harbour.topic, source=harbour.brokers["c"])
        answer = client_of(ines).get(f"/api/v1/plans/{plan.public_id}/levels").json()
        assert answer["stops"] == []
        assert "Make a new plan" in answer["unknown_because"]

    def test_needs_the_right_to_propose(self, harbour, jon):
        body = {"system": str(harbour.system.public_id)}
        assert client_of(jon).post("/api/v1/plans", body, format="json").status_code == 403

    def test_shows_what_is_in_force_beside_the_model(self, harbour, ines):
        edit(harbour.topic, source=harbour.brokers["b"])
        make_class(harbour.system, harbour.topic, harbour.brokers["d"], "terns")
        client, address = client_of(ines), "/api/v1/model-state"
        query = {"system": str(harbour.system.public_id)}
        everything = client.get(address, query).json()
        assert [(row["name"], row["differs"]) for row in everything["results"]] == [
            ("tides", True),
            ("gulls", False),
            ("terns", True),
        ]
        (tides,) = client.get(address, {**query, "kind": "flow"}).json()["results"]
        assert (tides["in_force"], tides["model"]) == ("from a, reliable", "from b, reliable")
        (terns,) = client.get(address, {**query, "name": "terns"}).json()["results"]
        assert (terns["in_force"], terns["model"]) == ("not served", "receives tides")
        assert client.get(address, {**query, "differs": "true"}).json()["total"] == 2
        assert client.get(address).status_code == 400


def split_over_b(harbour, agents, ines, jon, olga) -> None:
    """Tides enter at b alone, by a part of their bucket; their source a is closed."""
    edit(harbour.topic, token_rate_per_s=50.0, token_bucket=5.0)

    def part(at: str, rate_per_s: float, size: float) -> Action:
        return Action(
            kind="set_bucket",
            target={"flow": "tides", "broker": at},
            after={"rate_per_s": rate_per_s, "size": size, "mode": "enforce"},
        )

    plan = make_plan(harbour.system, ines, [part("a", 0.0, 0.0)], [part("b", 50.0, 5.0)])
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    assert [told(harbour, name).flows["tides"].ingress for name in "ab"] == [False, True]


def test_parts_of_a_bucket_end_with_their_topic(harbour, agents, ines, jon, olga):
    split_over_b(harbour, agents, ines, jon, olga)
    drop(harbour.consumers)
    drop(harbour.topic)
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan)[0] == [
        "Stop serving gulls at c",
        "End the part of the bucket of tides at b (was 50 tokens/s, bucket 5)",
    ]
    assert told(harbour, "b").buckets == {}
    assert told(harbour, "b").flows == {}


def test_parts_of_a_bucket_end_when_the_topic_has_none(harbour, agents, ines, jon, olga):
    split_over_b(harbour, agents, ines, jon, olga)
    edit(harbour.topic, token_rate_per_s=None, token_bucket=None)
    plan = bring(harbour, agents, ines, jon, olga)
    assert plan.title == "Bring the model into force: the split of 1 bucket ends"
    assert any("is split no longer" in sentence for sentence in plan.content.why)
    assert [told(harbour, name).flows["tides"].ingress for name in "ab"] == [True, False]


@pytest.mark.parametrize("how", ["the topic goes", "it has no bucket"])
def test_parts_follow_the_traffic_no_longer_before_they_end(harbour, agents, ines, jon, olga, how):
    split_over_b(harbour, agents, ines, jon, olga)
    value = {"window_s": 10.0, "period_s": 1.0, "least_share": 0.02, "brokers": ["b"]}
    order = Action(kind="adapt_parts", target={"flow": "tides"}, after=value)
    carried_out(
        harbour, agents, approved(make_plan(harbour.system, ines, [order]), ines, jon), olga
    )
    if how == "the topic goes":
        drop(harbour.consumers)
        drop(harbour.topic)
    else:
        edit(harbour.topic, token_rate_per_s=None, token_bucket=None)
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan)[0] == ["End the adaptation of the parts of tides at b"]
    later = [title for step in titles(plan)[1:] for title in step]
    assert any(title.startswith("End the part of the bucket") for title in later)
    assert not any(key[0] == "adapt_parts" for key in in_force(harbour.system).settings)


def listed(at: str, *publishers: str) -> Action:
    return Action(
        kind="assign_publishers",
        target={"flow": "tides", "broker": at},
        after={"publishers": list(publishers)},
    )


def test_publishers_elsewhere_are_released_before_the_parts_end(harbour, agents, ines, jon, olga):
    split_over_b(harbour, agents, ines, jon, olga)
    plan = make_plan(harbour.system, ines, [listed("b", "p", "q")])
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    edit(harbour.topic, token_rate_per_s=None, token_bucket=None)
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan) == [
        [
            "Let no publisher of tides in at a",
            "Release all 2 publishers of tides from b",
        ],
        ["End the part of the bucket of tides at b (was 50 tokens/s, bucket 5)"],
        [
            "End the part of the bucket of tides at a (was closed)",
            "End the list of publishers of tides at a (named 0)",
            "End the list of publishers of tides at b (named 0)",
        ],
    ]
    assert any("are assigned to brokers no longer" in sentence for sentence in plan.content.why)
    assert told(harbour, "a").publishers == {}
    # Who may still be at b is shown where tides enter.
    left = Publishers(everyone=("a",), addresses={"a": "sim://a"})
    assert told(harbour, "b").publishers == {"tides": left}


def test_lists_of_publishers_end_with_their_topic(harbour, agents, ines, jon, olga):
    split_over_b(harbour, agents, ines, jon, olga)
    plan = make_plan(harbour.system, ines, [listed("b", "p", "q")])
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    drop(harbour.consumers)
    drop(harbour.topic)
    plan = bring(harbour, agents, ines, jon, olga)
    assert titles(plan)[-1] == [
        "End the part of the bucket of tides at a (was closed)",
        "End the list of publishers of tides at b (named 2)",
    ]
    assert told(harbour, "b").publishers == {}


def test_a_topic_whose_bucket_is_split_enters_by_its_parts(harbour, agents, ines, jon, olga):
    split_over_b(harbour, agents, ines, jon, olga)
    edit(harbour.topic, source=harbour.brokers["d"])
    plan = bring(harbour, agents, ines, jon, olga)
    assert any("goes on entering where it has a part" in sentence for sentence in plan.content.why)
    assert [told(harbour, name).flows["tides"].ingress for name in "abd"] == [False, True, False]
