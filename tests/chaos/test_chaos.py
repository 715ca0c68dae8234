"""The chaos run at the size of CI: 50,000 deliveries, 10 shifts, 3 kills; `make thorough`: more."""

import os
from pathlib import Path

import pytest

from tests.chaos.__main__ import report
from tests.chaos.scenario import Scenario, Size


@pytest.mark.chaos
@pytest.mark.timeout(280)
def test_nothing_is_lost_doubled_or_reordered_whoever_is_killed(tmp_path: Path) -> None:
    size = Size(
        deliveries=int(os.environ.get("WEIR_CHAOS_DELIVERIES", "50000")),
        shifts=int(os.environ.get("WEIR_CHAOS_SHIFTS", "10")),
        kills=int(os.environ.get("WEIR_CHAOS_KILLS", "3")),
        seed=int(os.environ.get("WEIR_CHAOS_SEED", "1")),
    )
    outcome = Scenario(tmp_path, size, say=print).run()
    print(report(outcome))
    assert not outcome.problems, report(outcome)
    assert outcome.verdict.clean
    assert outcome.verdict.delivered >= size.deliveries
