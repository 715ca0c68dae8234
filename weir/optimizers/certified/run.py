"""The life of one run: what each iteration reached, and whether to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.stop import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.optimizers.certified.search import Search

OPTIMAL_GAP = 1e-9
"""Relative distance to the bound at which an answer counts as optimal."""


class Run:
    """What happened in each iteration, and whether to go on."""

    def __init__(
        self,
        search: Search,
        stop: Callable[[Progress], bool],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._search, self._stop, self._on_progress = search, stop, on_progress
        self.trace: list[float] = []
        self.bounds: list[float] = []
        self.stopped = False

    def note(self) -> bool:
        """Record the iteration just done; whether it was the last."""
        search = self._search
        self.trace.append(search.utility)
        self.bounds.append(max(search.bound, search.utility))
        progress = self.progress()
        if self._on_progress is not None:
            self._on_progress(progress)
        self.stopped = self._stop(progress)
        return self.ended

    def progress(self) -> Progress:
        """Describe the state after the last iteration."""
        return Progress(
            iteration=len(self.trace),
            utility=self.trace[-1],
            best_utility=self.trace[-1],
            upper_bound=self.bounds[-1],
        )

    def asked_to_stop(self) -> bool:
        """Ask the caller during long work between iterations whether to stop."""
        self.stopped = self.stopped or self._stop(self.progress())
        return self.stopped

    @property
    def ended(self) -> bool:
        """Stopped, or nothing is left to gain."""
        return self.stopped or self.gap <= OPTIMAL_GAP

    @property
    def gap(self) -> float:
        """Between bound and utility, relative to the bound."""
        bound, utility = self.bounds[-1], self.trace[-1]
        return 0.0 if bound <= utility else float((bound - utility) / max(abs(bound), 1e-300))
