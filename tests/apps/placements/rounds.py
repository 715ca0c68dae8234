"""A pinned topic that is placed again by what was measured, for the tests of rounds."""

import json
from typing import Any

from apps.catalog.models import Publisher
from apps.placements.models import Placement
from apps.placements.services import placement_again
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from tests.factories.runs import claim
from tests.factories.streets import (
    Streets,
    carry_from,
    kernel_answer,
    make_streets,
    place,
    profile,
    put_in_force,
    report,
)

ADDRESS = "/api/v1/placements"


def make_pinned() -> Streets:
    """Two pins keep publishers at b1 and b2, so that both serve the topic."""
    streets = make_streets()
    Publisher.objects.filter(system=streets.system, name__in=["s01", "s09"]).update(pinned=True)
    carry_from(streets, "b1")
    return streets


def place_pinned(streets: Streets) -> Placement:
    """Place the topic; in force at b1 and b2."""
    placement = place(streets, drained_brokers=[streets.brokers["b3"]], seed=7)
    put_in_force(streets, placement)
    return placement


def ask(api: Any, placement: Placement, **body: Any) -> Any:
    return api.post(f"{ADDRESS}/{placement.public_id}/again", body, format="json")


def refusal(api: Any, placement: Placement) -> tuple[str, str]:
    """Code and detail; the page has the same."""
    answer = ask(api, placement)
    assert answer.status_code == 409, answer.content
    detail = answer.json()["detail"]
    rounds = rounds_of(api, placement)
    assert (rounds["can_place_again"], rounds["because"]) == (False, detail)
    return answer.json()["code"], detail


def rounds_of(api: Any, placement: Placement) -> dict[str, Any]:
    answer = api.get(f"{ADDRESS}/{placement.public_id}/rounds")
    assert answer.status_code == 200, answer.content
    rounds: dict[str, Any] = answer.json()
    return rounds


def frozen(run: Run) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(bytes(run.snapshot.payload))
    return plain


def again(placement: Placement, **asked: Any) -> Placement:
    """The next round, computed."""
    run = claim(placement_again(placement=placement, actor=None, **asked))
    run_store(run, kernel_answer(run))
    return Placement.objects.get(run=run)


def measured(streets: Streets, **brokers: dict[str, float]) -> None:
    for broker, row in ({"b1": profile(), "b2": profile()} | brokers).items():
        report(streets, broker, **row)
