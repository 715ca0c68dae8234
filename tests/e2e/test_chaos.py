"""The chaos run on the whole system, at a size that takes minutes; `long-chaos` has more."""

import os

import pytest

from config.stack import Stack
from tests.e2e.chaos.scenario import Scenario, Size
from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_whatever_happens_to_the_system(
    weir: Stack, fleet: Fleet
) -> None:
    size = Size(
        deliveries=2_000,
        rounds=10,
        rate_per_s=25.0,
        longest_s=3.0,
        seed=int(os.environ.get("WEIR_CHAOS_SEED", "1")),
    )
    outcome = Scenario(weir, fleet, size, say=print).run()
    print(outcome.report())
    assert not outcome.problems, outcome.report()
    assert outcome.verdict.clean
    assert outcome.executions["succeeded"] > 0
