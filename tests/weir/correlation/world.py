"""Generate publishers whose groups are known: independent ones, heartbeats, events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.correlation.activity import Activity, activity_of

if TYPE_CHECKING:
    from weir.correlation.activity import Floats

SINCE_S = 1_700_000_000.0


class World:
    """Publishers of one window, seeded."""

    def __init__(self, seed: int, *, duration_s: float = 1800.0) -> None:
        """Begin without publishers."""
        self.chance = np.random.default_rng(seed)
        self.duration_s = duration_s
        self.times: dict[str, Floats] = {}

    def add(self, name: str, *times_s: Floats) -> None:
        """Add a publisher that sent at all of these seconds after the window's beginning."""
        times = np.concatenate(times_s)
        self.times[name] = times[(times >= 0) & (times <= self.duration_s)] + SINCE_S

    def independent(self, rate_per_s: float) -> Floats:
        """Return Poisson times."""
        count = self.chance.poisson(rate_per_s * self.duration_s)
        return self.chance.uniform(0, self.duration_s, count)

    def events(self, count: int) -> Floats:
        """Return times that several publishers react to."""
        return self.chance.uniform(0, self.duration_s, count)

    def reaction(self, events: Floats, *, jitter_s: float = 0.025, missed: float = 0.2) -> Floats:
        """Return events as one publisher sends them: off by jitter, some missed."""
        times = events + self.chance.uniform(-jitter_s, jitter_s, len(events))
        return times[self.chance.random(len(times)) >= missed]

    def beats(
        self,
        period_s: float,
        *,
        phase_s: float | None = None,
        jitter_s: float = 0.003,
        missed: float = 0.0,
    ) -> Floats:
        """Return a heartbeat, of any phase unless one is given."""
        begins = self.chance.uniform(0, period_s) if phase_s is None else phase_s
        times = begins + period_s * np.arange(-1, self.duration_s / period_s + 1)
        times = times + self.chance.normal(0, jitter_s, len(times))
        return times[self.chance.random(len(times)) >= missed]

    def activity(self) -> Activity:
        """Return all of them, messages in an order of chance."""
        names = sorted(self.times)
        ids = np.repeat(np.arange(len(names)), [len(self.times[name]) for name in names])
        times = np.concatenate([self.times[name] for name in names] or [np.empty(0)])
        order = self.chance.permutation(len(times))
        return activity_of(
            names,
            ids[order],
            times[order],
            since_s=SINCE_S,
            until_s=SINCE_S + self.duration_s,
        )
