"""What compiled kernels know about a shape: its family and the family's parameters.

A compiled loop cannot call methods of a plug-in. Each kind therefore says once, in its own
file, which family its shape belongs to; `weir.allocation.shapes` evaluates the families.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.utility._curves import Knots


class Family(IntEnum):
    """Families that the compiled kernels evaluate."""

    LOG = 0
    """ln(1 + r)."""
    POWER = 1
    """r^k with 0 < k <= 1; k = 1 is the straight line."""
    KNOTS = 2
    """Linear between knots, flat after the last, along the first segment before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A shape (scale 1) in compiled form."""

    family: Family
    exponent: float = 1.0
    knots: Knots = ()
