"""What each user receives by a map: from which group how much that it wants, is handed although it
does not want it, or drops.

With R_s and R_g the rates of a stream and of a group, and W those of the flows that a user wants in
the group, a user that takes streams T of a group g

    is handed unwanted   sum_{s in T} R_s - W      and drops   R_g - sum_{s in T} R_s

messages per second. These are differences of what may be nearly equal, so all sums are whole
numbers, cut into pieces (`_Pieces`), and each number here is exact to some 1e-15 of itself; nothing
is below 0. Cost: sorting the interests.

Orders of users and groups in which like stands beside like are those of reciprocal averaging: a
group's score is the mean of its users' scores, a user's that of its groups' scores, by what the
user wants of the group.

References
----------
M. O. Hill, *Reciprocal averaging: an eigenvector method of ordination*, J. Ecology 61 (1973),
doi:10.2307/2258931.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from weir.model.mapping import NOWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weir.model.mapping import FlowMap, MappingProblem

    Ints = NDArray[np.int64]
    Doubles = NDArray[np.float64]

PIECE_BITS = 31
"""Of a piece of a whole number: 2^31 of them have a sum below 2^62."""

DOUBLE_BITS = 53

STEPS, LOOK_EVERY, SETTLED = 200, 10, 1e-9
"""Steps of an ordination at most, after how many its residual is looked at, and where it ends."""

ALIKE = 1e-7
"""Scores closer than this part of the largest are those of equals."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reception:
    """What each user receives from each group that it joins: a row for each such pair, by rising
    user, then group."""

    user_count: int
    group_count: int
    users: Ints
    groups: Ints
    taken: Ints
    """How many streams of the group the user takes."""
    wanted_per_s: Doubles
    unwanted_per_s: Doubles
    dropped_per_s: Doubles
    group_streams: Ints
    """How many streams of each group carry something."""
    group_flows: Ints
    group_rates_per_s: Doubles

    @cached_property
    def groups_joined(self) -> Ints:
        """Return how many groups each user joins."""
        return np.bincount(self.users, minlength=self.user_count)

    @cached_property
    def streams_taken(self) -> Ints:
        """Return how many streams each user takes."""
        return self.by_user(self.taken).astype(np.int64)

    def by_user(self, values: Ints | Doubles) -> Doubles:
        """Return the sum of values of the rows for each user."""
        return _sums(self.users, values, self.user_count)

    def by_group(self, values: Ints | Doubles) -> Doubles:
        """Return the sum of values of the rows for each group."""
        return _sums(self.groups, values, self.group_count)

    @cached_property
    def group_users(self) -> Ints:
        """Return how many users join each group."""
        return np.bincount(self.groups, minlength=self.group_count)

    @cached_property
    def orders(self) -> tuple[Ints, Ints]:
        """Return all users, and the groups that are joined, so that like stands beside like.

        What shares nothing, not even over others, stands in blocks, the busiest first. Users who
        want nothing, or nothing that is ever sent, come last.
        """
        return _ordination(self)


