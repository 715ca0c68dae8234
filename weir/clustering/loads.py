"""Seeded loads to map: the slides' market model, its drift over a day, a hierarchy of wild cards.

The slides (Tock, Naaman, Harpaz, Gershinsky: Adaptive hierarchical clustering of message flows in a
multicast data dissemination system) give sizes, interests of a user and the mean fan-out; that
popularity and rate are exponential within a market; and that markets go as 1/m. Everything else is
a choice of ours and says so where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from weir.model.mapping import NOWHERE, Interests, MappingProblem, Weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

WEIGHTS = Weights(transport=2.0, messaging=1.0, aggregation=8.0)
"""Ours: the slides estimate these and do not print them."""

LEVELS = 4
"""Of a wild-card load, as in the slides' /*/b/*/d."""

_TIGHTEST, _LOOSEST = 0.005, 20.0
"""Concentrations between which one is searched."""
_PRECISION = 1e-3
"""How near, relatively, the fan-out comes to the wished one."""
_DRAWS = 60
"""Rounds of draws before whoever lacks topics is given the most popular ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketShape:
    """The figures of a market load; the defaults are the slides' up to `fan_out`, then ours."""

    flows: int = 20_000
    users: int = 500
    least: int = 15
    """Topics of the user with fewest."""
    mean: float = 70.0
    """Topics of a user on average."""
    most: int = 115
    """Topics of the user with most."""
    fan_out: float = 10.1
    """Receivers of a message on average, over topics that somebody wants."""
    markets: int = 8
    """Market m has a share of topics, and an average popularity, in proportion to 1/m (slides)."""
    markets_per_user: int = 3
    """Draws of markets for a user, in proportion to popularity: it follows at most so many."""
    noise: float = 0.5
    """How far popular topics are not the busy ones: the standard deviation of the logarithm of the
    factor between a topic's popularity and the weight by which it is ranked for its rate."""
    rate_per_s: float = 100_000.0
    """Messages per second of all topics together."""
    concentration: float | None = None
    """Part of a market's topics over which popularity and rate fall by the factor e; None: the one
    at which the fan-out is the wished one."""


SLIDES = MarketShape()


def market_load(
    seed: int,
    shape: MarketShape = SLIDES,
    *,
    max_streams: int = 1000,
    max_groups: int = 100,
    weights: Weights = WEIGHTS,
) -> MappingProblem:
    """Return the slides' market load; flows are in random order, named market/rank.

    A user's number of topics is as near uniform over its range as the mean allows (ours). It picks
    distinct topics one after another by popularity, in each market that it follows. A market's
    average rate goes with its average popularity (ours; the slides: what is traded is quoted).
    Raises ValueError where no concentration gives the wished fan-out.
    """
    market = _Market(seed, shape)
    concentration = shape.concentration or market.calibrated()
    rates, users, flows = market.drawn(concentration)
    order = np.random.default_rng([seed, 3]).permutation(shape.flows)
    place = np.empty_like(order)
    place[order] = np.arange(shape.flows)
    names = market.names()
    return _problem(
        tuple(names[at] for at in order.tolist()),
        rates[order],
        tuple(f"u{at + 1}" for at in range(shape.users)),
        place[flows],
        users,
        max_streams=max_streams,
        max_groups=max_groups,
        weights=weights,
    )


def concentration_of(seed: int, shape: MarketShape = SLIDES) -> float:
    """Return the concentration at which this load has the wished fan-out."""
    return _Market(seed, shape).calibrated()


def large_load(
    seed: int,
    flows: int = 1_000_000,
    users: int = 10_000,
    interests_per_user: int = 350,
    *,
    max_streams: int = 10_000,
    max_groups: int = 1000,
) -> MappingProblem:
    """Return a market load of this size, as concentrated as the slides' one with the same seed.

    The range of interests is the slides' in proportion to their mean; the fan-out is what results.
    """
    scale = interests_per_user / SLIDES.mean
    shape = replace(
        SLIDES,
        flows=flows,
        users=users,
        least=max(round(SLIDES.least * scale), 1),
        mean=float(interests_per_user),
        most=round(SLIDES.most * scale),
        concentration=concentration_of(seed),
    )
    return market_load(seed, shape, max_streams=max_streams, max_groups=max_groups)


