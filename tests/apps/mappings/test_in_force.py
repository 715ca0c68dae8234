"""The map in force over the API: what it costs now, and which wanted flows it lacks."""

from typing import Any

import pytest

from apps.catalog.models import Topic
from tests.factories import make_system
from tests.factories.market import Market, in_turn, make_market, recounted, set_weights

pytestmark = pytest.mark.django_db


@pytest.fixture
def market() -> Market:
    market = make_market()
    in_turn(market)
    return market


class TestInForce:
    def read(self, api: Any, market: Market) -> Any:
        answer = api.get("/api/v1/map-in-force", {"system": str(market.system.public_id)})
        assert answer.status_code == 200, answer.content
        return answer.json()

    def test_says_what_it_costs_and_who_is_missing(self, api, market):
        lost = market.wanted[:3]
        Topic.objects.filter(system=market.system, name__in=lost).update(stream=None)
        body = self.read(api, market)
        assert (body["wanted_flows"], body["missing_flows"]) == (len(market.wanted), 3)
        assert body["mapped_flows"] == len(market.wanted) - 3
        assert body["costs"]["cost"] == recounted(market)
        assert body["costs"]["cost"] == pytest.approx(
            body["costs"]["transport_cost"] + body["costs"]["messaging_cost"]
        )

    def test_changes_with_weights_and_rates_that_no_version_counts(self, api, market):
        first = self.read(api, market)["costs"]["cost"]
        set_weights(market, messaging=3.0)
        second = self.read(api, market)["costs"]["cost"]
        assert second > first
        assert second == recounted(market)

    def test_says_why_there_is_nothing(self, api):
        market = make_market("bare")
        body = self.read(api, market)
        assert body["because"] == "No topic of bare is in a stream with a group yet."
        assert (body["costs"], body["missing_flows"]) == (None, len(market.wanted))
        empty = make_system("empty")
        answer = api.get("/api/v1/map-in-force", {"system": str(empty.public_id)})
        assert "has no topics yet" in answer.json()["because"]
        assert answer.json()["costs"] is None

    def test_needs_a_system(self, api):
        answer = api.get("/api/v1/map-in-force")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "system"
