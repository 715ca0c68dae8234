"""What the slides say of costs and of their load, before anything is mapped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.plain_clustering import cost_of
from benchmarks.statements import Statement
from benchmarks.tock.settings import SHAPES, load, span
from weir.clustering.loads import SLIDES, MarketShape, fan_out, market_load
from weir.model.mapping import NOWHERE, FlowMap, Interests, MappingProblem, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from benchmarks.tock.settings import Effort

TIGHT, LOOSE = 0.02, 2.0
"""Parts of a market over which popularity falls by the factor e: between a fiftieth of its topics
and hardly at all."""
BINS, OF_INTERESTS = 10, 0.9
"""Popularity is averaged over so many runs of ranks, over the ranks with this part of a market's
interests: what is left are single users, by chance."""
STRAIGHT, OF_SLOPE = 0.95, 0.25
"""What passes for exponential, and for 1/m."""


# --- cost


def cost_statements() -> list[Statement]:
    """Return the slides' two tables of filtering cost, computed by Weir's cost function.

    Rates are powers of ten, so that the digits of a cost say which rates are in it, and how often.
    """
    pair = _cost([(1.0, {1, 2}), (10.0, {2, 3})])
    group = [(1.0, {1, 2, 3}), (10.0, {2, 3}), (100.0, {1, 3, 4})]
    candidate = (1_000.0, {1, 2, 3, 5})
    added = _cost([*group, candidate]) - _cost(group)
    return [
        Statement(
            key="two-topics",
            paper="Two topics with similar audiences in one group cost R1 + R2.",
            measured=f"{pair:g} = R1 + R2 with R1 = 1, R2 = 10",
            holds=pair == 1.0 + 10.0,
        ),
        Statement(
            key="candidate",
            paper="Adding topic 5 to group {1, 2, 3} costs R1 + R2 + R3 + R5.",
            measured=f"{added:,g} with rates of 1, 10, 100 and 1,000",
            holds=added == 1.0 + 10.0 + 100.0 + 1_000.0,
        ),
    ]


def _cost(topics: Sequence[tuple[float, set[int]]]) -> float:
    """Return the messages that users drop when all these topics are in one stream."""
    audiences = [sorted(audience) for _, audience in topics]
    problem = MappingProblem(
        flows=tuple(f"t{at}" for at in range(len(topics))),
        rates_per_s=np.array([rate for rate, _ in topics]),
        users=tuple(f"u{at}" for at in range(7)),
        interests=Interests(
            starts=np.cumsum([0, *map(len, audiences)]),
            users=np.array([user for each in audiences for user in each], dtype=np.int32),
            user_count=7,
        ),
        max_streams=1,
        max_groups=1,
        weights=Weights(transport=0.0, messaging=1.0, aggregation=1.0),
        pinned_stream=np.full(len(topics), NOWHERE),
        pinned_group=np.full(1, NOWHERE),
    )
    together = np.zeros(len(topics), dtype=np.int64)
    return cost_of(problem, FlowMap(stream_of=together, group_of=np.zeros(1, dtype=np.int64)))


# --- load


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadFigures:
    """What can be counted of one market load."""

    shape: str
    seed: int
    topics_of_users: NDArray[np.int64]
    audiences: NDArray[np.int64]
    wanted: int
    """Topics that somebody wants."""
    fan_out: float
    """Receivers of a message on average, over topics that somebody wants."""
    fan_out_of_all: float
    """The same over all topics that are published."""
    popularity: Sequence[NDArray[np.float64]]
    """Average users of a topic over runs of ranks, by market."""
    straight: tuple[float, float]
    """Part of the variation of log popularity, and of log rate, that a straight line over the rank
    explains in the largest market: how exponential they are."""
    slope: float
    """Of log average popularity over log m: -1 where it goes as 1/m."""
    without_calibration: tuple[float, float]
    """Fan-out where popularity hardly falls, and where it falls fast."""


def figures(effort: Effort) -> list[LoadFigures]:
    """Return figures of each load that is mapped."""
    return [_figures(effort.base, shape, seed) for shape in effort.shapes for seed in effort.seeds]


def _figures(base: MarketShape, shape: str, seed: int) -> LoadFigures:
    problem = load(base, shape, seed)
    audiences = problem.interests.audiences
    names = [name.split("/") for name in problem.flows]
    market = np.array([int(name[0][1:]) for name in names])
    rank = np.array([int(name[1]) for name in names])
    by_rank = [np.flatnonzero(market == m) for m in range(1, int(market.max()) + 1)]
    by_rank = [here[np.argsort(rank[here])] for here in by_rank]
    popularity = [_binned(audiences[here].astype(float)) for here in by_rank]
    averages = np.array([audiences[here].mean() for here in by_rank])
    changed = replace(base, **SHAPES[shape])
    ends = [
        fan_out(market_load(seed, replace(changed, concentration=each))) for each in (LOOSE, TIGHT)
    ]
    return LoadFigures(
        shape=shape,
        seed=seed,
        topics_of_users=np.diff(problem.interests.by_user[0]),
        audiences=audiences,
        wanted=int(np.count_nonzero(audiences)),
        fan_out=fan_out(problem),
        fan_out_of_all=float(problem.rates_per_s @ audiences / problem.rates_per_s.sum()),
        popularity=popularity,
        straight=(
            _straight(np.log(popularity[0])),
            _straight(np.log(np.sort(problem.rates_per_s[by_rank[0]])[::-1])),
        ),
        slope=float(np.polyfit(np.log(np.arange(1, len(averages) + 1)), np.log(averages), 1)[0]),
        without_calibration=(min(ends), max(ends)),
    )


def _binned(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return averages over runs of ranks."""
    many = int(np.searchsorted(np.cumsum(values), OF_INTERESTS * values.sum())) + 1
    return np.array([run.mean() for run in np.array_split(values[:many], min(BINS, many))])


