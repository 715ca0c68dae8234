"""Which groups are suggested, and which never are."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import weir.correlation.groups as groups_module
from tests.suites import effort
from tests.weir.correlation.world import SINCE_S, World
from weir.codec.correlation import (
    CorrelationAnswer,
    CorrelationSnapshot,
    Recording,
    answer_bytes,
    answer_from_json,
    snapshot_bytes,
    snapshot_from_json,
)
from weir.correlation.activity import Activity, Search, activity_of
from weir.correlation.answer import answer
from weir.correlation.coincidence import Judged, judge
from weir.correlation.groups import stars_of
from weir.correlation.periods import Profiles, profiles_of
from weir.correlation.signatures import banding, signatures
from weir.correlation.suggest import suggest
from weir.errors import InvalidProblem
from weir.kernel import Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.correlation.activity import Ints


def groups_of(world: World, **search: float) -> list[tuple[str, set[str]]]:
    """Return kind and members of what is suggested."""
    suggested = suggest(world.activity(), Search(**search))
    return [(group.kind, set(group.members)) for group in suggested.groups]


def planted(world: World, name: str, members: int, *, events: int = 40) -> set[str]:
    """Add a group that reacts to the same events."""
    times = world.events(events)
    names = {f"{name}-{at:02}" for at in range(members)}
    for member in sorted(names):
        world.add(member, world.reaction(times))
    return names


@pytest.mark.parametrize("seed", range(6))
def test_planted_groups_are_suggested_exactly(seed: int) -> None:
    world = World(seed)
    groups = [planted(world, f"g{size}", size) for size in (15, 6, 2)]
    for at in range(400):
        world.add(f"p{at:03}", world.independent(world.chance.uniform(0.003, 0.1)))
    assert groups_of(world) == [("event", members) for members in groups]


def independent(world: World) -> None:
    for at in range(300):
        world.add(f"p{at:03}", world.independent(world.chance.uniform(0.003, 0.2)))


def busy_minutes(world: World) -> None:
    for at in range(150):
        times = world.independent(0.2)
        kept = np.where(times % 600 < 60, 0.5, 0.05)
        world.add(f"p{at:03}", times[world.chance.random(len(times)) < kept])


def storms(world: World) -> None:
    begins = world.events(6)
    for at in range(200):
        during = [begin + world.chance.uniform(0, 20, world.chance.poisson(12)) for begin in begins]
        world.add(f"p{at:03}", world.independent(1 / 60), *during)


def one_short_storm(world: World) -> None:
    for at in range(200):
        world.add(f"p{at:03}", 700 + world.chance.uniform(0, 8, world.chance.poisson(6)))


def one_period(world: World) -> None:
    for at in range(400):
        world.add(f"p{at:03}", world.beats(60.0))


def too_few_cycles(world: World) -> None:
    for at in range(600):
        world.add(f"p{at:03}", world.beats(300.0, missed=0.2, jitter_s=0.02))


def several_messages_a_period(world: World) -> None:
    for at in range(200):
        phase = world.chance.uniform(0, 10)
        world.add(f"p{at:03}", *(world.beats(10.0, phase_s=phase + off) for off in (0, 1.7, 4.1)))


def wandering_clocks(world: World) -> None:
    for at in range(150):
        steps = world.chance.normal(2.0, 0.02, 910)
        world.add(f"p{at:03}", world.chance.uniform(0, 2) + np.cumsum(steps))


def heartbeats_and_chance(world: World) -> None:
    for at in range(300):
        period = world.chance.choice([10.0, 30.0, 60.0, 100.0])
        jitter, missed = world.chance.choice([0.003, 0.02, 0.3]), world.chance.choice([0, 0.1, 0.3])
        beats = world.beats(period, jitter_s=jitter, missed=missed)
        world.add(f"p{at:03}", beats, world.independent(world.chance.choice([0.0, 0.01])))


@pytest.mark.parametrize(
    "make",
    [
        independent,
        busy_minutes,
        storms,
        one_short_storm,
        one_period,
        too_few_cycles,
        several_messages_a_period,
        wandering_clocks,
        heartbeats_and_chance,
    ],
)
def test_what_only_chance_brings_together_is_no_group(make: Callable[[World], None]) -> None:
    false = 0
    for seed in range(8):
        world = World(seed)
        make(world)
        false += len(groups_of(world))
    # 0.01 is expected in each analysis at most.
    assert false == 0


def test_two_of_a_thousand_heartbeats_that_coincide_are_no_group() -> None:
    world = World(3)
    for at in range(998):
        world.add(f"p{at:03}", world.beats(60.0))
    world.add("q1", world.beats(60.0, phase_s=12.0))
    world.add("q2", world.beats(60.0, phase_s=12.0))
    assert groups_of(world) == []


def test_heartbeats_at_one_phase_are_a_group_and_drifting_ones_are_not() -> None:
    world = World(4)
    for at in range(300):
        world.add(f"p{at:03}", world.beats(60.0))
    for at in range(20):
        # From one phase to a tenth of a period away, while the window lasts.
        world.add(f"drifting{at:02}", world.beats(45.0 * (1 + 2e-4 * at), phase_s=3.0))
        world.add(f"still{at:02}", world.beats(60.0, phase_s=17.0 + world.chance.uniform(0, 0.04)))
    suggested = suggest(world.activity(), Search())
    (group,) = suggested.groups
    still = {f"still{at:02}" for at in range(20)}
    assert group.kind == "period"
    assert still <= set(group.members)
    # Who happens to have the same phase belongs to it: nothing tells it from the others.
    assert len(group.members) <= 22
    assert group.period_s == pytest.approx(60.0, abs=1e-3)
    assert group.phase_s == pytest.approx(17.02, abs=0.03)
    assert suggested.periodic == 340
    assert suggested.periods[0].publishers == 320
    assert suggested.periods[0].grouped == len(group.members)


def test_events_beside_heartbeats_make_the_group() -> None:
    world = World(5)
    events = world.events(30)
    for at in range(200):
        reaction = world.reaction(events) if at < 8 else world.independent(1 / 60)
        world.add(f"p{at:03}", world.beats(30.0), reaction)
    assert groups_of(world) == [("event", {f"p{at:03}" for at in range(8)})]


def test_a_publisher_of_two_groups_does_not_fuse_them() -> None:
    world = World(6)
    both = [world.events(40), world.events(40)]
    for at in range(10):
        world.add(f"a{at}", world.reaction(both[0], missed=0.1))
        world.add(f"b{at}", world.reaction(both[1], missed=0.1))
    world.add("0-bridge", world.reaction(both[0], missed=0.0), world.reaction(both[1], missed=0.0))
    groups = [members - {"0-bridge"} for _, members in groups_of(world)]
    assert sorted(groups, key=sorted) == [
        {f"a{at}" for at in range(10)},
        {f"b{at}" for at in range(10)},
    ]


def test_all_publishers_of_a_topic_may_be_one_group() -> None:
    world = World(7)
    publishers = effort(2_000, 10_000)
    members = planted(world, "all", publishers, events=25)
    (group,) = groups_of(world)
    # A few miss so much that less than half of what they sent is together with the leader's.
    assert len(members - group[1]) < publishers / 1_000


def test_evidence_is_what_was_planted() -> None:
    world = World(8)
    events = np.sort(world.events(50))
    for at in range(20):
        world.add(f"g{at:02}", world.reaction(events, jitter_s=0.01, missed=0.2))
    for at in range(100):
        world.add(f"p{at:03}", world.independent(1 / 40))
    (group,) = suggest(world.activity(), Search()).groups
    assert group.share == pytest.approx(0.8, abs=0.06)
    assert group.by_chance < 0.05
    # The distance of two uniform jitters has its median at 0.29 of their whole range.
    assert group.spread_s == pytest.approx(0.29 * 0.02, rel=0.1)
    assert 36 <= group.bursts <= 50
    assert group.rate_per_s == pytest.approx(20 * 50 * 0.8 / 1800, rel=0.05)
    assert [len(group.example), group.example_until_s] == [12, SINCE_S + 1800]
    shown = group.example[0].at_s
    assert shown[0] >= group.example_since_s > SINCE_S
    assert 20 <= len(shown) <= 26


def test_the_order_of_messages_and_parts_of_publishers_change_nothing() -> None:
    first, again = World(9), World(9)
    for world in (first, again):
        planted(world, "g", 6)
        independent(world)
        for at in range(30):
            world.add(f"h{at:02}", world.beats(60.0, phase_s=4.0))
    again.chance.random()  # another order of messages
    activities = [first.activity(), again.activity()]
    answers = [
        answer_bytes(
            CorrelationAnswer(topic="t", search=Search(), suggested=suggest(each, Search()))
        )
        for each in activities
    ]
    assert answers[0] == answers[1]
    assert answer_bytes(answer_from_json(answers[0])) == answers[0]
    whole = activities[0]
    plan = banding(
        publishers=len(whole.names), since_s=whole.since_s, until_s=whole.until_s, search=Search()
    )
    at_once = profiles_of(whole, np.arange(len(whole.names)), Search())
    ids, keys = signatures(at_once, plan)
    for low, high in ((0, 100), (100, 101), (101, len(whole.names))):
        part = Activity(
            names=whole.names[low:high],
            starts=whole.starts[low : high + 1] - whole.starts[low],
            at_s=whole.at_s[whole.starts[low] : whole.starts[high]],
            since_s=whole.since_s,
            until_s=whole.until_s,
        )
        profiles: Profiles = profiles_of(part, np.arange(low, high), Search())
        assert profiles.period_s.tobytes() == at_once.period_s[low:high].tobytes()
        assert profiles.phase_s.tobytes() == at_once.phase_s[low:high].tobytes()
        part_ids, part_keys = signatures(profiles, plan)
        inside = (ids >= low) & (ids < high)
        assert part_ids.tolist() == ids[inside].tolist()
        assert part_keys.tobytes() == keys[inside].tobytes()


@pytest.mark.parametrize(
    ("names", "ids", "times"),
    [
        ([], [], []),
        (["a"], [0], [5.0]),
        (["a", "b"], [0, 1], [5.0, 5.0]),
        (["a", "b"], [0] * 50 + [1] * 50, [7.0301234] * 100),
        (["a", "b", "c"], [0] * 9, [float(at) for at in range(9)]),
    ],
)
def test_too_little_gives_no_group_and_says_so(
    names: list[str], ids: list[int], times: list[float]
) -> None:
    suggested = suggest(activity_of(names, ids, times), Search())
    assert list(suggested.groups) == []
    assert suggested.messages == len(times)
    assert suggested.judged + suggested.too_few == suggested.publishers == len(names)


def test_moments_less_than_a_millisecond_apart_are_told_in_unix_time() -> None:
    world = World(10, duration_s=60.0)
    events = world.events(40)
    for at in range(5):
        world.add(f"g{at}", world.reaction(events, jitter_s=0.00005))
        # The same events, a millisecond later each.
        world.add(f"late{at}", world.reaction(events + 0.001 * (at + 1), jitter_s=0.0))
    suggested = suggest(world.activity(), Search(within_s=0.0002))
    assert [set(group.members) for group in suggested.groups] == [{f"g{at}" for at in range(5)}]


def test_publishers_that_send_all_the_time_are_no_group() -> None:
    world = World(11, duration_s=60.0)
    for at in range(20):
        world.add(f"p{at}", world.independent(200.0))
    assert groups_of(world) == []


def test_enough_leaves_groups_that_are_left_and_makes_no_false_one() -> None:
    world = World(12)
    members = [planted(world, name, 6) for name in "fgh"]
    activity = world.activity()
    whole = suggest(activity, Search()).groups
    assert [set(group.members) for group in whole] == members
    sizes = set()
    for calls in range(60):
        turns = iter(range(calls))
        groups = suggest(activity, Search(), stop=lambda: next(turns, None) is None).groups  # noqa: B023
        assert all(any(set(group.members) <= some for some in members) for group in groups)
        sizes.add(len(groups))
    assert sizes == {0, 1, 2, 3}


def sequence(gaps: list[float], *, jobs: int = 1, jitter_s: float = 0.0) -> Callable[[World], None]:
    """Return a world of independent publishers that run one sequence of messages."""

    def make(world: World) -> None:
        offsets = np.cumsum([0.0, *gaps])
        for at in range(1000):
            begins = world.chance.uniform(0, world.duration_s - offsets[-1], jobs)
            times = np.concatenate([begin + offsets for begin in begins])
            world.add(f"p{at:04}", times + world.chance.normal(0, jitter_s, len(times)))

    return make


@pytest.mark.parametrize(
    "make",
    [
        sequence([2.0] * 6),
        sequence([2.0] * 6, jitter_s=0.02),
        sequence([4.0] * 4),
        sequence([4.0] * 4, jobs=2),
        sequence([1.0, 2.0, 4.0, 8.0, 16.0]),
        sequence([0.7, 2.2, 3.2, 7.2, 8.4, 18.5]),
    ],
)
def test_publishers_that_run_one_sequence_are_no_group(make: Callable[[World], None]) -> None:
    for seed in range(3):
        world = World(seed)
        make(world)
        assert groups_of(world) == []


@pytest.mark.parametrize(
    ("period", "spread_s"), [(20.0, 1.0), (20.0, 0.16), (60.0, 3.0), (5.0, 0.15)]
)
def test_one_sloppy_trigger_makes_a_group_and_sloppy_clocks_of_their_own_do_not(
    period: float, spread_s: float
) -> None:
    world = World(14)
    for group in range(20):
        trigger = world.beats(period, jitter_s=spread_s)
        for at in range(10):
            world.add(f"g{group:02}-{at}", world.reaction(trigger, jitter_s=0.01))
    for at in range(200):
        world.add(f"p{at:03}", world.beats(period, jitter_s=spread_s, missed=0.2))
    groups = groups_of(world)
    whole = [{f"g{group:02}-{at}" for at in range(10)} for group in range(20)]
    assert all(any(members <= some for some in whole) for _, members in groups)
    assert sum(("event", some) in groups for some in whole) >= 18


def test_a_group_of_one_phase_takes_in_few_bystanders_and_says_how_many() -> None:
    world = World(15)
    for at in range(10_000):
        phase = 10.0 + world.chance.uniform(-0.01, 0.01) if at < 40 else None
        world.add(f"p{at:05}", world.beats(60.0, phase_s=phase))
    (group,) = suggest(world.activity(), Search()).groups
    right = sum(int(name[1:]) < 40 for name in group.members)
    assert right >= 38
    # In 20 ms of phases chance has 3.3 of 10,000; in 100 ms it would have 17.
    assert len(group.members) - right <= 8
    assert group.by_chance * len(group.members) == pytest.approx(3.3, rel=0.5)


def test_groups_in_a_ring_cost_no_more_pairs_than_groups_by_themselves() -> None:
    compared = {}
    for groups in (10, 40):
        world = World(16)
        events = [world.events(40) for _ in range(groups)]
        for at in range(groups):
            for member in range(9):
                world.add(f"{at:02}-{member}", world.reaction(events[at], missed=0.0))
            both = [events[at], events[(at + 1) % groups]]
            world.add(f"{at:02}-x", *(world.reaction(some, missed=0.0) for some in both))
        activity = world.activity()
        ids = np.arange(10 * groups)
        profiles = profiles_of(activity, ids, Search())
        # A line through each group, and from its bridge into the next.
        edges = np.stack([ids, (ids + 1) % len(ids)], axis=1)
        pairs = 0

        def counted(some: Ints, *rest: object, **named: object) -> Judged:
            nonlocal pairs
            pairs += len(some)
            return judge(some, *rest, **named)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groups_module, "judge", counted)
            settled: list[int] = []
            stars = stars_of(
                ids,
                edges,
                profiles.starts,
                profiles.moments_s,
                publishers=len(ids),
                duration_s=1800.0,
                search=Search(),
                report=settled.append,
            )
        assert len(stars) == groups
        assert len(settled) > groups
        assert sum(settled) == len(ids)
        compared[groups] = pairs / groups
    assert compared[40] < 1.2 * compared[10]


def test_the_kernel_answers_what_was_measured_and_leaves_recordings_to_spark() -> None:
    world = World(13)
    members = planted(world, "g", 6)
    activity = world.activity()
    payload = snapshot_bytes(CorrelationSnapshot(topic="depth", activity=activity, untimed=2))
    phases: list[str] = []
    plain = json.loads(
        answer(
            payload,
            Call(
                parameters={"least_share": 0.6},
                report=lambda progress: phases.append(progress["phase"]),
            ),
        )
    )
    assert plain["search"]["least_share"] == 0.6
    assert (plain["topic"], plain["untimed"]) == ("depth", 2)
    assert [set(group["members"]) for group in plain["groups"]] == [members]
    assert set(phases) == {"periods", "pairs", "groups"}
    read = snapshot_from_json(payload).activity
    assert read is not None
    assert read.at_s.tobytes() == activity.at_s.tobytes()
    with pytest.raises(InvalidProblem, match=r"least_share: must be at most 1"):
        answer(payload, Call(parameters={"least_share": 1.5}))
    recording = Recording(name="day.parquet", size_bytes=1, modified_s=2.0)
    frozen = snapshot_bytes(CorrelationSnapshot(topic="depth", recording=recording))
    with pytest.raises(InvalidProblem, match=r"source\.kind"):
        answer(frozen, Call())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [3, 1]}, "times: must be 4 times"),
        ({"counts": [2]}, "counts: must be 2"),
        ({"publishers": ["b", "a"]}, r"publishers\[1\]: must ascend"),
        ({"times": "!"}, "times: must be base64"),
        ({"format": 2}, "format: must be 1"),
        ({"counts": [1, 2]}, "times: number 2 comes before"),
    ],
)
def test_a_question_that_does_not_fit_is_refused_by_its_field(
    change: dict[str, object], message: str
) -> None:
    activity = activity_of(["a", "b"], [0, 0, 1], [1.0, 2.0, 1.5])
    payload = snapshot_bytes(CorrelationSnapshot(topic="t", activity=activity))
    with pytest.raises(InvalidProblem, match=message):
        snapshot_from_json(json.dumps({**json.loads(payload), **change}).encode())


def test_searches_out_of_bounds_name_field_and_bound() -> None:
    for field, value, message in (
        ("within_s", 0.0, "at least 0.0001"),
        ("within_s", 61, "at most 60"),
        ("least_share", 0.1, "at least 0.2"),
        ("smallest_group", 1, "at least 2"),
        ("smallest_group", 2.5, "whole number"),
        ("false_groups", float("nan"), "finite"),
    ):
        with pytest.raises(InvalidProblem, match=message) as refused:
            replace(Search(), **{field: value})
        assert refused.value.path == field
