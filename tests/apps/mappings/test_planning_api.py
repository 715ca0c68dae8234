"""Plans of maps over the API: what makes a draft, which field is refused, and for whom."""

from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.mappings.models import Mapping
from apps.plans.models import Plan
from apps.systems.services import entity_update
from tests.factories.market import Market, in_turn, make_market, map_market, point_that_moves

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    market = make_market()
    in_turn(market)
    return market


@pytest.fixture
def mapping(market: Market) -> Mapping:
    return map_market(market)


class TestApi:
    def plan(self, api: Any, mapping: Mapping, **values: Any) -> Any:
        return api.post(f"/api/v1/mappings/{mapping.public_id}/plan", values, format="json")

    def test_makes_a_draft(self, api, mapping):
        at = point_that_moves(mapping)
        answer = self.plan(api, mapping, map=str(at), title="Spring", moves_per_step=7)
        assert answer.status_code == 201, answer.content
        body = answer.json()
        assert (body["kind"], body["title"], body["state"]) == ("mapping", "Spring", "draft")
        assert len(body["steps"][0]["actions"]) == 7
        rows = [row for row in body["changes"] if row["kind"] == "move_flow"]
        assert {row["unit"] for row in rows} == {""}
        assert all(row["was"].startswith(("stream session-", "no stream")) for row in rows)
        assert {check["state"] for check in body["checks"]} <= {"pass", "warn"}
        assert body["hurt"]["disconnected"] == 0

    def test_names_the_field_that_does_not_fit(self, api, mapping):
        for values, field in (
            ({"moves_per_step": 0}, "moves_per_step"),
            ({"moves_per_step": 501}, "moves_per_step"),
            ({"map": "7777"}, "map"),
            ({"pace": 3}, "pace"),
        ):
            answer = self.plan(api, mapping, **values)
            assert answer.status_code == 400, values
            assert [error["field"] for error in answer.json()["errors"]] == [field]
        assert not Plan.objects.exists()

    def test_is_offered_while_the_model_is_the_same(self, api, market, mapping):
        address = f"/api/v1/mappings/{mapping.public_id}"
        assert "plan" in api.get(address).json()["allowed_commands"]
        topic = market.topic(market.wanted[0])
        values = {"rate_max_per_s": topic.rate_max_per_s + 1.0}
        entity_update(instance=topic, actor=None, expected_version=1, values=values)
        assert "plan" not in api.get(address).json()["allowed_commands"]

    def test_is_no_viewers(self, as_role, mapping):
        viewer = as_role(Role.VIEWER)
        assert self.plan(viewer, mapping).status_code == 403
        answer = viewer.get(f"/api/v1/mappings/{mapping.public_id}").json()
        assert "plan" not in answer["allowed_commands"]
