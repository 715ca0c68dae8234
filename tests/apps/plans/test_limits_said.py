"""Whether a plan says "no limit" only where it is true, beside what is measured now."""

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.plans.selectors.presentation import Change, changes
from tests.factories.backlogs import waits
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import make_document, make_plan
from weir.model.plan import Action


def serve(begin: bool = True) -> Action:
    flow = {"flow": "tides"}
    return Action(
        kind="serve_class",
        target={"class": "gulls", "broker": "c"},
        before=None if begin else flow,
        after=flow if begin else None,
    )


def carry(begin: bool = True) -> Action:
    value = {"delivery": "reliable", "broker": "a"}
    return Action(
        kind="carry_flow",
        target={"flow": "tides"},
        before=None if begin else value,
        after=value if begin else None,
    )


def shown(harbour: Harbour, *steps: list[Action]) -> dict[tuple[str, str], Change]:
    rows = changes(make_document(harbour.system, *steps))
    return {(row.kind, row.unit): row for row in rows}


CONSUMERS, MESSAGES = ("set_population", "consumers"), ("set_flow_rate", "msg/s")


def test_what_was_there_without_a_limit_had_none(harbour: Harbour) -> None:
    rows = shown(harbour, [population(None, 5), rate(None, 40.0)])
    assert [(row.before, row.was) for row in rows.values()] == [(None, "")] * 3


@pytest.mark.parametrize("together", [True, False])
def test_what_was_not_there_had_nothing_to_limit(harbour: Harbour, together: bool) -> None:
    begin, limit = [carry(), serve()], [population(None, 5), rate(None, 40.0)]
    rows = shown(harbour, *([[*begin, *limit]] if together else [begin, limit]))
    assert rows[CONSUMERS].was == "not served"
    assert rows[MESSAGES].was == "not carried"
    assert (rows[CONSUMERS].after, rows[CONSUMERS].becomes) == (5.0, "")


def test_what_ends_is_not_left_without_a_limit(harbour: Harbour) -> None:
    rows = shown(harbour, [population(5, None), rate(40.0, None), serve(False), carry(False)])
    assert rows[CONSUMERS].becomes == "not served"
    assert rows[MESSAGES].becomes == "not carried"


def test_what_is_measured_now_stands_beside_a_limit(
    harbour: Harbour, ines: User, api: APIClient
) -> None:
    plan = make_plan(harbour.system, ines, [rate(None, 40.0), population(None, 5)])
    path = f"/api/v1/plans/{plan.public_id}"

    def told() -> dict[str, float | None]:
        return {row["unit"]: row["measured"] for row in api.get(path).json()["changes"]}

    assert told() == {"msg/s": None, "msg": None, "consumers": None}
    waits(harbour.brokers["a"], [0], passed_per_s=33.0)
    assert told() == {"msg/s": 33.0, "msg": None, "consumers": None}
