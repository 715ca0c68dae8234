"""How the kernel's answer becomes a placement with its moves, or a reason why there is none."""

import json
from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError, transaction

from apps.catalog.models import Publisher, Slo, Topic
from apps.placements.models import Move, Placement
from apps.placements.services import placement_request
from apps.runs.models import Run
from apps.runs.selectors import computation_of, run_explanation
from apps.runs.services.computations import run_again, run_store
from apps.topology.models import Broker
from tests.factories.runs import claim
from tests.factories.streets import Streets, kernel_answer, make_streets, place, placed
from weir.codec.placement import placement_from_json
from weir.placement.options import option

pytestmark = pytest.mark.django_db


@pytest.fixture
def streets() -> Streets:
    return make_streets()


def result(run: Run) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(bytes(run.result.payload))
    return plain


def test_columns_are_those_of_the_answer(streets):
    run = placed(streets)
    placement, plain = run.placement, result(run)
    assert (str(placement), placement.topic, placement.topic_name) == (
        "L-1",
        streets.topic,
        "sensors",
    )
    assert placement.publishers == 12
    assert placement.brokers == len(set(plain["assignments"].values()))
    for name in ("method", "moved", "p99_s", "processing_p99_s", "penalty_s", "mean_s", "meets"):
        assert getattr(placement, name) == plain[name]
    assert (placement.slo_p99_s, placement.slo_mean_s) == (0.05, None)
    assert "assignments" not in placement.outcome
    assert placement.outcome["unassigned"] == 0
    assert placement.outcome["curve"] == plain["curve"]


@pytest.mark.parametrize(("target", "meets"), [(1.0, True), (1e-6, False)])
def test_a_placement_is_judged_by_the_mean_alone(streets, target, meets):
    Slo.objects.filter(quantity="delay_p99_s").update(quantity="delay_mean_s", target=target)
    run = placed(streets)
    placement = run.placement
    assert (placement.slo_p99_s, placement.slo_mean_s) == (None, target)
    assert placement.meets is meets
    assert placement.outcome["contract"]["slo_mean_s"] == target
    sentence = computation_of(run.kind).describe(placement)
    verdict = "meets the target of 1 s" if meets else "misses the target of 1 µs"
    assert sentence.endswith(f", which {verdict} on average.")
    assert ", the mean " in sentence


def test_a_verdict_without_a_target_is_refused(streets):
    placement = place(streets)
    rows = Placement.objects.filter(pk=placement.pk)
    with pytest.raises(IntegrityError, match="meets_a_target"), transaction.atomic():
        rows.update(slo_p99_s=None)
    with pytest.raises(IntegrityError, match="meets_a_target"), transaction.atomic():
        rows.update(slo_p99_s=None, slo_mean_s=0.1, meets=None)
    with pytest.raises(IntegrityError, match="finite"), transaction.atomic():
        rows.update(mean_s=-1.0)
    assert rows.update(slo_p99_s=None, slo_mean_s=0.1) == 1


def test_moves_are_the_publishers_that_change_their_broker_or_get_one(streets):
    run = placed(streets, drained_brokers=[streets.brokers["b2"]])
    placement = run.placement
    assert placement.drained_brokers == ["b2"]
    moves = {move.publisher: move for move in placement.moves.all()}
    assert {"s09", "s10", "s11", "s12"} <= set(moves)
    assert len(moves) == placement.moved
    assert (moves["s09"].from_broker, moves["s09"].rate_per_s) == ("b2", 50.0)
    assert (moves["s11"].from_broker, moves["s12"].from_broker) == ("", "")
    for name, broker in result(run)["assignments"].items():
        today = Publisher.objects.get(system=streets.system, name=name).broker
        if name in moves:
            assert moves[name].to_broker == broker != moves[name].from_broker
        else:
            assert today is not None
            assert today.name == broker
    assert not Move.objects.filter(to_broker="b2").exists()


def test_each_move_has_its_price(streets):
    placement = place(streets, parameters={"stay": False})
    problem = placement_from_json(bytes(placement.run.snapshot.payload))
    assignments = result(placement.run)["assignments"]
    names = [broker.broker for broker in problem.brokers]
    moves = {move.publisher: move for move in placement.moves.all()}
    priced = [move for move in moves.values() if not move.must_move]
    assert priced
    for move in priced:
        places = np.array(
            [
                names.index(move.from_broker if name == move.publisher else assignments[name])
                for name in problem.publishers.names
            ]
        )
        stays = option(problem, (), places).whole.p99_s
        assert move.p99_without_s == (stays and pytest.approx(stays, rel=1e-6))
    # Nobody can stay nowhere.
    assert (moves["s12"].must_move, moves["s12"].p99_without_s) == (True, None)


def test_whoever_is_drained_must_move(streets):
    placement = place(streets, drained_brokers=[streets.brokers["b2"]])
    drained = placement.moves.filter(from_broker="b2")
    assert set(drained.values_list("must_move", "p99_without_s")) == {(True, None)}


def test_group_of_a_move_is_its_correlation_key(streets):
    placement = place(streets, drained_brokers=[streets.brokers["b1"]])
    groups = dict(placement.moves.values_list("publisher", "group"))
    assert (groups["s01"], groups["s05"]) == ("on the hour", "")


