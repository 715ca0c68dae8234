"""Between elastic and linear: the exponent says how much more a high rate is worth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from weir.plugins import about, check_fields
from weir.utility._form import Family, Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from weir.utility._arrays import FloatArray


class _Batch:
    def __init__(self, weight: FloatArray, exponent: FloatArray) -> None:
        self._weight = weight
        self._exponent = exponent

    def value(self, rates: FloatArray) -> FloatArray:
        return np.asarray(self._weight * rates**self._exponent)

    def derivative(self, rates: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore"):
            steep = np.where(rates > 0, np.maximum(rates, 1e-300) ** (self._exponent - 1.0), np.inf)
        return np.asarray(
            np.where(self._weight > 0, self._weight, 0.0)
            * self._exponent
            * np.where(self._weight > 0, steep, 0.0)
        )

    def rate_at(self, marginal: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            rate = (self._weight * self._exponent / marginal) ** (1.0 / (1.0 - self._exponent))
        return np.asarray(np.where(self._weight > 0, rate, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Compute the utility w r^k with k strictly between 0 and 1."""

    KIND: ClassVar[str] = "power"
    TITLE: ClassVar[str] = "Power"
    SUMMARY: ClassVar[str] = (
        "Weight times a power of the rate: near exponent 0 almost flat, near 1 almost linear."
    )

    weight: float = field(
        metadata=about(
            help="Importance of one consumer, against the other classes", unit="utility", min=0
        )
    )
    exponent: float = field(
        metadata=about(
            help="How much a higher rate is worth; strictly between 0 and 1",
            min=0,
            max=1,
            exclusive=True,
        )
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def value(self, rate: npt.ArrayLike) -> FloatArray:
        return np.asarray(self.weight * np.asarray(rate, dtype=np.float64) ** self.exponent)

    def derivative(self, rate: npt.ArrayLike) -> FloatArray:
        batch = _Batch(np.asarray(self.weight), np.asarray(self.exponent))
        return batch.derivative(np.asarray(rate, dtype=np.float64))

    @property
    def scale(self) -> float:
        return self.weight

    @property
    def shape(self) -> Power:
        return replace(self, weight=1.0)

    @property
    def form(self) -> Form:
        return Form(family=Family.POWER, exponent=self.exponent)

    @classmethod
    def batch(cls, members: Sequence[Power]) -> _Batch:
        return _Batch(
            np.array([member.weight for member in members], dtype=np.float64),
            np.array([member.exponent for member in members], dtype=np.float64),
        )
