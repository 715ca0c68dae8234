"""Bound the rates that a plan assumes: its envelope, and how the present compares with it."""

import math
from dataclasses import dataclass

from apps.common.formatting import figure
from weir.model.plan import Bound

BAND = 0.5
"""Offered rates may leave the measured or assumed ones by this share."""

NOISE = 4.0
"""Offered rates may also leave them by this many standard deviations of a Poisson count over the
second of one sample."""


def offered_bound(name: str, *, measured: float | None, assumed: float) -> Bound:
    """Return the offered rates of a flow between which the plan's promise holds.

    Measured flows: from half of what is offered now to half more than the larger of that and the
    assumed rate. Others offer what is assumed, or less.
    """
    most = max(assumed, measured or 0.0)
    low = 0.0
    if measured is not None:
        low = max(0.0, (1 - BAND) * measured - NOISE * math.sqrt(measured))
    high = (1 + BAND) * most + NOISE * math.sqrt(most)
    return Bound(name=name, unit="msg/s", low=low, high=high, measured=measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One bound and its present quantity; None when nothing is measured."""

    name: str
    unit: str
    low: float
    high: float
    measured: float | None

    @property
    def inside(self) -> bool:
        """Return whether it is within the bounds, or not measured."""
        return self.measured is None or self.low <= self.measured <= self.high

    @property
    def sentence(self) -> str:
        """Return what was measured against what is allowed."""
        now = "not measured" if self.measured is None else f"{figure(self.measured)} {self.unit}"
        return f"{self.name} {now.strip()}, allowed {figure(self.low)} to {figure(self.high)}"
