"""Search all publishers of an activity for groups that burst together.

`suggest` does it here. Spark calls the same parts over partitions: `profiles_of`, `banding`,
`signatures`, `pairs_of_band`, `judge`, `components_of`, `stars_of`, then `event_group` for each
star and `period_group` for each of `period_groups`, then `suggested_of`. No part depends on who
else is in its partition, so that the answers are the same to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from weir.compiled import compiled
from weir.correlation.activity import check_step, messages_of, moments_of, time_step_s
from weir.correlation.coincidence import judge, match
from weir.correlation.groups import components_of, stars_of
from weir.correlation.periods import Profiles, period_groups, profiles_of
from weir.correlation.signatures import banding, enough_moments, keys_of_band, pairs_of_band
from weir.correlation.suggested import ExampleRow, Group, Period, Suggested

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from weir.correlation.activity import Activity, Floats, Ints, Search
    from weir.correlation.groups import Star
    from weir.correlation.periods import PeriodGroup
    from weir.correlation.signatures import Banding

__all__ = [
    "ExampleRow",
    "Group",
    "Period",
    "Suggested",
    "event_group",
    "judged_of",
    "period_group",
    "rows_of",
    "suggest",
    "suggested_of",
]

MOST_ROWS = 12
"""Members that an example shows."""

MOST_SHOWN = 200
"""Times of one member that an example shows, the latest."""

BURSTS_SHOWN = 20
"""Bursts that an example shows."""

MOST_PERIODS = 20

LIKE = 1.01
"""Ratio up to which periods are told as one."""

DIGITS = 9
"""Behind the point of what is derived: below it, rounding shows."""

PIECE = 20_000
"""Publishers whose periods are searched between two reports."""

PENDING = 4_000_000
"""Candidate pairs that are kept at least until they are judged."""


def rows_of(starts: Ints, times_s: Floats, rows: Ints) -> tuple[Ints, Floats]:
    """Return starts and times of some rows alone, in the order given."""
    rows = np.asarray(rows, dtype=np.int64)
    counts = starts[rows + 1] - starts[rows]
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.repeat(starts[rows] - begins[:-1], counts) + np.arange(begins[-1])
    return begins, times_s[at]


@compiled
def beside_leader(
    leader: int, starts: Any, times: Any, within: float, apart: Any, shared: Any, sent: Any
) -> int:
    """Fill `apart` with distances to the leader's moments, `shared` by member, and `sent` with how
    many members sent at each moment of the leader; return how many distances there are."""
    own = times[starts[leader] : starts[leader + 1]]
    places, count = np.empty((len(own), 2), dtype=np.int64), 0
    for member in range(len(starts) - 1):
        other = times[starts[member] : starts[member + 1]]
        shared[member] = match(own, other, within, places)
        for at in range(shared[member]):
            sent[places[at, 0]] += 1
            if member != leader:
                apart[count] = abs(own[places[at, 0]] - other[places[at, 1]])
                count += 1
    return count


def event_group(
    star: Star,
    names: Sequence[str],
    starts: Ints,
    moments_s: Floats,
    messages: Ints,
    *,
    publishers: int,
    since_s: float,
    until_s: float,
    search: Search,
) -> Group:
    """Return a star with its evidence: names, moments and messages are those of its members, in
    their order, moments without those on combs (`Profiles.moments_s`)."""
    leader = int(np.searchsorted(star.members, star.leader))
    others = np.delete(np.arange(len(star.members)), leader)
    verdicts = judge(
        np.stack([np.full(len(others), leader), others], axis=1),
        starts,
        moments_s,
        publishers=publishers,
        duration_s=until_s - since_s,
        search=search,
    )
    counts = np.diff(starts)[others]
    return _group(
        "event",
        leader,
        names,
        starts,
        moments_s,
        messages,
        by_chance=float(np.mean(np.minimum(verdicts.by_chance / counts, 1.0))),
        period_s=None,
        phase_s=None,
        since_s=since_s,
        until_s=until_s,
        within_s=search.within_s,
    )


def period_group(
    beat: PeriodGroup,
    names: Sequence[str],
    starts: Ints,
    moments_s: Floats,
    messages: Ints,
    *,
    since_s: float,
    until_s: float,
    search: Search,
) -> Group | None:
    """Return a group of one period and phase with its evidence: names, moments and messages are
    those of its ids, with all moments (`moments_of`).

    `by_chance` is the share of members that chance puts among their phases. Members that miss most
    of the leader's beats leave it; None where too few are left.
    """
    leader = int(np.searchsorted(beat.ids, beat.leader))
    shared = _beside(leader, starts, moments_s, search.within_s)[1]
    counts = np.diff(starts)
    fewer = np.minimum(counts, counts[leader])
    stay = np.flatnonzero(shared >= search.least_share * fewer)
    if len(stay) < search.smallest_group:
        return None
    starts, moments_s = rows_of(starts, moments_s, stay)
    return _group(
        "period",
        int(np.searchsorted(stay, leader)),
        [names[at] for at in stay.tolist()],
        starts,
        moments_s,
        messages[stay],
        by_chance=min(beat.bystanders / len(stay), 1.0),
        period_s=beat.period_s,
        phase_s=beat.phase_s,
        since_s=since_s,
        until_s=until_s,
        within_s=search.within_s,
    )


def _beside(leader: int, starts: Ints, times_s: Floats, within_s: float) -> tuple[Any, Any, Any]:
    """Return distances to the leader's moments, shared moments by member, and how many members sent
    at each moment of the leader."""
    apart = np.empty(len(times_s))
    shared = np.zeros(len(starts) - 1, dtype=np.int64)
    sent = np.zeros(int(starts[leader + 1] - starts[leader]), dtype=np.int64)
    count = beside_leader(leader, starts, times_s, within_s, apart, shared, sent)
    return apart[:count], shared, sent


def _group(
    kind: Literal["event", "period"],
    leader: int,
    names: Sequence[str],
    starts: Ints,
    times_s: Floats,
    messages: Ints,
    *,
    by_chance: float,
    period_s: float | None,
    phase_s: float | None,
    since_s: float,
    until_s: float,
    within_s: float,
) -> Group:
    apart, shared, sent = _beside(leader, starts, times_s, within_s)
    others = np.arange(len(names)) != leader
    share = float(np.mean(shared[others] / np.diff(starts)[others]))
    own = times_s[starts[leader] : starts[leader + 1]]
    # The leader itself is one of them, and alone it is no burst.
    bursts = own[(2 * sent >= len(names)) & (sent > 1)]
    shown = bursts if len(bursts) else own
    begins = since_s
    if len(shown) > BURSTS_SHOWN:
        begins = max(since_s, float(shown[-BURSTS_SHOWN]) - 2.0 * within_s)
    seen = [leader, *np.flatnonzero(others)[: MOST_ROWS - 1].tolist()]
    example = []
    for row in seen:
        times = times_s[starts[row] : starts[row + 1]]
        times = times[times >= begins][-MOST_SHOWN:]
        example.append(ExampleRow(publisher=names[row], at_s=tuple(times.tolist())))
    return Group(
        kind=kind,
        members=tuple(names),
        share=round(share, DIGITS),
        by_chance=round(by_chance, DIGITS),
        spread_s=round(float(np.median(apart)), DIGITS),
        bursts=len(bursts),
        period_s=None if period_s is None else round(period_s, DIGITS),
        phase_s=None if phase_s is None else round(phase_s, DIGITS),
        rate_per_s=round(float(messages.sum()) / max(until_s - since_s, within_s), DIGITS),
        example_since_s=begins,
        example_until_s=float(until_s),
        example=tuple(example),
    )


def judged_of(profiles: Profiles, plan: Banding) -> NDArray[np.bool_]:
    """Return which publishers could be judged: by a period or by moments enough."""
    judged: NDArray[np.bool_] = ~np.isnan(profiles.period_s)
    judged[enough_moments(profiles, plan)] = True
    return judged


def suggested_of(
    groups: Sequence[Group],
    *,
    since_s: float,
    until_s: float,
    messages: int,
    publishers: int,
    judged: int,
    period_s: Floats,
) -> Suggested:
    """Return the whole of a search: `judged` publishers of all, and the periods of all that keep
    one, in any order (NaN: none)."""
    kept = np.sort(period_s[~np.isnan(period_s)])
    periods: list[Period] = []
    low = 0
    while low < len(kept):
        high = int(np.searchsorted(kept, kept[low] * LIKE, side="right"))
        first, last = round(float(kept[low]), DIGITS), round(float(kept[high - 1]), DIGITS)
        grouped = sum(
            len(group.members)
            for group in groups
            if group.period_s is not None and first <= group.period_s <= last
        )
        middle = round(float(np.median(kept[low:high])), DIGITS)
        periods.append(Period(period_s=middle, publishers=high - low, grouped=grouped))
        low = high
    periods.sort(key=lambda period: (-period.publishers, period.period_s))
    return Suggested(
        since_s=float(since_s),
        until_s=float(until_s),
        messages=int(messages),
        publishers=int(publishers),
        judged=int(judged),
        too_few=int(publishers - judged),
        periodic=len(kept),
        periods=tuple(periods[:MOST_PERIODS]),
        groups=tuple(
            sorted(groups, key=lambda group: (-len(group.members), group.members[0], group.kind))
        ),
    )


def suggest(
    activity: Activity,
    search: Search,
    *,
    report: Callable[[Mapping[str, Any]], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Suggested:
    """Search an activity in this process; `report` takes phase, done and total.

    Where `stop` says that it is enough, bands that are left are not compared, and groups that are
    left are not made: some lack members or are missing then, but none is false. Progress of
    `groups` counts publishers of pairs that burst together.
    Raises InvalidProblem naming `within_s` where the times are too coarse for it.
    """
    check_step(time_step_s(activity.at_s), search.within_s, len(activity.at_s))
    publishers, window = len(activity.names), (activity.since_s, activity.until_s)
    duration_s = activity.duration_s
    profiles = _profiles(activity, search, report)
    plan = banding(publishers=publishers, since_s=window[0], until_s=window[1], search=search)
    edges = _edges(profiles, plan, publishers, duration_s, search, report, stop)
    groups: list[Group] = []
    components = components_of(edges)
    whole, settled = sum(len(component) for component in components), 0

    def settle(more: int) -> None:
        nonlocal settled
        settled += more
        report({"phase": "groups", "done": settled, "total": whole})

    settle(0)
    owner = np.full(publishers, -1, dtype=np.int64)
    for at, component in enumerate(components):
        owner[component] = at
    order = np.argsort(owner[edges[:, 0]], kind="stable")
    cuts = np.searchsorted(owner[edges[order, 0]], np.arange(len(components) + 1))
    for at, component in enumerate(components):
        if stop():
            break
        starts, moments_s = rows_of(profiles.starts, profiles.moments_s, component)
        stars = stars_of(
            component,
            edges[order[cuts[at] : cuts[at + 1]]],
            starts,
            moments_s,
            publishers=publishers,
            duration_s=duration_s,
            search=search,
            stop=stop,
            report=settle,
        )
        for star in stars:
            starts, moments_s = rows_of(profiles.starts, profiles.moments_s, star.members)
            groups.append(
                event_group(
                    star,
                    [activity.names[member] for member in star.members.tolist()],
                    starts,
                    moments_s,
                    profiles.messages[star.members],
                    publishers=publishers,
                    since_s=window[0],
                    until_s=window[1],
                    search=search,
                )
            )
    for beat in period_groups(
        profiles.ids, profiles.period_s, profiles.phase_s, duration_s=duration_s, search=search
    ):
        if stop():
            break
        moments = moments_of(_part(activity, beat.ids), search.within_s)
        group = period_group(
            beat,
            moments.names,
            moments.starts,
            moments.at_s,
            messages_of(moments),
            since_s=window[0],
            until_s=window[1],
            search=search,
        )
        if group is not None:
            groups.append(group)
    return suggested_of(
        groups,
        since_s=window[0],
        until_s=window[1],
        messages=int(profiles.messages.sum()),
        publishers=publishers,
        judged=int(judged_of(profiles, plan).sum()),
        period_s=profiles.period_s,
    )


def _part(activity: Activity, ids: Ints) -> Activity:
    """Return the activity of some publishers alone."""
    starts, at_s = rows_of(activity.starts, activity.at_s, ids)
    return type(activity)(
        names=tuple(activity.names[row] for row in ids.tolist()),
        starts=starts,
        at_s=at_s,
        since_s=activity.since_s,
        until_s=activity.until_s,
        messages=messages_of(activity)[ids],
    )


def _profiles(
    activity: Activity, search: Search, report: Callable[[Mapping[str, Any]], None]
) -> Profiles:
    """Return what is known of each publisher by itself, a piece at a time."""
    publishers, pieces = len(activity.names), []
    for low in range(0, max(publishers, 1), PIECE):
        report({"phase": "periods", "done": low, "total": publishers})
        ids = np.arange(low, min(low + PIECE, publishers))
        pieces.append(profiles_of(_part(activity, ids), ids, search))
    counts = np.concatenate([np.diff(piece.starts) for piece in pieces])
    return Profiles(
        ids=np.arange(publishers),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        moments_s=np.concatenate([piece.moments_s for piece in pieces]),
        period_s=np.concatenate([piece.period_s for piece in pieces]),
        phase_s=np.concatenate([piece.phase_s for piece in pieces]),
        messages=np.concatenate([piece.messages for piece in pieces]),
    )


def _edges(
    profiles: Profiles,
    plan: Banding,
    publishers: int,
    duration_s: float,
    search: Search,
    report: Callable[[Mapping[str, Any]], None],
    stop: Callable[[], bool],
) -> Ints:
    """Return the pairs that are together of all that meet in a band, each once."""
    rows = enough_moments(profiles, plan)
    most = max(PENDING, 4 * publishers)
    pending: list[Any] = []
    edges: list[Any] = []

    def settle() -> None:
        keys = np.unique(np.concatenate(pending)) if pending else np.empty(0, dtype=np.int64)
        pending.clear()
        pairs = np.stack([keys // publishers, keys % publishers], axis=1) if publishers else None
        if pairs is not None and len(pairs):
            verdicts = judge(
                pairs,
                profiles.starts,
                profiles.moments_s,
                publishers=publishers,
                duration_s=duration_s,
                search=search,
            )
            edges.append(keys[verdicts.together])

    waiting = 0
    for band in range(plan.bands if len(rows) > 1 else 0):
        if stop():
            break
        report({"phase": "pairs", "done": band, "total": plan.bands})
        pairs = pairs_of_band(profiles.ids[rows], keys_of_band(profiles, plan, rows, band))
        pending.append(pairs[:, 0] * publishers + pairs[:, 1])
        waiting += len(pairs)
        if waiting > most:
            settle()
            waiting = 0
    settle()
    together = np.unique(np.concatenate(edges)) if edges else np.empty(0, dtype=np.int64)
    divisor = max(publishers, 1)
    return np.stack([together // divisor, together % divisor], axis=1)
