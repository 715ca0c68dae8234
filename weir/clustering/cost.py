"""What a map costs its users, in work per second, exactly.

With a = transport / aggregation, b = messaging, R_s and A_s the rate and the audience of a stream,
R_g and J_g those of a group, r_i and A_i those of a flow:

    transport = a (sum_g R_g |J_g| - sum_s R_s |A_s|)      dropped streams of joined groups
    messaging = b (sum_s R_s |A_s| - sum_i r_i |A_i|)      unwanted messages of wanted streams

Each sum is one of a flow's rate times a whole number, so each is known exactly, and every cost here
is the double nearest to the exact one (rates and weights are taken as the doubles that they are).
`random_filtering` alone has powers in it and is exact to a relative 1e-12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from weir.model.mapping import NOWHERE, FlowMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from weir.model.mapping import MappingProblem

DOUBLE_BITS = 53
ROUNDING = 1e-12
"""Relative error that a price in doubles surely stays below; it has some twenty operations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteringCost:
    """What users receive and did not ask for, by layer: work per second, and messages per
    second."""

    transport: float
    messaging: float
    total: float
    unwanted_per_s: float
    """Messages of streams that they take, which cost them `messaging`."""
    dropped_per_s: float
    """Messages of streams that they drop whole, which cost them `transport`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinPrices:
    """What the best single move of what is pinned would save, in work per second."""

    flows: Mapping[int, float]
    """By pinned flow."""
    streams: Mapping[int, float]
    """By pinned stream."""


def filtering_cost(
    problem: MappingProblem, stream_of: NDArray[np.int64], group_of: NDArray[np.int64]
) -> FilteringCost:
    """Return what a map costs; flows that it does not map cost nothing.

    Every mapped flow is in a stream with a group. Cost: sorting the interests.
    """
    reach = _Reach.of(problem, stream_of, group_of)
    user_count = problem.interests.user_count
    of_streams = np.bincount(reach.streams // user_count, minlength=problem.max_streams)
    of_groups = np.bincount(reach.groups // user_count, minlength=problem.max_groups)
    mapped = np.flatnonzero(stream_of != NOWHERE)
    streams = stream_of[mapped]
    rates_per_s = problem.rates_per_s[mapped]
    of_stream, of_group = of_streams[streams], of_groups[group_of[streams]]
    transport, messaging = _layer_weights(problem)
    dropped_per_s = exact_dot(rates_per_s, of_group - of_stream)
    unwanted_per_s = exact_dot(rates_per_s, of_stream - problem.interests.audiences[mapped])
    transport *= dropped_per_s
    messaging *= unwanted_per_s
    return FilteringCost(
        transport=float(transport),
        messaging=float(messaging),
        total=float(transport + messaging),
        unwanted_per_s=float(unwanted_per_s),
        dropped_per_s=float(dropped_per_s),
    )


def random_cost(problem: MappingProblem) -> float:
    """Return the total of `random_filtering`."""
    return random_filtering(problem).total


def random_filtering(problem: MappingProblem) -> FilteringCost:
    """Return what to expect when every wanted flow goes to any stream with the same chance.

    Stream s lies in group s mod `max_groups`; pins do not count. A user with k flows wants
    something of the stream of a flow that it does not want with probability 1 - (1 - 1/S)^k, and
    has joined its group with sum_g p_g (1 - (1 - p_g)^k), where p_g is the group's part of all S
    streams. So only the rates that users with k flows do not want are needed. Exact to a relative
    1e-12.
    """
    audiences = problem.interests.audiences
    wanted = np.bincount(problem.interests.users, minlength=problem.interests.user_count)
    counts, users_of = np.unique(wanted, return_inverse=True)
    flows = np.repeat(np.arange(len(audiences)), audiences)
    own, exponent = exact_sums(
        problem.rates_per_s[flows],
        np.ones(len(flows), dtype=np.int64),
        users_of.reshape(-1)[problem.interests.users],
        len(counts),
    )
    every = exact_dot(problem.rates_per_s, (audiences > 0).astype(np.int64))
    users = np.bincount(users_of.reshape(-1), minlength=len(counts)).tolist()
    dropped, unwanted = [], []
    for k, many, rate in zip(counts.tolist(), users, own, strict=True):
        if k:
            others_per_s = float(many * every - rate * Fraction(2) ** exponent)
            transport, messaging = _chances(k, problem.max_streams, problem.max_groups)
            dropped.append(transport * others_per_s)
            unwanted.append(messaging * others_per_s)
    dropped_per_s, unwanted_per_s = math.fsum(dropped), math.fsum(unwanted)
    at_transport = problem.weights.packet_share * dropped_per_s
    at_messaging = problem.weights.messaging * unwanted_per_s
    return FilteringCost(
        transport=at_transport,
        messaging=at_messaging,
        total=at_transport + at_messaging,
        unwanted_per_s=unwanted_per_s,
        dropped_per_s=dropped_per_s,
    )


def moved(problem: MappingProblem, flow_map: FlowMap) -> int:
    """Return how many flows, mapped before and now, are in another stream than before."""
    former = problem.former
    return 0 if former is None else _differ(former.stream_of, flow_map.stream_of)


def moved_streams(problem: MappingProblem, flow_map: FlowMap) -> int:
    """Return how many streams, used before and now, are in another group than before."""
    former = problem.former
    return 0 if former is None else _differ(former.group_of, flow_map.group_of)


def map_in_force(problem: MappingProblem) -> FlowMap | None:
    """Return the former map as far as it carries anything; None where there is none.

    A flow whose stream lies in no group reaches nobody, so it has no stream here. A flow that
    nobody wants any more is still sent, so it is here.
    """
    former = problem.former
    if former is None:
        return None
    stream_of = former.stream_of.copy()
    stream_of[former.group_of[stream_of] == NOWHERE] = NOWHERE
    used = np.zeros(problem.max_streams, dtype=np.bool_)
    used[stream_of[stream_of != NOWHERE]] = True
    return FlowMap(stream_of=stream_of, group_of=np.where(used, former.group_of, NOWHERE))


def pin_prices(problem: MappingProblem, flow_map: FlowMap) -> PinPrices:
    """Return what each pin costs: what the best move of its flow or stream alone would save.

    Everything else stays as it is. A flow may move to a stream that is free now, in any group that
    the stream may lie in. A price is never below 0, and 0 for what nobody wants. Cost: for each
    pin, the streams of its users and as many operations as there are streams.
    """
    flows = np.flatnonzero(problem.pinned_stream != NOWHERE).tolist()
    streams = np.flatnonzero(problem.pinned_group != NOWHERE).tolist()
    if not flows and not streams:
        return PinPrices(flows={}, streams={})
    moves = _SingleMoves(problem, flow_map)
    return PinPrices(
        flows={flow: moves.saving_of_flow(flow) for flow in flows},
        streams={stream: moves.saving_of_stream(stream) for stream in streams},
    )


def exact_dot(values: NDArray[np.float64], counts: NDArray[np.int64]) -> Fraction:
    """Return the sum of values times counts, exactly; neither holds anything negative."""
    sums, exponent = exact_sums(values, counts, np.zeros(len(values), dtype=np.int64), 1)
    return sums[0] * Fraction(2) ** exponent


def exact_sums(
    values: NDArray[np.float64], counts: NDArray[np.int64], labels: NDArray[np.int64], many: int
) -> tuple[list[int], int]:
    """Return the sum of values times counts by label, as whole numbers, and the power of two that
    all of them are multiples of: the same for the same values.

    Doubles with the same exponent are whole multiples of the same number. Those multiples are cut
    into pieces so short that the sums of products are exact in doubles.
    """
    sums = [0] * many
    if not len(values):
        return sums, 0
    heads, exponents = np.frexp(values)
    whole = np.ldexp(heads, DOUBLE_BITS).astype(np.int64)
    least = int(exponents.min())
    span = int(exponents.max()) - least + 1
    bins = labels * span + (exponents - least)
    width = max(1, DOUBLE_BITS - int(counts.sum()).bit_length())
    for shift in range(0, DOUBLE_BITS, width):
        pieces = (whole >> shift) & ((1 << width) - 1)
        parts = np.bincount(bins, weights=pieces * counts)
        filled = np.flatnonzero(parts)
        for at, part in zip(filled.tolist(), parts[filled].tolist(), strict=True):
            label, power = divmod(at, span)
            sums[label] += int(part) << (power + shift)
    return sums, least - DOUBLE_BITS


def whole_weights(problem: MappingProblem) -> tuple[int, int, Fraction]:
    """Return the work for a message at the transport and at the messaging layer as whole multiples
    of one number, and that number: then all that is compared exactly is whole."""
    transport, messaging = _layer_weights(problem)
    unit = Fraction(1, math.lcm(transport.denominator, messaging.denominator))
    return int(transport / unit), int(messaging / unit), unit


def _layer_weights(problem: MappingProblem) -> tuple[Fraction, Fraction]:
    """Return the work for one message at the transport and at the messaging layer."""
    weights = problem.weights
    transport = Fraction(weights.transport) / Fraction(weights.aggregation)
    return transport, Fraction(weights.messaging)


def _differ(former: NDArray[np.int64], now: NDArray[np.int64]) -> int:
    both = (former != NOWHERE) & (now != NOWHERE)
    return int(np.count_nonzero(both & (former != now)))


def _chances(k: int, max_streams: int, max_groups: int) -> tuple[float, float]:
    """Return how likely a user with k flows filters a message of another flow at the transport,
    and at the messaging layer."""
    if max_streams == 1:
        return 0.0, 1.0
    apart = k * math.log1p(-1.0 / max_streams)  # log of (1 - 1/S)^k
    transport = 0.0
    fewest, larger = divmod(max_streams, max_groups)
    for groups, streams in ((larger, fewest + 1), (max_groups - larger, fewest)):
        if groups and streams:
            # (1 - 1/S)^k - (1 - p)^k for p = streams / S, without taking like from like.
            others = streams - 1
            fall = math.log1p(-others / (max_streams - 1)) if streams < max_streams else -math.inf
            chance = -math.exp(apart) * math.expm1(k * fall)
            transport += groups * streams / max_streams * chance
    return transport, -math.expm1(apart)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reach:
    """Who wants something of which stream and of which group, and how many flows of it."""

    streams: NDArray[np.int64]
    """Stream times the number of users plus user, rising."""
    stream_flows: NDArray[np.int64]
    """How many flows of the stream the user wants."""
    groups: NDArray[np.int64]
    group_flows: NDArray[np.int64]

    @classmethod
    def of(
        cls, problem: MappingProblem, stream_of: NDArray[np.int64], group_of: NDArray[np.int64]
    ) -> _Reach:
        """Return the reach of a map."""
        users = problem.interests.user_count
        pairs = np.repeat(stream_of, problem.interests.audiences) * users + problem.interests.users
        pairs = pairs[pairs >= 0]  # NOWHERE is -1, and a user less than their number
        pairs.sort()
        streams, stream_flows = _summed(pairs, np.ones(len(pairs), dtype=np.int64))
        stream, user = np.divmod(streams, users)
        keys = group_of[stream] * users + user
        order = np.argsort(keys, kind="stable")
        groups, group_flows = _summed(keys[order], stream_flows[order])
        return cls(
            streams=streams, stream_flows=stream_flows, groups=groups, group_flows=group_flows
        )


def _summed(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each of the rising keys once, with the sum of its counts."""
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(counts, first)


