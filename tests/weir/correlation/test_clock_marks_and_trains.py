"""Publishers that act by the clock are no group, and groups whose events are trains are one."""

import numpy as np
import pytest

from tests.weir.correlation.test_suggest import groups_of
from tests.weir.correlation.world import World
from weir.correlation.activity import Search
from weir.correlation.suggest import suggest


@pytest.mark.parametrize(
    ("mark_s", "rates_per_s"),
    [(1.0, (0.02, 0.6)), (5.0, (0.01, 0.1)), (15.0, (0.01,)), (0.5, (0.02,))],
    ids=["1 s", "5 s", "15 s", "0.5 s"],
)
def test_publishers_that_flush_by_the_clock_are_no_group(
    mark_s: float, rates_per_s: tuple[float, ...]
) -> None:
    for seed in range(4):
        for rate_per_s in rates_per_s:
            world = World(seed)
            for number in range(100):
                flushes = np.unique(np.ceil(world.independent(rate_per_s) / mark_s)) * mark_s
                late = np.abs(world.chance.normal(0.0, 0.005, len(flushes)))
                world.add(f"p{number}", flushes[1:-1] + late[1:-1])
            assert groups_of(world) == []


@pytest.mark.parametrize(("messages", "gap_s"), [(3, 1.0), (3, 2.0), (5, 1.0)])
def test_groups_whose_events_are_trains_of_messages_are_suggested(
    messages: int, gap_s: float
) -> None:
    world = World(11)
    events = np.sort(world.chance.uniform(5.0, world.duration_s - 20.0, 40))
    members = {f"a{number}" for number in range(10)}
    for name in sorted(members):
        train = (events[:, None] + gap_s * np.arange(messages)).ravel()
        world.add(name, train + world.chance.uniform(-0.01, 0.01, len(train)))
    for number in range(100):
        world.add(f"p{number}", world.independent(0.03))
    assert groups_of(world) == [("event", members)]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_evidence_of_a_pair_does_not_depend_on_its_names(names: tuple[str, str]) -> None:
    world = World(12)
    events = world.events(80)
    world.add(names[0], events)
    world.add(names[1], events[:40] + 0.01)
    (group,) = suggest(world.activity(), Search()).groups
    assert group.share == 1.0
