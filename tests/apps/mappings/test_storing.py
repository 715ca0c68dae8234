"""How the kernel's answer becomes a mapping with its figures, or is refused."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.catalog.models import Interest, Stream, Topic
from apps.mappings.models import Mapping, MappingSettings
from apps.mappings.services import mapping_request
from apps.mappings.services.store import FIGURES, MOST_PINS
from apps.runs.models import Run
from apps.runs.selectors import computation_of
from apps.runs.services.computations import run_again, run_store
from tests.factories.market import (
    GROUPS,
    QUICK,
    STREAMS,
    Market,
    in_turn,
    kernel_answer,
    make_market,
    map_market,
    mapped_run,
    put_in_force,
)
from tests.factories.runs import claim
from weir.codec.mapping import choices_from_answer, mapping_from_json
from weir.model.mapping import NOWHERE, MappingProblem

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    return make_market()


@pytest.fixture
def mapped(market: Market) -> Market:
    """The market with a map in force that is not worth much: each third topic was added since, and
    five others nobody wants any more."""
    in_turn(market)
    Topic.objects.filter(name__in=market.wanted[::3]).update(stream=None)
    Topic.objects.filter(name__in=market.unwanted[:5]).update(stream=market.stream(1))
    return market


def plain_of(run: Run) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(bytes(run.result.payload))
    return plain


def by_definition(problem: MappingProblem, stream_of: Any, group_of: Any) -> dict[str, float]:
    """What a map costs, user by user and flow by flow."""
    rates = [Fraction(rate) for rate in problem.rates_per_s.tolist()]
    starts, wanted = (column.tolist() for column in problem.interests.by_user)
    mapped = [at for at, stream in enumerate(stream_of.tolist()) if stream != NOWHERE]
    unwanted = dropped = Fraction(0)
    for user in range(len(problem.users)):
        own = set(wanted[starts[user] : starts[user + 1]])
        takes = {stream_of[flow] for flow in own if stream_of[flow] != NOWHERE}
        joins = {group_of[stream] for stream in takes}
        unwanted += sum(rates[at] for at in mapped if stream_of[at] in takes and at not in own)
        dropped += sum(
            rates[at]
            for at in mapped
            if group_of[stream_of[at]] in joins and stream_of[at] not in takes
        )
    weights = problem.weights
    transport = dropped * Fraction(weights.transport) / Fraction(weights.aggregation)
    messaging = unwanted * Fraction(weights.messaging)
    return {
        "cost": float(transport + messaging),
        "transport_cost": float(transport),
        "messaging_cost": float(messaging),
        "unwanted_per_s": float(unwanted),
        "dropped_per_s": float(dropped),
    }


def figures_of(row: dict[str, Any]) -> dict[str, float]:
    return {name: row[name] for name in FIGURES}


class TestWithoutAMapInForce:
    def test_columns_are_those_of_the_answer(self, market):
        run = mapped_run(market, note="First season")
        mapping, plain = run.mapping, plain_of(run)
        assert (str(mapping), mapping.system, mapping.method) == ("M-1", market.system, "joint")
        assert (mapping.complete, mapping.note) == (True, "First season")
        assert (mapping.flows, mapping.wanted_flows) == (48, len(market.wanted))
        assert (mapping.users, mapping.interests) == (9, Interest.objects.count())
        assert (mapping.streams, mapping.groups) == (STREAMS, GROUPS)
        assert (mapping.moved, mapping.moved_streams, mapping.former_cost) == (0, 0, None)
        assert (mapping.cost, mapping.random_cost) == (plain["cost"], plain["random_cost"])

    def test_the_only_point_is_the_proposed_map(self, market):
        run = mapped_run(market)
        outcome, problem = run.mapping.outcome, mapping_from_json(bytes(run.snapshot.payload))
        (flow_map,) = choices_from_answer(problem, plain_of(run)).maps
        exact = by_definition(problem, flow_map.stream_of, flow_map.group_of)
        (point,) = outcome["points"]
        used = len({*flow_map.stream_of.tolist()} - {NOWHERE})
        assert outcome["proposed"] == 0
        assert point == {
            **exact,
            "moved": 0,
            "moved_streams": 0,
            "placed": len(market.wanted),
            "retired": 0,
            "opened_streams": used,
            "duration_s": (len(market.wanted) + used) / 40.0,
            "pays_after_s": None,
            "gain_share": None,
        }
        assert outcome["unmapped"] == len(market.wanted)
        assert run.mapping.unwanted_per_s == exact["unwanted_per_s"]

    def test_compared_are_random_flat_and_proposed(self, market):
        run = mapped_run(market)
        plain, outcome = plain_of(run), run.mapping.outcome
        assert [row["map"] for row in outcome["compared"]] == ["random", "flat", "proposed"]
        random, flat, proposed = (figures_of(row) for row in outcome["compared"])
        assert (random, flat) == (plain["random"], plain["flat"])
        assert proposed == figures_of(outcome["points"][0])
        assert proposed["cost"] < flat["cost"]
        assert flat["dropped_per_s"] == 0.0

    def test_the_row_does_not_hold_the_map(self, market):
        text = json.dumps(map_market(market).outcome)
        assert not [name for name in market.wanted if name in text]

    def test_it_is_described_in_a_sentence(self, market):
        mapping = map_market(market)
        share = mapping.cost / mapping.random_cost
        assert computation_of("mapping").describe(mapping) == (
            f"M-1 maps {len(market.wanted)} flows: unwanted traffic costs receivers "
            f"{mapping.cost:,.0f} work/s, {share * 100:.0f} % of a random map's."
        )


class TestFromAMapInForce:
    def test_every_point_has_its_exact_costs_and_moves(self, mapped):
        MappingSettings.objects.create(
            system=mapped.system,
            transport=3.0,
            messaging=0.5,
            aggregation=4.0,
            flow_move_work=500.0,
            stream_move_work=7000.0,
            flows_per_s=2.0,
        )
        run = mapped_run(mapped)
        outcome, problem = run.mapping.outcome, mapping_from_json(bytes(run.snapshot.payload))
        maps = choices_from_answer(problem, plain_of(run)).maps
        assert len(maps) == len(outcome["points"]) > 2
        former, wanted = problem.former, problem.interests.audiences > 0
        assert former is not None
        had = former.stream_of != NOWHERE
        first, last = outcome["points"][0], min(p["cost"] for p in outcome["points"])
        for flow_map, point in zip(maps, outcome["points"], strict=True):
            costs = by_definition(problem, flow_map.stream_of, flow_map.group_of)
            assert figures_of(point) == costs
            moved = int((had & wanted & (flow_map.stream_of != former.stream_of)).sum())
            both = (former.group_of != NOWHERE) & (flow_map.group_of != NOWHERE)
            moved_streams = int((both & (flow_map.group_of != former.group_of)).sum())
            assert (point["moved"], point["moved_streams"]) == (moved, moved_streams)
            placed, retired = int((wanted & ~had).sum()), int((had & ~wanted).sum())
            assert (point["placed"], point["retired"]) == (placed, retired) == (10, 5)
            opened = int(((former.group_of == NOWHERE) & (flow_map.group_of != NOWHERE)).sum())
            assert point["opened_streams"] == opened
            assert point["duration_s"] == (moved + 10 + 5 + moved_streams + opened) / 2.0
            saving = first["cost"] - costs["cost"]
            # What must move whatever is chosen has nothing to pay for.
            more = moved - first["moved"], moved_streams - first["moved_streams"]
            work = 500.0 * more[0] + 7000.0 * more[1]
            assert point["pays_after_s"] == (work / saving if saving > 0 else None)
            assert point["gain_share"] == saving / (first["cost"] - last)
        assert (first["moved"], first["moved_streams"], first["gain_share"]) == (0, 0, 0.0)
        assert first["pays_after_s"] is None
        assert outcome["unmapped"] == 10

    def test_points_ask_for_ever_more_moves_and_cost_ever_less(self, mapped):
        points = map_market(mapped).outcome["points"]
        moves = [point["moved"] + point["moved_streams"] for point in points]
        assert moves == sorted(moves)
        # All but the proposed one, which is shown even where it is not cheaper.
        proposed = map_market(mapped).outcome["proposed"]
        costs = [point["cost"] for at, point in enumerate(points) if at != proposed]
        assert costs == sorted(costs, reverse=True)

    def test_compared_are_five_maps_in_order(self, mapped):
        run = mapped_run(mapped)
        outcome, problem = run.mapping.outcome, mapping_from_json(bytes(run.snapshot.payload))
        names = [row["map"] for row in outcome["compared"]]
        assert names == ["random", "flat", "in_force", "proposed", "anew"]
        _, _, in_force, proposed, anew = (figures_of(row) for row in outcome["compared"])
        former = problem.former
        assert former is not None
        # With topics that nobody wants any more: they are sent all the same.
        assert in_force == by_definition(problem, former.stream_of, former.group_of)
        assert in_force["cost"] == run.mapping.former_cost
        assert proposed == figures_of(outcome["points"][outcome["proposed"]])
        assert anew["cost"] == min(point["cost"] for point in outcome["points"])
        assert run.mapping.moved == outcome["points"][outcome["proposed"]]["moved"]

    def test_what_is_too_dear_to_move_stays(self, mapped):
        MappingSettings.objects.create(system=mapped.system, horizon_s=1.0, flow_move_work=1e9)
        mapping = map_market(mapped)
        assert (mapping.moved, mapping.moved_streams) == (0, 0)
        assert mapping.outcome["proposed"] == 0
        assert mapping.outcome["points"][-1]["moved"] > 0
        text = computation_of("mapping").describe(mapping)
        assert text.startswith(
            "M-1 moves nothing and brings 10 flows into a first stream: unwanted traffic costs "
            "receivers "
        )
        kept = f"{mapping.kept_cost:,.0f} work/s"
        assert text.endswith(f" {kept}; to keep the map would cost them {kept}.")
        assert mapping.kept_cost == mapping.outcome["points"][0]["cost"] == mapping.cost

    def test_moves_are_described(self, mapped):
        mapping = map_market(mapped)
        assert mapping.moved > 1
        text = computation_of("mapping").describe(mapping)
        assert text.startswith(
            f"M-1 moves {mapping.moved} flows and {mapping.moved_streams} stream"
        )

    def test_a_method_without_a_curve_saves_against_keeping_the_map(self, market):
        in_turn(market)
        run = mapped_run(market, method="iterative")
        outcome = run.mapping.outcome
        keep, point = outcome["points"]
        assert (keep["moved"], keep["moved_streams"], outcome["proposed"]) == (0, 0, 1)
        assert run.mapping.kept_cost == keep["cost"]
        saving = keep["cost"] - point["cost"]
        assert saving > 0
        work = 1000.0 * point["moved"] + 10_000.0 * point["moved_streams"]
        assert point["pays_after_s"] == work / saving
        assert (keep["gain_share"], point["gain_share"]) == (0.0, 1.0)
        assert [row["map"] for row in outcome["compared"]] == [
            *("random", "flat", "in_force", "proposed")
        ]

    def test_a_search_that_was_stopped_compares_with_what_there_was_time_for(self, mapped):
        run = mapped_run(mapped, stop=lambda: True)
        mapping = run.mapping
        assert not mapping.complete
        assert [row["map"] for row in mapping.outcome["compared"]] == [
            *("random", "in_force", "proposed")
        ]

    def test_an_answer_of_the_same_map_moves_nothing(self, market):
        run = mapped_run(market)
        plain = plain_of(run)
        groups = {int(stream): group for stream, group in plain["group_of"].items()}
        put_in_force(market, plain["stream_of"], groups)
        again = map_market(market)
        assert (again.moved, again.moved_streams) == (0, 0)
        assert again.cost == again.former_cost == run.mapping.cost


class TestPins:
    def test_have_names_targets_and_prices_the_dearest_first(self, mapped):
        pinned = mapped.wanted[:6]
        Topic.objects.filter(name__in=pinned).update(pinned_stream=mapped.stream(2))
        Stream.objects.filter(number__in=[2, 4]).update(pinned_group=mapped.group(1))
        run = mapped_run(mapped)
        pins, prices = run.mapping.outcome["pins"], plain_of(run)["pin_prices"]
        assert {(pin["kind"], pin["name"], pin["to"]) for pin in pins} == {
            *(("flow", name, 2) for name in pinned),
            ("stream", "session-2", 1),
            ("stream", "session-4", 1),
        }
        by_name = prices["flow_to_stream"] | {
            f"session-{number}": price for number, price in prices["stream_to_group"].items()
        }
        assert all(pin["price"] == by_name[pin["name"]] for pin in pins)
        costs = [pin["price"] for pin in pins]
        assert costs == sorted(costs, reverse=True)
        assert costs[0] > 0
        maps = choices_from_answer(mapping_from_json(bytes(run.snapshot.payload)), plain_of(run))
        for each in maps.maps:
            assert each.group_of[2] == 1

    def test_a_stream_that_was_deleted_meanwhile_has_its_number(self, market):
        Stream.objects.filter(number=7).update(pinned_group=market.group(1))
        run = claim(mapping_request(system=market.system, actor=None, parameters=QUICK))
        answer = kernel_answer(run)
        Stream.objects.filter(number=7).delete()
        run_store(run, answer)
        (pin,) = Mapping.objects.get().outcome["pins"]
        assert (pin["kind"], pin["name"], pin["to"]) == ("stream", "7", 1)

    def test_only_the_dearest_of_very_many_are_kept(self, market):
        Topic.objects.bulk_create(
            Topic(
                system=market.system,
                name=f"x{number}",
                rate_max_per_s=1.0,
                pinned_stream=market.stream(0),
            )
            for number in range(MOST_PINS)
        )
        Topic.objects.filter(name=market.wanted[0]).update(pinned_stream=market.stream(3))
        Topic.objects.filter(name=market.wanted[1]).update(pinned_stream=market.stream(3))
        pins = map_market(market).outcome["pins"]
        assert len(pins) == MOST_PINS
        assert pins[0]["price"] > 0


def test_the_same_question_gives_the_same_figures_whatever_was_set_meanwhile(mapped):
    first = mapped_run(mapped)
    MappingSettings.objects.create(
        system=mapped.system, transport=9.0, flow_move_work=5.0, horizon_s=17.0, flows_per_s=3.0
    )
    held = claim(run_again(run=first, actor=None))
    run_store(held, kernel_answer(held))
    second = Mapping.objects.get(run=held)
    assert (second.number, second.outcome) == (2, first.mapping.outcome)
    assert second.outcome["weights"] == {
        "transport": 2.0,
        "messaging": 1.0,
        "aggregation": 8.0,
        "move_cost": 1000.0 / 3600.0,
        "stream_move_cost": 10_000.0 / 3600.0,
        "flow_move_work": 1000.0,
        "stream_move_work": 10_000.0,
        "horizon_s": 3600.0,
        "flows_per_s": 40.0,
    }


def test_a_search_that_was_stopped_is_not_complete(market):
    run = claim(mapping_request(system=market.system, actor=None, parameters=QUICK))
    plain = json.loads(kernel_answer(run))
    run_store(run, json.dumps({**plain, "status": "time_limit"}).encode())
    assert Mapping.objects.get().complete is False


def unwanted_is_mapped(plain: dict[str, Any], market: Market) -> None:
    plain["stream_of"][market.unwanted[0]] = 0


def wanted_is_left_out(plain: dict[str, Any], market: Market) -> None:
    del plain["stream_of"][market.wanted[0]]


def stranger_is_mapped(plain: dict[str, Any], market: Market) -> None:
    plain["stream_of"]["stranger"] = 0


def stream_is_beyond_the_last(plain: dict[str, Any], market: Market) -> None:
    plain["stream_of"][market.wanted[0]] = STREAMS


def group_is_beyond_the_last(plain: dict[str, Any], market: Market) -> None:
    plain["group_of"][next(iter(plain["group_of"]))] = GROUPS


def stream_has_no_group(plain: dict[str, Any], market: Market) -> None:
    del plain["group_of"][next(iter(plain["group_of"]))]


def pinned_flow_is_elsewhere(plain: dict[str, Any], market: Market) -> None:
    plain["stream_of"][market.wanted[4]] = 0


def flow_moves_on_the_way(plain: dict[str, Any], market: Market) -> None:
    busy = max(market.wanted, key=lambda name: market.topic(name).rate_max_per_s)
    others = {s for s in plain["stream_of"].values() if s != plain["stream_of"][busy]}
    plain["stream_of"][busy] = others.pop()


def cost_is_a_bit_less(plain: dict[str, Any], market: Market) -> None:
    plain["cost"] *= 1 - 1e-15


def layer_costs_less(plain: dict[str, Any], market: Market) -> None:
    plain["transport_cost"] *= 0.5


def point_costs_less(plain: dict[str, Any], market: Market) -> None:
    plain["curve"][0]["cost"] *= 0.999


def pinned_flow_leaves_in_the_curve(plain: dict[str, Any], market: Market) -> None:
    plain["curve"][0]["stream_of"][market.wanted[4]] = 0


def random_map_costs_less(plain: dict[str, Any], market: Market) -> None:
    plain["random"]["cost"] *= 0.5


def moves_are_counted_wrong(plain: dict[str, Any], market: Market) -> None:
    plain["moved"] += 1


def pin_has_no_price(plain: dict[str, Any], market: Market) -> None:
    plain["pin_prices"]["flow_to_stream"].clear()


def price_of_no_pin(plain: dict[str, Any], market: Market) -> None:
    plain["pin_prices"]["stream_to_group"]["0"] = 1.0


@pytest.mark.parametrize(
    "spoil",
    [
        *(unwanted_is_mapped, wanted_is_left_out, stranger_is_mapped, stream_is_beyond_the_last),
        *(group_is_beyond_the_last, stream_has_no_group, pinned_flow_is_elsewhere),
        *(flow_moves_on_the_way, cost_is_a_bit_less, layer_costs_less, point_costs_less),
        *(pinned_flow_leaves_in_the_curve, random_map_costs_less, moves_are_counted_wrong),
        *(pin_has_no_price, price_of_no_pin),
    ],
)
def test_an_answer_to_another_question_is_not_kept(
    mapped: Market, spoil: Callable[[dict[str, Any], Market], None]
) -> None:
    Topic.objects.filter(name=mapped.wanted[4]).update(pinned_stream=mapped.stream(3))
    run = claim(mapping_request(system=mapped.system, actor=None, parameters=QUICK))
    answer = kernel_answer(run)
    plain = json.loads(answer)
    spoil(plain, mapped)
    with pytest.raises(ValueError, match=f"^{run}: "):
        run_store(run, json.dumps(plain).encode())
    assert not Mapping.objects.exists()
    # The one that it was made of is.
    run_store(run, answer)
    assert Mapping.objects.get().run == run


def test_an_answer_of_another_market_is_not_kept(market):
    other = make_market("another")
    Topic.objects.filter(system=other.system, name=market.wanted[0]).update(rate_max_per_s=1e6)
    run, theirs = (
        claim(mapping_request(system=each.system, actor=None, parameters=QUICK))
        for each in (market, other)
    )
    with pytest.raises(ValueError, match=str(run)):
        run_store(run, kernel_answer(theirs))
    assert not Mapping.objects.exists()


def test_the_database_refuses_what_no_map_can_be(market):
    rows = Mapping.objects.filter(pk=map_market(market).pk)
    for values, name in (
        ({"cost": -1.0}, "finite"),
        ({"former_cost": float("inf")}, "finite"),
        ({"moved": 31}, "moves_at_most_all"),
        ({"moved_streams": STREAMS + 1}, "moves_at_most_all"),
    ):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            rows.update(**values)