def reception(problem: MappingProblem, flow_map: FlowMap) -> Reception:
    """Return what each user receives by a map whose flows are in streams with groups."""
    stream_of, group_of = flow_map.stream_of, flow_map.group_of
    mapped = np.flatnonzero(stream_of != NOWHERE)
    used = np.unique(stream_of[mapped])
    used = used[np.argsort(group_of[used], kind="stable")]  # by group, then stream
    stream_group = group_of[used]
    place = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
    place[used] = np.arange(len(used))
    at_stream = np.full(len(stream_of), NOWHERE, dtype=np.int64)
    at_stream[mapped] = place[stream_of[mapped]]

    audiences, count = problem.interests.audiences, max(len(used), 1)
    each = np.repeat(at_stream, audiences)
    keys = problem.interests.users.astype(np.int64) * count + each
    flows = np.repeat(np.arange(len(stream_of)), audiences)
    if len(mapped) < len(stream_of):
        keys, flows = keys[each != NOWHERE], flows[each != NOWHERE]
    order = np.argsort(keys, kind="stable")
    keys, flows = keys[order], flows[order]
    take_begins = _begins(keys)
    takers, streams = np.divmod(keys[take_begins], count)
    pair_takes = _begins(takers * problem.max_groups + stream_group[streams])
    pair_begins = take_begins[pair_takes]
    users, groups = takers[pair_takes], stream_group[streams[pair_takes]]

    pieces = _Pieces.of(problem.rates_per_s)
    of_stream = pieces.added(at_stream, len(used))
    of_group = of_stream.added(stream_group, problem.max_groups)
    wanted = pieces.runs(flows, pair_begins)
    taken = of_stream.runs(streams, pair_takes)
    return Reception(
        user_count=problem.interests.user_count,
        group_count=problem.max_groups,
        users=users,
        groups=groups,
        taken=np.diff(np.append(pair_takes, len(takers))),
        wanted_per_s=wanted.doubles(),
        unwanted_per_s=taken.less(wanted).doubles(),
        dropped_per_s=of_group.some(groups).less(taken).doubles(),
        group_streams=np.bincount(stream_group, minlength=problem.max_groups),
        group_flows=np.bincount(group_of[stream_of[mapped]], minlength=problem.max_groups),
        group_rates_per_s=of_group.doubles(),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnwantedFlows:
    """Flows that reach a user who does not want them, by their places in the problem."""

    flows: Ints
    dropped: NDArray[np.bool_]
    """Whether the user drops the whole stream; else it is handed the message."""
    costs: Doubles
    """What each costs the user, in work per second."""
    because: Ints
    """The busiest flow that the user wants of that stream, or else of that group."""


def unwanted_flows(problem: MappingProblem, flow_map: FlowMap, user: int) -> UnwantedFlows:
    """Return what reaches one user unwanted, the dearest first, then the busiest."""
    stream_of, group_of = flow_map.stream_of, flow_map.group_of
    interests, rates_per_s = problem.interests, problem.rates_per_s
    places = np.flatnonzero(interests.users == user)
    wanted = np.searchsorted(interests.starts, places, side="right") - 1
    flow_group = np.where(stream_of == NOWHERE, NOWHERE, group_of[stream_of])
    wanted = wanted[stream_of[wanted] != NOWHERE]
    # The busiest is written last, of equals the first by name.
    rising = wanted[np.lexsort((-wanted, rates_per_s[wanted]))]
    stream_reason = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
    group_reason = np.full(problem.max_groups, NOWHERE, dtype=np.int64)
    stream_reason[stream_of[rising]] = rising
    group_reason[flow_group[rising]] = rising

    reaching = flow_group != NOWHERE
    reaching[reaching] = group_reason[flow_group[reaching]] != NOWHERE
    reaching[wanted] = False
    flows = np.flatnonzero(reaching)
    by_stream = stream_reason[stream_of[flows]]
    dropped = by_stream == NOWHERE
    weights = problem.weights
    costs = rates_per_s[flows] * np.where(dropped, weights.packet_share, weights.messaging)
    order = np.lexsort((flows, -rates_per_s[flows], -costs))
    because = np.where(dropped, group_reason[flow_group[flows]], by_stream)
    return UnwantedFlows(
        flows=flows[order], dropped=dropped[order], costs=costs[order], because=because[order]
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeatMatrix:
    """A reception by blocks of users and blocks of groups, both in their orders."""

    users: tuple[Ints, ...]
    groups: tuple[Ints, ...]
    joined: Ints
    """Pairs of a user of the row and a group of the column that it joins."""
    wanted_per_s: Doubles
    unwanted_per_s: Doubles
    dropped_per_s: Doubles


def heat_matrix(of: Reception, *, rows: int, columns: int) -> HeatMatrix:
    """Return at most so many rows of users and columns of groups, equally many in each but the
    last."""
    orders = of.orders
    sizes = [
        max(1, -(-len(order) // most)) for order, most in zip(orders, (rows, columns), strict=True)
    ]
    blocks = [
        tuple(order[begin : begin + size] for begin in range(0, len(order), size))
        for order, size in zip(orders, sizes, strict=True)
    ]
    shape = len(blocks[0]), len(blocks[1])
    row = _ranks(orders[0], of.user_count)[of.users] // sizes[0]
    column = _ranks(orders[1], of.group_count)[of.groups] // sizes[1]
    cells, many = row * shape[1] + column, shape[0] * shape[1]

    def summed(values: Doubles) -> Doubles:
        return _sums(cells, values, many).reshape(shape)

    return HeatMatrix(
        users=blocks[0],
        groups=blocks[1],
        joined=np.bincount(cells, minlength=many).reshape(shape),
        wanted_per_s=summed(of.wanted_per_s),
        unwanted_per_s=summed(of.unwanted_per_s),
        dropped_per_s=summed(of.dropped_per_s),
    )


def _sums(labels: Ints, values: Ints | Doubles, count: int) -> Doubles:
    """Return the sum of values by label."""
    return np.bincount(labels, weights=values, minlength=count).astype(np.float64, copy=False)


def _ranks(order: Ints, count: int) -> Ints:
    ranks = np.full(count, NOWHERE, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _begins(keys: Ints) -> Ints:
    """Return where runs of equal keys begin."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pieces:
    """Numbers that are whole multiples of one power of two, in pieces: row k counts 2^(31 k) of
    it. Sums and differences of them are exact."""

    rows: NDArray[np.int64]
    exponent: int

    @classmethod
    def of(cls, values: Doubles) -> _Pieces:
        """Return doubles that are not negative."""
        heads, exponents = np.frexp(values)
        some = exponents[values > 0.0]
        least = int(some.min()) if len(some) else 0
        span = int(some.max()) - least if len(some) else 0
        whole = np.ldexp(heads, DOUBLE_BITS).astype(np.int64)
        shifts = np.where(values > 0.0, exponents - least, 0)
        mask = (1 << PIECE_BITS) - 1
        rows = []
        for begin in range(0, DOUBLE_BITS + span, PIECE_BITS):
            down = begin - shifts
            low = (whole & mask) << np.clip(-down, 0, PIECE_BITS)
            high = whole >> np.clip(down, 0, DOUBLE_BITS)
            row = np.where(down < 0, low, high) & mask
            rows.append(np.where(down <= -PIECE_BITS, 0, row))
        # Rates are often short numbers: what is zero in all of them is not worth adding up.
        zero = next((at for at, row in enumerate(rows) if row.any()), len(rows) - 1)
        return cls(rows=np.array(rows[zero:]), exponent=least - DOUBLE_BITS + PIECE_BITS * zero)

    def some(self, at: Ints) -> _Pieces:
        """Return the numbers at these places."""
        return _Pieces(rows=self.rows[:, at], exponent=self.exponent)

    def runs(self, at: Ints, begins: Ints) -> _Pieces:
        """Return the sums of the numbers at these places, over runs of them."""
        if not len(begins):
            return self.some(begins)
        rows = [np.add.reduceat(row[at], begins) for row in self.rows]
        return self._carried(np.array(rows))

    def added(self, labels: Ints, count: int) -> _Pieces:
        """Return the sums of the numbers by label; those of NOWHERE are left out."""
        at = np.flatnonzero(labels != NOWHERE)
        at = at[np.argsort(labels[at], kind="stable")]
        begins = _begins(labels[at])
        sums = self.runs(at, begins)
        rows = np.zeros((len(sums.rows), count), dtype=np.int64)
        rows[:, labels[at[begins]]] = sums.rows
        return _Pieces(rows=rows, exponent=self.exponent)

    def less(self, other: _Pieces) -> _Pieces:
        """Return the differences, none of which is negative."""
        rows = self.rows.copy()
        rows[: len(other.rows)] -= other.rows
        return self._carried(rows)

    def doubles(self) -> Doubles:
        """Return the numbers, each to within rounding of itself."""
        total = np.zeros(self.rows.shape[1])
        for at in range(len(self.rows) - 1, -1, -1):
            total += np.ldexp(self.rows[at].astype(np.float64), self.exponent + PIECE_BITS * at)
        return total

    def _carried(self, rows: NDArray[np.int64]) -> _Pieces:
        """Return the numbers with each piece but the last from 0 to 2^31 - 1."""
        for at in range(len(rows) - 1):
            rows[at + 1] += rows[at] >> PIECE_BITS
            rows[at] &= (1 << PIECE_BITS) - 1
        return _Pieces(rows=rows, exponent=self.exponent)


def _ordination(of: Reception) -> tuple[Ints, Ints]:
    """Return the order of users and of groups in use, block by block."""
    largest = of.wanted_per_s.max(initial=0.0)
    weights = of.wanted_per_s / largest if largest else of.wanted_per_s
    sent = np.flatnonzero(weights > 0.0)
    users, groups, weights = of.users[sent], of.groups[sent], weights[sent]
    used = np.unique(of.groups)
    ends = of.user_count + of.group_count
    network = csr_array((np.ones(len(sent)), (users, of.user_count + groups)), shape=(ends, ends))
    label = connected_components(network, directed=False)[1][: of.user_count][users]
    # Blocks by falling weight, then by their first user.
    mass = np.bincount(label, weights=weights, minlength=1)
    blocks, firsts = np.unique(label, return_index=True)
    blocks = blocks[np.lexsort((users[firsts], -mass[blocks]))]
    by_block = np.argsort(label, kind="stable")
    ends_of = np.cumsum(np.bincount(label, minlength=1))
    user_order, group_order = [], []
    for block in blocks.tolist():
        rows = by_block[ends_of[block - 1] if block else 0 : ends_of[block]]
        some_users, user_at = np.unique(users[rows], return_inverse=True)
        some_groups, group_at = np.unique(groups[rows], return_inverse=True)
        scores = _scores(weights[rows], user_at, group_at)
        user_order.append(some_users[np.argsort(scores[0], kind="stable")])
        group_order.append(some_groups[np.argsort(scores[1], kind="stable")])
    silent = np.setdiff1d(np.arange(of.user_count), users)
    joins = of.groups_joined[silent] > 0
    user_order += [silent[joins], silent[~joins]]
    group_order.append(np.setdiff1d(used, groups))
    return np.concatenate(user_order), np.concatenate(group_order)


def _scores(weights: Doubles, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
    """Return the scores of rows and columns that hang together, as whole numbers, equal for equals.

    The first axis of correspondence analysis. The first column that is not at 0 is below it.
    """
    row_roots = np.sqrt(np.bincount(rows, weights=weights))
    column_roots = np.sqrt(np.bincount(columns, weights=weights))
    shape = len(row_roots), len(column_roots)
    scaled = csr_array(
        (weights / (row_roots[rows] * column_roots[columns]), (rows, columns)), shape
    )
    turned = csr_array(scaled.T)
    if shape[0] < shape[1]:
        axis = _second_axis(turned, scaled, row_roots)
        scores = _rounded(axis / row_roots), _rounded((turned @ axis) / column_roots)
    else:
        axis = _second_axis(scaled, turned, column_roots)
        scores = _rounded((scaled @ axis) / row_roots), _rounded(axis / column_roots)
    signs = np.sign(scores[1][np.flatnonzero(scores[1])])
    sign = int(signs[0]) if len(signs) else -1
    return -sign * scores[0], -sign * scores[1]


def _rounded(scores: Doubles) -> Ints:
    """Return scores as whole multiples of the least difference that counts."""
    largest = np.abs(scores).max(initial=0.0)
    if largest == 0.0:
        return np.zeros(len(scores), dtype=np.int64)
    multiples: Ints = np.round(scores / (largest * ALIKE)).astype(np.int64)
    return multiples


def _second_axis(scaled: csr_array, turned: csr_array, first: Doubles) -> Doubles:
    """Return the eigenvector of turned @ scaled that comes after the first one; 0 without any.

    Lanczos' method, with all directions kept orthogonal, from a start that is always the same.
    """
    basis = np.empty((min(STEPS, len(first) - 1) + 1, len(first)))
    images = np.empty_like(basis)
    basis[0] = first / np.linalg.norm(first)
    ahead, axis = np.random.default_rng(0).standard_normal(len(first)), np.zeros(len(first))
    for step in range(1, len(basis) + 1):
        for _ in range(2):  # the second time for what rounding has left
            ahead = ahead - basis[:step].T @ (basis[:step] @ ahead)
        length = float(np.linalg.norm(ahead))
        ended = step == len(basis) or length < SETTLED
        if step > 1 and (ended or step % LOOK_EVERY == 0):
            axis, residual = _best_within(basis[1:step], images[1:step])
            ended = ended or residual < SETTLED
        if ended:
            break
        basis[step] = ahead / length
        ahead = images[step] = turned @ (scaled @ basis[step])
    return axis


def _best_within(basis: Doubles, images: Doubles) -> tuple[Doubles, float]:
    """Return what of this space comes closest to the eigenvector to the largest eigenvalue, and by
    how much it misses."""
    inside = basis @ images.T
    values, vectors = np.linalg.eigh((inside + inside.T) / 2.0)
    axis = vectors[:, -1] @ basis
    return axis, float(np.linalg.norm(vectors[:, -1] @ images - values[-1] * axis))