def _straight(values: NDArray[np.float64]) -> float:
    return float(np.corrcoef(np.arange(len(values)), values)[0, 1] ** 2)


def load_statements(loads: Sequence[LoadFigures]) -> list[Statement]:
    """Return what the slides count of their load beside ours."""
    topics = {len(each.audiences) for each in loads}
    users = {len(each.topics_of_users) for each in loads}
    least = {int(each.topics_of_users.min()) for each in loads}
    most = {int(each.topics_of_users.max()) for each in loads}
    means = [float(each.topics_of_users.mean()) for each in loads]
    # The load with another reading of the fan-out is there to be mapped, not to agree.
    own = [each for each in loads if "fan_out" not in SHAPES[each.shape]]
    copies = [each.fan_out for each in own]
    of_all = [each.fan_out_of_all for each in loads]
    low = min(each.without_calibration[0] for each in own)
    high = max(each.without_calibration[1] for each in own)
    return [
        Statement(
            key="topics",
            paper="20K topics, 500 subscribers.",
            measured=f"{span(topics, 0)} topics, {span(users, 0)} users: taken; "
            f"{span([each.wanted for each in loads], 0)} topics are wanted by somebody",
            holds=topics == {20_000} and users == {500},
        ),
        Statement(
            key="mean",
            paper="Avg. ~70 topics / user.",
            measured=f"{span(means, 1)}: taken",
            holds=all(round(mean) == round(SLIDES.mean) for mean in means),
        ),
        Statement(
            key="range",
            paper="Min 15, max 115 topics / user.",
            measured=f"{span(least, 0)} and {span(most, 0)}: the range is taken",
            holds=least == {15} and most == {115},
        ),
        Statement(
            key="fan-out",
            paper="Avg. message fan-out ~10.1 clients.",
            measured=f"{span(copies, 1)} over topics that somebody wants, by fitting how fast "
            f"popularity falls; without the fit {low:.1f} to {high:.1f}. Over all published topics "
            f"{span([each.fan_out_of_all for each in own], 1)}",
            holds=all(round(each, 1) == SLIDES.fan_out for each in copies),
        ),
        Statement(
            key="unicast",
            paper="Unicast transmitter data rate is x10 of multicast.",
            measured=f"{span([*copies, *of_all], 1)} copies of a message: it is the fan-out",
            holds=all(round(each) in (9, 10, 11) for each in [*copies, *of_all]),
        ),
        Statement(
            key="exponential",
            paper="Within each market, symbol popularity and rate are exponentially distributed.",
            measured="in the largest market a straight line over the rank explains "
            f"{span([100 * each.straight[0] for each in own], 1)} % of log popularity and "
            f"{span([100 * each.straight[1] for each in own], 1)} % of log rate: the model is "
            "taken",
            holds=all(min(each.straight) >= STRAIGHT for each in own),
        ),
        Statement(
            key="markets",
            paper="Several markets, with avg. popularity and size prop. ~1/m (assumption).",
            measured="sizes are taken so; average popularity goes as m to the "
            f"{span([each.slope for each in own])}",
            holds=all(abs(each.slope + 1.0) <= OF_SLOPE for each in own),
        ),
    ]
