r"""Request-response traffic: a target on the round trip, turned into worth of a rate.

A flow admitted at rate r keeps r x T_exec requests executing at once; the round trip follows
from the closed queueing model in `weir.queueing.mva`. Where r x T_exec is whole the model is
exact, between these rates the worth is linear (the paper's construction).

| paper (Bhola 2006, section II.B) | here |
|---|---|
| C, D | `max_utility`, `threshold_s` |
| N, T_think, T_exec | `senders`, `think_s`, `exec_s` |
| r_min = N / (T_think + D), worth 0 | first knot |
| r_max = 1.1 N / (T_exec + T_think), worth C (1 - T_exec / D) | last knot |

Beyond the paper: the knots are replaced by their upper concave hull where the model gives a
dent; after r_max the worth is flat; below r_min the first segment goes on, with negative
worth. (The exact worth below r_min, C (1 - (N/r - T_think) / D), is concave too but falls
without bound as r goes to 0. Every knot lies below that curve, so both continuations are
concave; the finite one is kept.) No consumer is ever admitted at a negative worth.

With many senders at most MAX_KNOTS knots are computed, at equal ratios: a busy station's round
trip falls as 1 / r, so equal steps would miss its bend. What lies between them costs at most 1 % of
a sender's loop (think and round trip; tested) and never promises more than the hull of all.

References:
    S. Bhola, M. Astley, R. Saccone, M. Ward. Utility-aware resource allocation in an event
    processing system. ICAC 2006. doi:10.1109/ICAC.2006.1662382
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from weir.errors import InvalidProblem
from weir.plugins import about, check_fields
from weir.queueing.mva import closed_station
from weir.utility._curves import Curves, Knots, evaluate, slope_at, upper_hull
from weir.utility._form import Family, Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from weir.utility._arrays import FloatArray

PEAK_MARGIN = 1.1
"""The paper's r_max is 10 % above the peak rate N / (T_exec + T_think)."""

MAX_KNOTS = 256
MAX_SENDERS = 100_000


@lru_cache(maxsize=65_536)
def _unit_knots(threshold_s: float, senders: int, think_s: float, exec_s: float) -> Knots:
    """The knots for C = 1."""
    slowest = senders / (think_s + threshold_s)
    fastest = PEAK_MARGIN * senders / (exec_s + think_s)
    first = max(1, math.floor(slowest * exec_s) + 1)
    last = math.ceil(fastest * exec_s) - 1
    servers: Sequence[int] = range(first, last + 1)
    if len(servers) > MAX_KNOTS:
        spread = np.geomspace(first, last, MAX_KNOTS).round().astype(int)
        servers = np.unique(spread).tolist()
    knots = [(slowest, 0.0)]
    for m in servers:
        rate = m / exec_s
        if slowest < rate < fastest:
            station = closed_station(
                senders=senders, think_s=think_s, exec_s=exec_s, servers=int(m)
            )
            knots.append((rate, 1.0 - station.response_s / threshold_s))
    knots.append((fastest, 1.0 - exec_s / threshold_s))
    return upper_hull(tuple(knots))


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """C (1 - T_rt(r) / D) for request-response flows."""

    KIND: ClassVar[str] = "latency"
    TITLE: ClassVar[str] = "Round-trip latency"
    SUMMARY: ClassVar[str] = "Request-response: worth falls linearly with the round trip."

    max_utility: float = field(
        metadata=about(help="Worth of an immediate answer", unit="utility", min=0)
    )
    threshold_s: float = field(
        metadata=about(
            help="Round trip at which the worth is 0; must exceed the execution time",
            unit="s",
            min=0,
            exclusive=True,
        )
    )
    senders: int = field(metadata=about(help="Requesters that ask in turn", min=1, max=MAX_SENDERS))
    think_s: float = field(
        metadata=about(help="Mean pause between an answer and the next request", unit="s", min=0)
    )
    exec_s: float = field(
        metadata=about(
            help="Mean time to answer an admitted request", unit="s", min=0, exclusive=True
        )
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.exec_s >= self.threshold_s:
            raise InvalidProblem(
                "exec_s",
                f"{self.exec_s:g} s reaches the threshold of {self.threshold_s:g} s, so no rate "
                "is worth anything; raise threshold_s",
            )

    @property
    def _unit(self) -> Knots:
        return _unit_knots(self.threshold_s, self.senders, self.think_s, self.exec_s)

    @property
    def knots(self) -> Knots:
        """The points between which the worth is linear."""
        return tuple((rate, self.max_utility * worth) for rate, worth in self._unit)

    @property
    def rate_min_per_s(self) -> float:
        """At this rate the mean round trip reaches the threshold: N / (T_think + D)."""
        return self._unit[0][0]

    @property
    def rate_max_per_s(self) -> float:
        """Above this rate no answer comes sooner: 1.1 N / (T_exec + T_think)."""
        return self._unit[-1][0]

    def response_s(self, rate: npt.ArrayLike) -> FloatArray:
        """Mean round trip at each rate (msg/s); infinite at rate 0.

        Between r_min and r_max the latency of which `value` is the worth. Below r_min the
        gate is the bottleneck: all but a few senders wait there, so a sender's loop takes N/r.
        """
        rates = np.asarray(rate, dtype=np.float64)
        served = self.threshold_s * (1.0 - evaluate(self._unit, rates))
        with np.errstate(divide="ignore", over="ignore"):
            queued = self.senders / rates - self.think_s
        return np.asarray(np.where(rates < self.rate_min_per_s, queued, served))

    def value(self, rate: npt.ArrayLike) -> FloatArray:
        return evaluate(self.knots, rate)

    def derivative(self, rate: npt.ArrayLike) -> FloatArray:
        return slope_at(self.knots, rate)

    @property
    def scale(self) -> float:
        return self.max_utility

    @property
    def shape(self) -> Latency:
        return replace(self, max_utility=1.0)

    @property
    def form(self) -> Form:
        return Form(family=Family.KNOTS, knots=self.shape.knots)

    @classmethod
    def batch(cls, members: Sequence[Latency]) -> Curves:
        return Curves([member.knots for member in members])