def fan_out(problem: MappingProblem) -> float:
    """Return the receivers of a message on average, over flows that somebody wants."""
    audiences = problem.interests.audiences
    wanted = problem.rates_per_s[audiences > 0]
    return float(problem.rates_per_s @ audiences / wanted.sum()) if len(wanted) else 0.0


class _Market:
    """The random choices of a market load that do not depend on how concentrated it is."""

    def __init__(self, seed: int, shape: MarketShape) -> None:
        self.seed, self.shape = seed, shape
        share = 1.0 / np.arange(1, shape.markets + 1)
        ends = np.round(np.cumsum(share) / share.sum() * shape.flows).astype(np.int64)
        self.sizes = np.diff(ends, prepend=0)
        self.firsts = ends - self.sizes
        self.share = share
        self.needs = self._needs(np.random.default_rng([seed, 1]))
        self.noise = np.random.default_rng([seed, 2]).normal(size=shape.flows) * shape.noise

    def names(self) -> list[str]:
        """Return market and rank of every topic, by market and rank."""
        return [
            f"m{market + 1}/{rank:0{len(str(self.shape.flows))}}"
            for market, size in enumerate(self.sizes.tolist())
            for rank in range(size)
        ]

    def _needs(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how many topics each user picks in each market."""
        shape = self.shape
        lower = (shape.mean - shape.least) / max(shape.most - shape.least, 1)
        quantiles = (np.arange(shape.users) + 0.5) / shape.users
        spread = betaincinv(2 * lower, 2 * (1 - lower), quantiles) if 0 < lower < 1 else lower
        whole = np.round(shape.least + (shape.most - shape.least) * spread).astype(np.int64)
        whole = rng.permutation(np.broadcast_to(whole, shape.users))
        slots, demand = shape.markets_per_user, self.share * self.share
        followed = rng.choice(shape.markets, size=(shape.users, slots), p=demand / demand.sum())
        each = whole[:, None] // slots + (np.arange(slots) < whole[:, None] % slots)
        needs = np.zeros((shape.users, shape.markets), dtype=np.int64)
        np.add.at(needs, (np.arange(shape.users)[:, None], followed), each)
        # What a small market lacks is picked in the others, the largest first.
        for _ in range(2):
            excess = np.maximum(needs - self.sizes, 0)
            needs -= excess
            left = excess.sum(axis=1)
            for market in range(shape.markets):
                more = np.minimum(left, self.sizes[market] - needs[:, market])
                needs[:, market] += more
                left -= more
        return needs

    def rates(self, concentration: float) -> NDArray[np.float64]:
        """Return messages per second by market and rank."""
        rates: NDArray[np.float64] = np.empty(self.shape.flows)
        for share, first, size in zip(self.share, self.firsts, self.sizes, strict=True):
            fall = np.arange(size) / (concentration * size)
            busy = np.argsort(fall - self.noise[first : first + size], kind="stable")
            values = np.exp(-fall)
            rates[first + busy] = values * (share * size / values.sum())
        rates *= self.shape.rate_per_s / rates.sum()
        return rates

    def drawn(
        self, concentration: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return rates by flow, and user and flow of every interest.

        Draws with replacement whose repetitions are dropped are draws without one. Weights that
        fall geometrically are drawn by the inverse of their distribution, whatever their number.
        """
        rng = np.random.default_rng([self.seed, 4])
        markets, flows = self.shape.markets, self.shape.flows
        lacking = self.needs.ravel().copy()
        scale = concentration * self.sizes
        part = -np.expm1(-1.0 / concentration)
        picked: list[NDArray[np.int64]] = []
        taken = np.empty(0, dtype=np.int64)
        for _ in range(_DRAWS):
            pairs = np.repeat(np.arange(len(lacking)), lacking)
            if not len(pairs):
                break
            market = pairs % markets
            ranks = (-scale[market] * np.log1p(-part * rng.random(len(pairs)))).astype(np.int64)
            ranks = np.minimum(ranks, self.sizes[market] - 1)
            taken = np.union1d(taken, pairs * flows + ranks)
            owner = taken // flows
            lacking = np.where(
                lacking > 0,
                self.needs.ravel() - np.bincount(owner, minlength=len(lacking)),
                0,
            )
            finished = lacking[owner] == 0
            picked.append(taken[finished])
            taken = taken[~finished]
        picked.append(taken)
        for pair in np.flatnonzero(lacking):
            own = taken[taken // flows == pair] % flows
            rest = np.setdiff1d(np.arange(self.sizes[pair % markets]), own)
            picked.append(pair * flows + rest[: lacking[pair]])
        keys = np.concatenate(picked)
        pairs = keys // flows
        chosen = self.firsts[pairs % markets] + keys % flows
        return self.rates(concentration), pairs // markets, chosen

    def calibrated(self) -> float:
        """Return the concentration with the wished fan-out, by bisection of its logarithm."""

        def reached(concentration: float) -> float:
            rates, _, flows = self.drawn(concentration)
            audiences = np.bincount(flows, minlength=len(rates))
            return float(rates @ audiences / rates[audiences > 0].sum())

        low, high, wished = np.log(_TIGHTEST), np.log(_LOOSEST), self.shape.fan_out
        most, least = reached(_TIGHTEST), reached(_LOOSEST)
        if not least <= wished <= most:
            raise ValueError(f"fan-out {wished:g} is not between {least:.3g} and {most:.3g}")
        middle = (low + high) / 2
        for _ in range(50):
            middle = (low + high) / 2
            now = reached(float(np.exp(middle)))
            if abs(now - wished) <= _PRECISION * wished:
                break
            low, high = (middle, high) if now > wished else (low, middle)
        return float(np.exp(middle))


def _interests(
    flows: NDArray[np.int64], users: NDArray[np.int64], flow_count: int, user_count: int
) -> Interests:
    """Return interests from distinct pairs in any order."""
    keys = np.sort(flows * user_count + users)
    counts = np.bincount(flows, minlength=flow_count)
    return Interests(
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        users=(keys % user_count).astype(np.int32),
        user_count=user_count,
    )


def _problem(
    names: tuple[str, ...],
    rates: NDArray[np.float64],
    user_names: tuple[str, ...],
    flows: NDArray[np.int64],
    users: NDArray[np.int64],
    *,
    max_streams: int,
    max_groups: int,
    weights: Weights,
) -> MappingProblem:
    return MappingProblem(
        flows=names,
        rates_per_s=rates,
        users=user_names,
        interests=_interests(flows, users, len(names), len(user_names)),
        max_streams=max_streams,
        max_groups=max_groups,
        weights=weights,
        pinned_stream=np.full(len(names), NOWHERE, dtype=np.int64),
        pinned_group=np.full(max_streams, NOWHERE, dtype=np.int64),
    )


# --- drift


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How interests and rates change; the slides name the causes, the amounts are ours."""

    between: float = 0.2
    """Part of the new interests that is drawn over all markets; the others come from a user with
    whom an interest is shared, which is mostly one of the same markets."""
    hot: float = 0.001
    """Part of the flows that a world event makes hot when all interests change; less in
    proportion."""
    heat: float = 10.0
    """Factor on the rate of a hot flow."""
    hot_interests: float = 0.1
    """Part of the new interests that goes to hot flows."""
    market_rates: float = 2.0
    """Standard deviation of the logarithm of a market's factor when all interests change: trading
    hours."""
    flow_rates: float = 1.0
    """The same of each flow's own factor."""
    night: float = 0.1
    """A market's rate while it is closed, relative to its busiest hour."""
    open_hours: float = 8.0
    """Trading hours of a market in a day."""


DRIFT = Drift()


def drifted(
    problem: MappingProblem, share: float, seed: int, drift: Drift = DRIFT
) -> MappingProblem:
    """Return the load after `share` of its interests changed, and rates with them.

    Every user drops as many as it takes; the total rate stays. A flow's market is its name up to
    the first slash. `former` stays as it is given.
    """
    rng = np.random.default_rng([seed, 11])
    hot = _hot(problem, share * drift.hot, rng)
    interests = _changed(problem, share, hot, rng, drift)
    markets = _markets(problem)
    factor = rng.normal(size=int(markets.max(initial=-1)) + 1) * (drift.market_rates * share)
    own = rng.normal(size=len(problem.flows)) * (drift.flow_rates * share)
    rates = problem.rates_per_s * np.exp(factor[markets] + own)
    rates[hot] *= drift.heat
    if rates.sum() > 0:
        rates *= problem.rates_per_s.sum() / rates.sum()
    return replace(problem, interests=interests, rates_per_s=rates)


def day(
    problem: MappingProblem,
    hours: int,
    seed: int,
    *,
    hourly: float = 0.02,
    drift: Drift = DRIFT,
) -> Iterator[MappingProblem]:
    """Yield the load at each of these hours, from hour 0 on, which has the interests given.

    In each hour the part `hourly` of the interests changes. Markets trade for some hours, opening
    one after another around the clock; outside of them little is quoted. An event makes flows hot,
    and each hour half of that heat is gone. The total rate follows the hour.
    """
    rng = np.random.default_rng([seed, 12])
    markets = _markets(problem)
    count = int(markets.max(initial=-1)) + 1
    opening = np.arange(count) * 24.0 / max(count, 1)
    heat = np.ones(len(problem.flows))
    now = problem
    for hour in range(hours):
        if hour:
            hot = _hot(now, drift.hot * hourly, rng)
            heat = 1.0 + (heat - 1.0) / 2.0
            heat[hot] = drift.heat
            now = replace(now, interests=_changed(now, hourly, hot, rng, drift))
        since = (hour - opening) % 24.0
        trading = np.sin(np.pi * np.minimum(since / drift.open_hours, 1.0))
        curve = drift.night + (1.0 - drift.night) * trading
        yield replace(now, rates_per_s=problem.rates_per_s * curve[markets] * heat)


def _markets(problem: MappingProblem) -> NDArray[np.int64]:
    """Return each flow's market, the part of its name up to the first slash, as a number."""
    firsts = [name.lstrip("/").split("/", 1)[0] for name in problem.flows]
    numbers = {name: at for at, name in enumerate(sorted(set(firsts)))}
    return np.fromiter((numbers[name] for name in firsts), np.int64, len(firsts))


def _hot(problem: MappingProblem, part: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return distinct flows that become hot: this part, at least one where the part is above 0."""
    count = len(problem.flows)
    some = min(max(round(part * count), 1), count) if part > 0 else 0
    return rng.choice(count, size=some, replace=False).astype(np.int64)


def _changed(
    problem: MappingProblem,
    share: float,
    hot: NDArray[np.int64],
    rng: np.random.Generator,
    drift: Drift,
) -> Interests:
    """Return interests of which this share is new; each user has as many as before."""
    interests, flow_count = problem.interests, len(problem.flows)
    users = interests.users.astype(np.int64)
    flows = np.repeat(np.arange(flow_count), interests.audiences)
    starts, wanted = interests.by_user
    room = flow_count - np.diff(starts)
    drops = rng.permutation(len(users))[: round(share * len(users))]
    # A user that wants nearly everything has less to take than others have.
    order = drops[np.argsort(users[drops], kind="stable")]
    own = users[order]
    nth = np.arange(len(own)) - np.searchsorted(own, own)
    drops = order[nth < room[own]]
    who = users[drops]
    kept = np.ones(len(users), dtype=bool)
    kept[drops] = False
    before = np.sort(users * flow_count + flows)
    new = np.empty(0, dtype=np.int64)
    lacking = np.bincount(who, minlength=interests.user_count)
    for attempt in range(_DRAWS):
        takers = np.repeat(np.arange(interests.user_count), lacking)
        if not len(takers):
            break
        if attempt < _DRAWS // 2:
            first = wanted[_within(starts, takers, rng)].astype(np.int64)
            peer = interests.users[_within(interests.starts, first, rng)].astype(np.int64)
            picks = wanted[_within(starts, peer, rng)].astype(np.int64)
            anywhere = rng.random(len(takers)) < drift.between
            picks[anywhere] = flows[rng.integers(0, len(flows), int(anywhere.sum()))]
            if len(hot):
                heated = rng.random(len(takers)) < drift.hot_interests
                picks[heated] = hot[rng.integers(0, len(hot), int(heated.sum()))]
        else:
            picks = rng.integers(0, flow_count, len(takers))
        keys = np.unique(takers * flow_count + picks)
        known = before[np.minimum(np.searchsorted(before, keys), len(before) - 1)] == keys
        new = np.union1d(new, keys[~known])
        lacking = np.bincount(who, minlength=interests.user_count) - np.bincount(
            new // flow_count, minlength=interests.user_count
        )
    for user in np.flatnonzero(lacking):
        rest = np.setdiff1d(np.arange(flow_count), wanted[starts[user] : starts[user + 1]])
        rest = rest[~np.isin(user * flow_count + rest, new)]
        new = np.union1d(new, user * flow_count + rng.permutation(rest)[: lacking[user]])
    keys = np.concatenate([(users * flow_count + flows)[kept], new])
    return _interests(keys % flow_count, keys // flow_count, flow_count, interests.user_count)


def _within(
    starts: NDArray[np.int64], rows: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a uniform place within each of these rows, none of which is empty."""
    low, high = starts[rows], starts[rows + 1]
    return low + (rng.random(len(rows)) * (high - low)).astype(np.int64)


# --- wild cards


def wildcard_load(
    seed: int,
    users: int = 10,
    topics_per_user: float = 7.0,
    *,
    breadth: int | None = None,
    max_streams: int = 20,
    max_groups: int = 5,
    weights: Weights = WEIGHTS,
) -> MappingProblem:
    """Return unique, overlapping wild-card subscriptions over a hierarchy of four levels.

    A user is named by its subscription: two levels of names, two of wild cards, in any order (the
    slides' examples). The slides give about 7 topics a user with 10 users. Ours: `breadth` names a
    level, by default enough that half of such subscriptions are in use at most; of all topics so
    many are published that a subscription meets `topics_per_user` on average; equal rates of 100
    messages a second. Raises ValueError where there are fewer subscriptions than users.
    """
    if breadth is None:
        breadth = max(int(np.ceil(np.sqrt(users / 3.0))), 3)
        breadth = max(breadth, int(np.ceil(np.sqrt(topics_per_user))))
    rng = np.random.default_rng([seed, 21])
    named = list(combinations(range(LEVELS), LEVELS // 2))
    patterns = [
        pattern_of(dict(zip(levels, names, strict=True)))
        for levels in named
        for names in product(range(breadth), repeat=LEVELS // 2)
    ]
    if users > len(patterns):
        raise ValueError(f"{breadth} names a level make {len(patterns)} subscriptions, not {users}")
    whole = breadth**LEVELS
    published = min(round(topics_per_user * breadth ** (LEVELS // 2)), whole)
    chosen = np.sort(rng.choice(whole, size=published, replace=False))
    digits = chosen[:, None] // breadth ** np.arange(LEVELS - 1, -1, -1) % breadth
    topics = [pattern_of(dict(enumerate(row))) for row in digits.tolist()]
    subscriptions = [patterns[at] for at in rng.permutation(len(patterns))[:users]]
    met = [matching(subscription, topics) for subscription in subscriptions]
    return _problem(
        tuple(topics),
        np.full(published, 100.0),
        tuple(subscriptions),
        np.concatenate(met) if met else np.empty(0, dtype=np.int64),
        np.repeat(np.arange(users), [len(each) for each in met]),
        max_streams=max_streams,
        max_groups=max_groups,
        weights=weights,
    )


def pattern_of(names: dict[int, int]) -> str:
    """Return the path with these names by level, and wild cards at the other levels."""
    return "".join(
        f"/{chr(ord('a') + level)}{names[level]}" if level in names else "/*"
        for level in range(LEVELS)
    )


def matching(subscription: str, topics: Sequence[str]) -> NDArray[np.int64]:
    """Return which topics a subscription meets: a wild card stands for one name of its level."""
    wished = subscription.split("/")
    split = [topic.split("/") for topic in topics]
    return np.array(
        [
            at
            for at, names in enumerate(split)
            if len(names) == len(wished)
            and all(want in ("*", name) for want, name in zip(wished, names, strict=True))
        ],
        dtype=np.int64,
    )
