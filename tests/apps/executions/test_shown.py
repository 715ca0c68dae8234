"""What an agent observes shows a value of a setting, or does not; whom a flow's setting asks."""

from dataclasses import replace

import pytest

from apps.executions.services.settings import asks_of, shows
from weir.coordination.wire import Bucket, Delivery, Gate, Observed
from weir.model.plan import Action

SPRING = {"rate_per_s": 90.0, "burst": 5.0}


def setting(kind: str, **target: str) -> Action:
    return Action(kind=kind, target=target)


GATE = setting("set_flow_rate", flow="tides", broker="a")
CARRY = setting("carry_flow", flow="tides")
SERVE = {"class": "gulls", "broker": "a"}
LIMIT = {"class": "gulls", "flow": "tides", "broker": "a"}
AT_A = {"broker": "a", "delivery": "reliable"}
PART_AT_A = setting("set_bucket", flow="tides", broker="a")
PART = {"rate_per_s": 30.0, "size": 1.5, "mode": "enforce"}
NO_PART = {"rate_per_s": 0.0, "size": 0.0, "mode": "enforce"}
SPLIT = Observed(
    buckets={"tides": Bucket(rate_per_s=30.0, size=1.5)}, ingress={"tides": Delivery.RELIABLE}
)
SHUT = Observed(buckets={"tides": Bucket(rate_per_s=0.0, size=0.0)}, ingress={})
"""Of an agent at which the flow must not enter, although it is carried from there."""
NOBODY, FIVE = {"limit": 0}, {"limit": 5}
UNDELIVERED = Observed(
    served={"gulls": "tides"}, limits={"gulls": 5}, flow_failures={"tides": "its stream is full"}
)
"""Of an agent that lets consumers of `gulls` in and has nothing for them."""


@pytest.mark.parametrize(
    ("observed", "action", "value", "seen"),
    [
        (Observed(gates={"tides": Gate(rate_per_s=90.0, burst=5.0)}), GATE, SPRING, True),
        (Observed(gates={"tides": Gate(rate_per_s=91.0, burst=5.0)}), GATE, SPRING, False),
        (Observed(gates={"tides": Gate(rate_per_s=90.0, burst=6.0)}), GATE, SPRING, False),
        (Observed(gates={"tides": Gate(rate_per_s=90.0, burst=5.0)}), GATE, None, False),
        (Observed(), GATE, SPRING, False),
        (Observed(), GATE, None, True),
        (SPLIT, GATE, SPRING, True),
        (SPLIT, PART_AT_A, PART, True),
        (SPLIT, PART_AT_A, {**PART, "size": 2.0}, False),
        (SPLIT, PART_AT_A, {**PART, "mode": "count"}, False),
        (SPLIT, PART_AT_A, None, False),
        (SHUT, PART_AT_A, None, True),
        (Observed(), PART_AT_A, None, True),
        (Observed(), PART_AT_A, PART, False),
        (SPLIT, CARRY, {**AT_A, "broker": "b"}, True),
        (SPLIT, CARRY, None, False),
        (SHUT, PART_AT_A, NO_PART, True),
        (SHUT, CARRY, AT_A, True),
        (Observed(ingress={"tides": Delivery.RELIABLE}), CARRY, AT_A, True),
        (Observed(ingress={"tides": Delivery.BEST_EFFORT}), CARRY, AT_A, False),
        (Observed(ingress={"tides": Delivery.RELIABLE}), CARRY, {**AT_A, "broker": "b"}, False),
        (Observed(ingress={}), CARRY, {**AT_A, "broker": "b"}, True),
        (Observed(ingress={}), CARRY, AT_A, False),
        (Observed(ingress={}), CARRY, None, True),
        (Observed(ingress={"tides": Delivery.RELIABLE}), CARRY, None, False),
        (Observed(ingress=None), CARRY, None, False),
        (
            Observed(served={"gulls": "tides"}),
            setting("serve_class", **SERVE),
            {"flow": "tides"},
            True,
        ),
        (
            Observed(served={"gulls": "winds"}),
            setting("serve_class", **SERVE),
            {"flow": "tides"},
            False,
        ),
        (Observed(served={}), setting("serve_class", **SERVE), None, True),
        (Observed(served={"gulls": "tides"}), setting("serve_class", **SERVE), None, False),
        (Observed(served=None), setting("serve_class", **SERVE), None, False),
        (
            Observed(served={"gulls": "tides"}, limits={"gulls": 5}),
            setting("set_population", **LIMIT),
            {"limit": 5},
            True,
        ),
        (
            Observed(served={"gulls": "tides"}, limits={"gulls": 6}),
            setting("set_population", **LIMIT),
            {"limit": 5},
            False,
        ),
        (
            Observed(served={"gulls": "tides"}),
            setting("set_population", **LIMIT),
            {"limit": 5},
            False,
        ),
        (Observed(served={"gulls": "tides"}), setting("set_population", **LIMIT), None, True),
        (
            Observed(served={"gulls": "winds"}),
            setting("set_population", **LIMIT),
            {"limit": 5},
            True,
        ),
        (
            Observed(served=None, limits={"gulls": 5}),
            setting("set_population", **LIMIT),
            {"limit": 5},
            True,
        ),
        (Observed(served=None), setting("set_population", **LIMIT), {"limit": 5}, False),
        (UNDELIVERED, setting("serve_class", **SERVE), {"flow": "tides"}, False),
        (UNDELIVERED, replace(setting("set_population", **LIMIT), before=NOBODY), FIVE, False),
        (
            replace(UNDELIVERED, limits={"gulls": 0}),
            replace(setting("set_population", **LIMIT), before=NOBODY),
            NOBODY,
            True,
        ),
        (
            UNDELIVERED,
            replace(setting("set_population", **LIMIT), before={"limit": 9}),
            FIVE,
            True,
        ),
        (
            replace(UNDELIVERED, served={"gulls": "winds"}),
            setting("serve_class", **SERVE),
            {"flow": "winds"},
            True,
        ),
        (replace(UNDELIVERED, served={}), setting("serve_class", **SERVE), None, True),
    ],
)
def test_an_agent_shows_exactly_the_value_or_not(observed, action, value, seen):
    assert shows(observed, action, value, "a") is seen


@pytest.mark.parametrize(
    ("action", "value", "asks"),
    [
        (GATE, SPRING, True),
        (GATE, None, False),
        (CARRY, AT_A, True),
        (CARRY, {**AT_A, "broker": "b"}, False),
        (CARRY, None, False),
        (setting("serve_class", **SERVE), {"flow": "tides"}, True),
    ],
)
def test_a_flow_asks_something_of_its_ingress_only(action, value, asks):
    assert asks_of(action, value, "a") is asks
