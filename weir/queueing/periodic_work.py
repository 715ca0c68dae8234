r"""The work ahead of a message in a token bucket that periodic senders reach.

n senders each send a batch every T seconds, at phases that are random and stay. What a batch finds
is the work of the n - 1 others (the nD/D/1 queue); in units of a batch, with D = T in those units,

    P(U > x) = sum_(x < j <= n-1) C(n-1, j) ((j-x)/D)^j (1 - (j-x)/D)^(n-1-j) (D - n + 1 + x) / (D
    - j + x).

All terms are positive. As n grows it approaches the Poisson model from below.

Cost: O(n) for a tail, less where its terms vanish; O(n) tails for the mean. Fails for a utilisation
of 1 or more.

Reference: J. W. Roberts, J. T. Virtamo. The superposition of periodic cell arrival streams in an
ATM multiplexer. IEEE Transactions on Communications 39(2), 1991. doi:10.1109/26.76467
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from weir.compiled import compiled
from weir.errors import InvalidProblem
from weir.queueing.work_ahead import NODES, WEIGHTS, WorkAhead

if TYPE_CHECKING:
    from weir.queueing.work_ahead import Floats

VANISHED = 1e-20


@compiled
def others_tail(x: float, others: int, period: float) -> float:
    """Return P(U > x) for `others` senders; x and `period` in units of a batch."""
    if x < 0.0:
        return 1.0
    total = 0.0
    for j in range(math.floor(x) + 1, others + 1):
        share = (j - x) / period
        term = math.exp(
            math.lgamma(others + 1.0)
            - math.lgamma(j + 1.0)
            - math.lgamma(others - j + 1.0)
            + j * math.log(share)
            + (others - j) * math.log1p(-share)
        )
        term *= (period - others + x) / (period - j + x)
        total += term
        # Terms rise to one peak and fall from then on.
        if term < VANISHED * total:
            break
    return total


@compiled
def others_mean(others: int, period: float, nodes: Any, weights: Any) -> float:
    """Return E[U] in batches: the integral of its tail, from one whole number to the next."""
    total = 0.0
    for low in range(others):
        added = 0.0
        for node in range(len(nodes)):
            x = low + (1.0 + nodes[node]) / 2.0
            added += weights[node] / 2.0 * others_tail(x, others, period)
        total += added
        if added <= VANISHED * total:
            break
    return total


@compiled
def periodic_tails(values: Any, batch: int, others: int, period: float, out: Any) -> None:
    """Fill `out` with P(V > value): the place within the batch is uniform."""
    for at in range(len(values)):
        total = 0.0
        for before in range(batch):
            total += others_tail((values[at] - before) / batch, others, period)
        out[at] = total / batch


class PeriodicWork(WorkAhead):
    """The work ahead of a message where senders have equal periods and random phases."""

    def __init__(self, utilisation: float, senders: int, batch: int = 1) -> None:
        """Take the number of senders and the size of their batches.

        Raises InvalidProblem naming the parameter.
        """
        if not 0 < utilisation < 1:
            raise InvalidProblem(
                "utilisation", f"must lie between 0 and 1, but is {utilisation:g}: raise the rate"
            )
        if senders < 1:
            raise InvalidProblem("senders", "must be at least 1")
        if batch < 1:
            raise InvalidProblem("batch", "must be at least 1")
        self._batch, self._others = batch, senders - 1
        self._period = senders / utilisation
        waiting = others_mean(self._others, self._period, NODES, WEIGHTS)
        self.mean = (batch - 1) / 2.0 + batch * float(waiting)

    def _fill(self, values: Floats, out: Floats) -> None:
        periodic_tails(values, self._batch, self._others, self._period, out)

    def _end(self) -> tuple[float, float]:
        return float(self._batch * (self._others + 1)), 0.0