def test_pinned_publishers_do_not_move(streets):
    Publisher.objects.filter(name="s01").update(pinned=True)
    placement = place(streets, parameters={"stay": False})
    assert not placement.moves.filter(publisher="s01").exists()


def test_deleted_topic_leaves_its_placement(streets):
    placement = place(streets)
    streets.topic.delete()
    placement.refresh_from_db()
    assert (placement.topic, placement.topic_name) == (None, "sensors")


def test_repeated_run_makes_another_placement_of_the_same_bytes(streets, admin):
    first = placed(streets, admin)
    again = claim(run_again(run=first, actor=admin))
    run_store(again, kernel_answer(again))
    assert Run.objects.get(pk=again.pk).result.content_hash == first.result.content_hash
    assert [str(row) for row in Placement.objects.order_by("number")] == ["L-1", "L-2"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda plain: plain["assignments"].pop("s01"), "other publishers"),
        (lambda plain: plain["assignments"].update(s99="b1"), "other publishers"),
        (lambda plain: plain["unassigned"].append("s01"), "other publishers"),
        (lambda plain: plain["assignments"].update(s01="b9"), "brokers that its snapshot has not"),
        (lambda plain: plain["shares"].pop(), "among other brokers"),
        (lambda plain: plain["contract"].update(bucket=41.0), "another contract"),
        (lambda plain: plain["contract"].update(recorded_bucket=9.0), "another contract"),
        (lambda plain: plain.update(method="max_min"), "answer of max_min, not srtm"),
        (lambda plain: plain.update(measured={"of": "L-9"}), "by other measurements"),
        (lambda plain: plain["assignments"].update(s09="b1"), "moves s09, which is pinned to b2"),
        (lambda plain: plain["assignments"].update(s01="b3"), "uses a broker that is drained"),
    ],
)
def test_answer_to_another_question_is_not_kept(streets, change, reason):
    Publisher.objects.filter(name="s09").update(pinned=True)
    run = claim(
        placement_request(
            system=streets.system,
            actor=None,
            topic=streets.topic,
            drained_brokers=[streets.brokers["b3"]],
        )
    )
    plain = json.loads(kernel_answer(run))
    change(plain)
    with pytest.raises(ValueError, match=reason):
        run_store(run, json.dumps(plain).encode())
    assert not Placement.objects.exists()


def test_description_says_what_messages_wait(streets):
    placement = place(streets)
    text = computation_of("placement").describe(placement)
    assert text.startswith("L-1 places 12 publishers of sensors on ")
    assert "99th percentile is" in text
    assert text.endswith("the target of 50 ms.")


def small_brokers(streets: Streets) -> None:
    for name, rate in (("b1", 350.0), ("b2", 150.0), ("b3", 100.0)):
        Broker.objects.filter(name=name, system=streets.system).update(publish_rate_max_per_s=rate)


def test_infeasible_run_says_who_has_no_room_and_what_would_help(streets):
    small_brokers(streets)
    run = placed(streets)
    assert (run.state, run.failure_code) == ("infeasible", "infeasible")
    assert not Placement.objects.exists()
    assert run.failure == (
        "6 publishers of sensors with 300 msg/s find no room. "
        "Add 1 broker that takes 350 msg/s, or raise the publish rates of these."
    )
    explained = run_explanation(run)
    assert explained is not None
    assert explained["sentence"] == "6 publishers of sensors with 300 msg/s find no room."
    assert (explained["publishers"], explained["rate_per_s"]) == (6, 300.0)
    assert explained["need_brokers"] == 1
    assert len(explained["without_room"]) == 6
    rooms = {row["broker"]: row for row in explained["rooms"]}
    assert set(rooms) == {"b1", "b2", "b3"}
    assert rooms["b1"]["allocated_rate_per_s"] == 300.0
    assert all(row["room_per_s"] < 50.0 for row in rooms.values())


def test_infeasible_run_names_pins_without_room(streets):
    small_brokers(streets)
    Publisher.objects.filter(name__in=["s01", "s02"]).update(pinned=True)
    explained = run_explanation(placed(streets))
    assert explained is not None
    assert explained["need_brokers"] is None
    assert any(text.startswith("Unpin s0") for text in explained["next_moves"])
    assert any(row["pinned_to"] == "b1" for row in explained["without_room"])


def test_infeasible_run_names_publishers_larger_than_any_broker(streets):
    Publisher.objects.filter(name="s05").update(rate_per_s=1200.0)
    Topic.objects.filter(pk=streets.topic.pk).update(token_rate_per_s=2000.0)
    run = placed(streets)
    assert "Split s05: one publisher sends up to 1,200 msg/s" in run.failure


def test_infeasible_run_names_drained_brokers(streets):
    drained = [streets.brokers[name] for name in ("b2", "b3")]
    Broker.objects.filter(name="b1").update(publish_rate_max_per_s=350.0)
    run = placed(streets, drained_brokers=drained)
    assert "Do not drain b2, b3: there is room for 1,800 msg/s." in run.failure
