"""GET /placements/{id}/rounds: a line of placements, each with what was measured of it."""

import re

import pytest

from apps.placements.models import Placement
from apps.telemetry.models import Sample
from tests.apps.placements.rounds import (
    ADDRESS,
    again,
    ask,
    make_pinned,
    measured,
    place_pinned,
    refusal,
    rounds_of,
)
from tests.factories.streets import (
    Streets,
    profile,
    put_in_force,
    report,
    unbounded,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def streets() -> Streets:
    return make_pinned()


@pytest.fixture
def placement(streets: Streets) -> Placement:
    return place_pinned(streets)


def test_a_first_round_is_judged_as_it_is_measured(api, streets, placement):
    measured(streets, b1=profile(p99_s=0.2, own_p99_s=0.01), b2=profile(p99_s=0.05))
    rounds = rounds_of(api, placement)
    assert (rounds["measured_rounds"], rounds["search_rounds"]) == (1, None)
    assert (rounds["can_place_again"], rounds["because"]) == (True, "")
    (row,) = rounds["results"]
    assert (row["placement"], row["name"], row["round"]) == (str(placement.public_id), "L-1", 1)
    assert row["is_in_force"]
    assert (row["predicted_p99_s"], row["slo_p99_s"]) == (placement.p99_s, 0.05)
    assert (row["brokers"], row["moved"]) == (placement.brokers, placement.moved)
    now = row["measured"]
    assert (now["of"], now["meets"]) == (str(placement.public_id), False)
    assert "search_rounds" not in now
    b1, b2 = now["brokers"]
    shares = {share["broker"]: share for share in placement.outcome["shares"]}
    assert b1 == {
        **{"broker": "b1", "publishers": shares["b1"]["publishers"]},
        **{"messages": 18_000, "seconds": 60.0, "rate_per_s": 300.0},
        **{"expected_rate_per_s": shares["b1"]["rate_per_s"]},
        **{"predicted_p99_s": shares["b1"]["p99_s"], "p99_s": 0.2},
        **{"low_s": 0.9 * 0.2, "high_s": 1.1 * 0.2, "processing_p99_s": 0.01},
        **{"processing_low_s": 0.9 * 0.01, "processing_high_s": 1.1 * 0.01},
        **{"predicted_mean_s": shares["b1"]["mean_s"], "mean_s": None},
        **{"mean_low_s": None, "mean_high_s": None},
        **{"verdict": "missed", "cause": "tokens"},
        **dict.fromkeys(["speed_before_per_s", "speed_per_s", "fitted"]),
    }
    assert (b2["broker"], b2["verdict"], b2["cause"]) == ("b2", "inconclusive", None)


def test_a_broker_that_is_not_measured_leaves_it_open_whether_all_keep_the_target(
    api, streets, placement
):
    report(streets, "b1", **profile())
    (row,) = rounds_of(api, placement)["results"]
    assert [one["verdict"] for one in row["measured"]["brokers"]] == ["kept"]
    assert row["measured"]["meets"] is None
    report(streets, "b2", **profile())
    (row,) = rounds_of(api, placement)["results"]
    assert row["measured"]["meets"] is True


def test_what_is_shown_now_is_what_placing_again_judges(api, streets, placement):
    measured(streets, b2=unbounded(p99_s=0.4))
    (row,) = rounds_of(api, placement)["results"]
    judged = again(placement).outcome["measured"]
    fits = {"speed_before_per_s", "speed_per_s", "fitted"}
    assert row["measured"]["meets"] == judged["meets"]
    for now, then in zip(row["measured"]["brokers"], judged["brokers"], strict=True):
        assert {k: v for k, v in now.items() if k not in fits} == {
            k: pytest.approx(v) if k == "predicted_p99_s" else v
            for k, v in then.items()
            if k not in fits
        }


def test_a_line_goes_on_from_the_latest_follower(api, streets, placement):
    measured(streets, b1=profile(p99_s=0.2, own_p99_s=0.19))
    other, following = again(placement), again(placement)
    rounds = rounds_of(api, placement)
    assert [row["name"] for row in rounds["results"]] == [str(placement), str(following)]
    assert rounds_of(api, following)["results"] == rounds["results"]
    aside = rounds_of(api, other)["results"]
    assert [row["name"] for row in aside] == [str(placement), str(other)]
    assert [row["round"] for row in aside] == [1, 2]


def test_former_rounds_show_what_the_next_one_froze(api, streets, placement):
    measured(streets, b1=profile(p99_s=0.2, own_p99_s=0.19))
    following = again(placement)
    put_in_force(streets, following)
    Sample.objects.all().delete()
    rounds = rounds_of(api, following)
    first, second = rounds["results"]
    assert (first["is_in_force"], second["is_in_force"]) == (False, True)
    judged = following.outcome["measured"]
    assert first["measured"] == {k: v for k, v in judged.items() if k != "search_rounds"}
    assert second["measured"] is None
    assert rounds["measured_rounds"] == 1
    assert rounds["search_rounds"] == judged["search_rounds"] > 0
    code, detail = refusal(api, placement)
    assert (code, detail) == (
        "not_in_force",
        f"{following}, made by what was measured before, is in force, not L-1. Place {following} "
        "again.",
    )
    measured(streets, b3=profile())
    rounds = rounds_of(api, following)
    assert rounds["measured_rounds"] == 2
    assert rounds["results"][1]["measured"]["of"] == str(following.public_id)


def test_a_follower_that_is_the_same_takes_its_place(api, streets, placement):
    measured(streets)
    following = again(placement)
    assert following.moved == 0
    rounds = rounds_of(api, placement)
    assert rounds["measured_rounds"] == 1, "nothing else was in force"
    first, second = rounds["results"]
    assert (first["is_in_force"], second["is_in_force"]) == (False, True)
    assert first["measured"]["brokers"][0]["fitted"] is True, "as it was frozen"
    assert second["measured"]["brokers"][0]["fitted"] is None, "as it is now"
    assert refusal(api, placement)[0] == "not_in_force"
    assert ask(api, following).status_code == 202


def test_placements_of_before_are_served(api, streets, placement):
    outcome = dict(placement.outcome)
    del outcome["measured"]
    shares = [{k: v for k, v in share.items() if k != "speed_per_s"} for share in outcome["shares"]]
    Placement.objects.filter(pk=placement.pk).update(outcome={**outcome, "shares": shares})
    body = api.get(f"{ADDRESS}/{placement.public_id}").json()["outcome"]
    assert body["measured"] is None
    assert {share["speed_per_s"] for share in body["shares"]} == {None}
    measured(streets)
    assert rounds_of(api, placement)["can_place_again"]
    assert ask(api, placement).status_code == 202


def test_a_page_that_is_open_asks_little(api, streets, placement, django_assert_max_num_queries):
    measured(streets)
    again(placement)
    rounds_of(api, placement)
    with django_assert_max_num_queries(10) as queries:
        rounds_of(api, placement)
    read = [query["sql"] for query in queries]
    assert sum('"placements_placement"' in sql for sql in read) == 3
    assert not [sql for sql in read if re.search(r'"outcome"(?! ->)|"runs_\w+"."payload"', sql)]
