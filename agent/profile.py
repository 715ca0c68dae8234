"""Record how long messages waited at one gate since its part of a bucket and its list were set.

Beside the whole wait there is the *own* one: how long after the bucket of the part would have let
it go a message left. Bucket and broker share the whole wait, and only the rest is the broker's
(with what this agent adds: it lets waiting messages pass in slices of some milliseconds).

While the gate is shut nothing passes however fast the broker is: a shift pauses it, or a neighbour
has yet to declare what it wants. So messages that arrived before it opens again are left out, like
those that arrived before the profile began. They take tokens all the same, and those behind them
wait for that: counting begins with the first message that finds a token, or after `PATIENCE_S`,
when what waits is no longer what was left behind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from weir.queueing.counting_bucket import CountingBucket
from weir.queueing.token_bucket import TokenBucket
from weir.queueing.wait_histogram import Piece, WaitRecord

PATIENCE_S = 120.0
"""For how long messages are left out that wait behind those of before, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileKey:
    """What a profile belongs to: another one begins when any of it changes."""

    rate_per_s: float
    """Of the part of the bucket, which is enforced."""
    size: float
    publishers: tuple[str, ...] | None
    """Who is let in; None: everybody."""
    is_settled: bool
    """False while publishers are connected that are not let in any more."""

    def fits(self, gate: TokenBucket) -> bool:
        """Return whether this gate enforces the part."""
        return (gate.rate_per_s, gate.burst) == (self.rate_per_s, self.size)


class Profile:
    """The waits at one gate since a moment. Not thread-safe."""

    def __init__(self, key: ProfileKey, gate: TokenBucket, now: float) -> None:
        """Begin now, with as many tokens as the gate holds; its rate must be positive."""
        self.key = key
        self.whole = WaitRecord()
        self.own = WaitRecord()
        self.began_at = now
        """When the first message that counts might have come."""
        self._from = now
        self._behind = False
        """Messages wait behind those that are left out."""
        self._bucket = CountingBucket(
            rate_per_s=gate.rate_per_s, size=gate.burst, now=now, level=gate.level(now)
        )

    def opened(self, now: float) -> None:
        """Leave out the messages that have arrived by now: the gate was shut until now."""
        self._from = now

    def count(self, now: float, arrived_at: Sequence[float], piece: Piece) -> None:
        """Count messages that leave now; `arrived_at` rises, and `piece` holds their waits."""
        if not arrived_at:
            return
        if arrived_at[0] < self._from:
            early = bisect_left(arrived_at, self._from)
            self._bucket.pass_by(self._from, early)
            arrived_at = arrived_at[early:]
            piece = Piece.of(now, arrived_at)
            self._behind = True
        released_at = self._bucket.released_at(arrived_at)
        if self._behind and arrived_at:
            first = self._first_that_counts(arrived_at, released_at)
            if first == len(arrived_at):
                return
            self._behind = False
            if not self.whole.messages:
                self.began_at = arrived_at[first]
            held = released_at is not arrived_at
            arrived_at = arrived_at[first:]
            released_at = released_at[first:] if held else arrived_at
            piece = Piece.of(now, arrived_at)
        self.whole.count(piece)
        self.own.count(piece if released_at is arrived_at else Piece.of(now, released_at))

    def _first_that_counts(self, arrived_at: Sequence[float], released_at: Sequence[float]) -> int:
        """Return the place of the first message that does not wait for the tokens that those took
        which are left out."""
        if released_at is arrived_at:
            return 0
        latest = self._from + PATIENCE_S
        times = enumerate(zip(arrived_at, released_at, strict=True))
        free = (at for at, (came, left) in times if left <= came or came > latest)
        return next(free, len(arrived_at))
