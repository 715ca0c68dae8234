"""Elastic traffic: each doubling of the rate is worth the same."""

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
    def __init__(self, weight: FloatArray) -> None:
        self._weight = weight

    def value(self, rates: FloatArray) -> FloatArray:
        return np.asarray(self._weight * np.log1p(rates))

    def derivative(self, rates: FloatArray) -> FloatArray:
        return np.asarray(self._weight / (1.0 + rates))

    def rate_at(self, marginal: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rate = self._weight / marginal - 1.0
        return np.asarray(np.where(self._weight > 0, np.maximum(rate, 0.0), 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Compute the utility w ln(1 + r)."""

    KIND: ClassVar[str] = "log"
    TITLE: ClassVar[str] = "Logarithmic"
    SUMMARY: ClassVar[str] = (
        "Each doubling of the rate is worth the same: weight times ln(1 + rate)."
    )

    weight: float = field(
        metadata=about(
            help="Importance of one consumer, against the other classes", unit="utility", min=0
        )
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def value(self, rate: npt.ArrayLike) -> FloatArray:
        return np.asarray(self.weight * np.log1p(np.asarray(rate, dtype=np.float64)))

    def derivative(self, rate: npt.ArrayLike) -> FloatArray:
        return np.asarray(self.weight / (1.0 + np.asarray(rate, dtype=np.float64)))

    @property
    def scale(self) -> float:
        return self.weight

    @property
    def shape(self) -> Log:
        return replace(self, weight=1.0)

    @property
    def form(self) -> Form:
        return Form(family=Family.LOG)

    @classmethod
    def batch(cls, members: Sequence[Log]) -> _Batch:
        return _Batch(np.array([member.weight for member in members], dtype=np.float64))
