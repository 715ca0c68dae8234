"""Bulk traffic: every further message is worth the same."""

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
        return np.asarray(self._weight * rates)

    def derivative(self, rates: FloatArray) -> FloatArray:
        return np.asarray(self._weight + 0.0 * rates)

    def rate_at(self, marginal: FloatArray) -> FloatArray:
        return np.asarray(np.where(self._weight > marginal, np.inf, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Compute the utility w r."""

    KIND: ClassVar[str] = "linear"
    TITLE: ClassVar[str] = "Linear"
    SUMMARY: ClassVar[str] = (
        "Every further message per second is worth the same: weight times rate."
    )

    weight: float = field(
        metadata=about(
            help="Worth of one message per second to one consumer", unit="utility s", min=0
        )
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def value(self, rate: npt.ArrayLike) -> FloatArray:
        return np.asarray(self.weight * np.asarray(rate, dtype=np.float64))

    def derivative(self, rate: npt.ArrayLike) -> FloatArray:
        return np.full_like(np.asarray(rate, dtype=np.float64), self.weight)

    @property
    def scale(self) -> float:
        return self.weight

    @property
    def shape(self) -> Linear:
        return replace(self, weight=1.0)

    @property
    def form(self) -> Form:
        return Form(family=Family.POWER, exponent=1.0)

    @classmethod
    def batch(cls, members: Sequence[Linear]) -> _Batch:
        return _Batch(np.array([member.weight for member in members], dtype=np.float64))
