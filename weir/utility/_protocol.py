"""What every kind of utility function offers to the rest of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from weir.utility._arrays import FloatArray
    from weir.utility._form import Form


class Batch(Protocol):
    """Many functions of one kind as a struct of arrays; argument i goes to function i."""

    def value(self, rates: FloatArray) -> FloatArray:
        """Value of function i at rate i."""
        ...

    def derivative(self, rates: FloatArray) -> FloatArray:
        """Slope of function i just right of rate i; may be inf at rate 0."""
        ...

    def rate_at(self, marginal: FloatArray) -> FloatArray:
        """The rate from which on function i gains no more than `marginal` i; may be inf."""
        ...


class Utility(Protocol):
    """Value of one admitted consumer at a rate: increasing and concave.

    A member of the folder is one frozen dataclass whose KIND equals its file name. Each
    function is `scale` times its `shape`, so that classes which differ only in weight
    share the costly part of every evaluation.
    """

    KIND: ClassVar[str]
    TITLE: ClassVar[str]
    SUMMARY: ClassVar[str]

    def value(self, rate: npt.ArrayLike) -> FloatArray:
        """Value at one rate or an array of rates."""
        ...

    def derivative(self, rate: npt.ArrayLike) -> FloatArray:
        """Slope at one rate or an array of rates."""
        ...

    @property
    def scale(self) -> float:
        """Factor before the shape; not negative."""
        ...

    @property
    def shape(self) -> Utility:
        """The same function with scale 1; hashable."""
        ...

    @property
    def form(self) -> Form:
        """The shape as compiled kernels evaluate it."""
        ...

    @classmethod
    def batch(cls, members: Sequence[Utility]) -> Batch:
        """The members, all of this kind, as one struct of arrays."""
        ...
