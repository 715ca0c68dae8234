"""Utility shapes of many terms evaluated at once, whatever their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weir.utility import Batch, FloatArray, Form, Utility


class TermCurves:
    """Term t has shape `shapes[t]`; each kind is one struct of arrays."""

    def __init__(self, shapes: Sequence[Utility]) -> None:
        self._shapes = shapes
        members: dict[type[Utility], list[int]] = {}
        for term, shape in enumerate(shapes):
            members.setdefault(type(shape), []).append(term)
        self._batches: list[tuple[np.ndarray, Batch]] = [
            (np.array(terms, dtype=np.int64), kind.batch([shapes[term] for term in terms]))
            for kind, terms in members.items()
        ]

    def take(self, terms: np.ndarray) -> TermCurves:
        """The curves of some of the terms."""
        return TermCurves([self._shapes[term] for term in terms])

    def forms(self) -> tuple[np.ndarray, list[Form]]:
        """For compiled kernels: the place of each term's shape in the list of distinct forms."""
        place: dict[Utility, int] = {}
        of_term = [place.setdefault(shape, len(place)) for shape in self._shapes]
        return np.array(of_term, dtype=np.int64), [shape.form for shape in place]

    def value(self, rates: FloatArray) -> FloatArray:
        """Value of term t at rate t."""
        return self._each(rates, lambda batch, part: batch.value(part))

    def derivative(self, rates: FloatArray) -> FloatArray:
        """Slope of term t just right of rate t."""
        return self._each(rates, lambda batch, part: batch.derivative(part))

    def rate_at(self, marginal: FloatArray) -> FloatArray:
        """The rate from which on term t gains no more than `marginal` t."""
        return self._each(marginal, lambda batch, part: batch.rate_at(part))

    def _each(
        self, arguments: FloatArray, ask: Callable[[Batch, FloatArray], FloatArray]
    ) -> FloatArray:
        if len(self._batches) == 1:
            return ask(self._batches[0][1], arguments)
        answers = np.zeros(len(self._shapes))
        for terms, batch in self._batches:
            answers[terms] = ask(batch, arguments[terms])
        return answers