class _Clusters:
    """Streams, or groups, that are in use, and behind them an empty one.

    Coming into a cluster with rate R and audience A, a flow or a stream with rate r and audience a
    adds R |a \\ A| + r |A u a| to the sum of rates times audiences.
    """

    def __init__(
        self,
        numbers: NDArray[np.int64],
        rates: list[int],
        exponent: int,
        keys: NDArray[np.int64],
        flows: NDArray[np.int64],
        users: int,
    ) -> None:
        """Take numbers and rates of those in use, with who wants how many flows of which."""
        self._exponent = exponent
        self._keys, self._flows, self._users = keys, flows, users
        self._numbers = numbers
        cluster, user = np.divmod(keys, users)
        cluster = np.searchsorted(numbers, cluster)
        order = np.argsort(user, kind="stable")
        self._of_user = cluster[order]
        self._starts = np.searchsorted(user[order], np.arange(users + 1)).tolist()
        self.rates = [*rates, 0]
        self.audiences = np.bincount(cluster, minlength=len(rates) + 1)
        self._doubles = np.array([self._double(rate) for rate in self.rates])

    def _double(self, rate: int) -> float:
        return math.ldexp(float(rate), self._exponent)

    def place(self, number: int) -> int:
        """Return where a stream or group stands here."""
        return int(np.searchsorted(self._numbers, number))

    def audience(self, at: int) -> NDArray[np.int64]:
        """Return the users of a cluster, rising."""
        begin = int(self._numbers[at]) * self._users
        first, last = np.searchsorted(self._keys, [begin, begin + self._users])
        users: NDArray[np.int64] = self._keys[first:last] - begin
        return users

    def flows(self, at: int, users: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many flows of a cluster each of these users wants, all at least one."""
        keys = int(self._numbers[at]) * self._users + users
        flows: NDArray[np.int64] = self._flows[np.searchsorted(self._keys, keys)]
        return flows

    def shared(self, users: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of these users are in the audience of each cluster."""
        parts = [self._of_user[self._starts[u] : self._starts[u + 1]] for u in users.tolist()]
        counts: NDArray[np.int64] = np.bincount(np.concatenate(parts), minlength=len(self.rates))
        return counts

    def take(self, at: int, rate: int, alone: int) -> None:
        """Take out a rate and the users who want nothing else of the cluster, or put them back
        where both are negative."""
        self.rates[at] -= rate
        self.audiences[at] -= alone
        self._doubles[at] = self._double(self.rates[at])

    def added(self, rate: int, users: int, shared: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return in doubles what something adds to the sum in each cluster."""
        new = users - shared
        added: NDArray[np.float64] = self._doubles * new
        added += self._double(rate) * (self.audiences + new)
        return added

    def added_exactly(self, at: int, rate: int, users: int, shared: NDArray[np.int64]) -> int:
        """Return what something adds to the sum in one cluster."""
        new = users - int(shared[at])
        return self.rates[at] * new + rate * (int(self.audiences[at]) + new)


class _SingleMoves:
    """The savings of moving one flow, or one whole stream, out of a map.

    What is moved is taken out first. All targets, among them where it was, are compared in doubles;
    those that come within rounding of the best are computed exactly.
    """

    def __init__(self, problem: MappingProblem, flow_map: FlowMap) -> None:
        """Take the problem and a map that keeps its limits."""
        stream_of, group_of = flow_map.stream_of, flow_map.group_of
        self._problem, self._stream_of, self._group_of = problem, stream_of, group_of
        mapped = np.flatnonzero(stream_of != NOWHERE)
        streams = np.flatnonzero(group_of != NOWHERE)
        groups, group_at = np.unique(group_of[streams], return_inverse=True)
        rates, exponent = exact_sums(
            problem.rates_per_s[mapped],
            np.ones(len(mapped), dtype=np.int64),
            np.searchsorted(streams, stream_of[mapped]),
            len(streams),
        )
        group_rates = [0] * len(groups)
        for at, rate in zip(group_at.tolist(), rates, strict=True):
            group_rates[at] += rate
        reach = _Reach.of(problem, stream_of, group_of)
        users = problem.interests.user_count
        self._streams = _Clusters(
            streams, rates, exponent, reach.streams, reach.stream_flows, users
        )
        self._groups = _Clusters(
            groups, group_rates, exponent, reach.groups, reach.group_flows, users
        )
        self._scale = Fraction(2) ** exponent
        self._transport, self._messaging, self._unit = whole_weights(problem)
        any_group = np.arange(len(groups) + (len(groups) < problem.max_groups))
        self._group_targets = any_group
        """Groups as targets; the empty one stands for all that are not in use."""
        free = problem.pinned_group[group_of == NOWHERE]
        if not np.any(free == NOWHERE):  # each free stream may only lie where it is pinned
            pinned = np.unique(free)
            used = np.isin(pinned, groups)
            any_group = np.unique(np.where(used, np.searchsorted(groups, pinned), len(groups)))
        self._into_streams = np.concatenate(
            [np.arange(len(streams)), np.full(len(any_group), len(streams))]
        )
        self._into_groups = np.concatenate([group_at.reshape(-1), any_group]).astype(np.int64)

    def saving_of_flow(self, flow: int) -> float:
        """Return what the best move of a flow saves, in work per second."""
        stream = int(self._stream_of[flow])
        if stream == NOWHERE:
            return 0.0
        at, group_at = self._places(stream)
        first, last = self._problem.interests.starts[flow : flow + 2]
        users = self._problem.interests.users[first:last].astype(np.int64)
        rate = int(Fraction(float(self._problem.rates_per_s[flow])) / self._scale)
        shared, group_shared = self._streams.shared(users), self._groups.shared(users)
        alone = int(np.count_nonzero(self._streams.flows(at, users) == 1))
        group_alone = int(np.count_nonzero(self._groups.flows(group_at, users) == 1))
        shared[at] -= alone
        group_shared[group_at] -= group_alone
        self._streams.take(at, rate, alone)
        self._groups.take(group_at, rate, group_alone)
        work = self._streams.added(rate, len(users), shared)[self._into_streams]
        group_work = self._groups.added(rate, len(users), group_shared)[self._into_groups]
        weights = self._problem.weights
        a, b = weights.packet_share, weights.messaging
        values = a * group_work + (b - a) * work
        error = ROUNDING * (a * group_work + (a + b) * work)

        def exact(stream_at: int, in_group: int) -> int:
            added = self._streams.added_exactly(stream_at, rate, len(users), shared)
            group_added = self._groups.added_exactly(in_group, rate, len(users), group_shared)
            return self._transport * group_added + (self._messaging - self._transport) * added

        here = exact(at, group_at)
        best = min(
            exact(int(self._into_streams[target]), int(self._into_groups[target]))
            for target in _near_best(values, error)
        )
        self._streams.take(at, -rate, -alone)
        self._groups.take(group_at, -rate, -group_alone)
        return self._price(here - best)

    def saving_of_stream(self, stream: int) -> float:
        """Return what the best move of a whole stream saves, in work per second."""
        if self._group_of[stream] == NOWHERE:
            return 0.0
        at, group_at = self._places(stream)
        rate = self._streams.rates[at]
        users = self._streams.audience(at)
        shared = self._groups.shared(users) if len(users) else np.zeros_like(self._groups.audiences)
        own = self._streams.flows(at, users)
        alone = int(np.count_nonzero(self._groups.flows(group_at, users) == own))
        shared[group_at] -= alone
        self._groups.take(group_at, rate, alone)
        values = self._groups.added(rate, len(users), shared)[self._group_targets]
        error = ROUNDING * values
        here = self._groups.added_exactly(group_at, rate, len(users), shared)
        best = min(
            self._groups.added_exactly(target, rate, len(users), shared)
            for target in _near_best(values, error)
        )
        self._groups.take(group_at, -rate, -alone)
        return self._price(self._transport * (here - best))

    def _places(self, stream: int) -> tuple[int, int]:
        """Return where a stream and its group stand among those in use."""
        return self._streams.place(stream), self._groups.place(int(self._group_of[stream]))

    def _price(self, saving: int) -> float:
        return float(saving * self._unit * self._scale)


def _near_best(values: NDArray[np.float64], error: NDArray[np.float64]) -> list[int]:
    """Return all that may be the least, given how wrong each may be."""
    near: list[int] = np.flatnonzero(values - error <= np.min(values + error)).tolist()
    return near
