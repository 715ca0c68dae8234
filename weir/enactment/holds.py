"""The band and the dwell: which values stay where they are, whatever a change would gain.

A move is measured as the ratio of the larger to the smaller value, so that up and down count
alike: with a band of 5 %, 100 -> 105 and 105 -> 100 are the same move. A value that turns around
has to leave the band on the other side too: its move must exceed the band twice over. Hence two
proposals that differ by less than (1 + band)^2 in a value, taken in turn, move it once at most.
"""

from __future__ import annotations

from weir.enactment.terms import Change, Judgement, LeftOut, Past, Reason


def held(change: Change, past: Past, policy: Judgement) -> LeftOut | None:
    """Why the value stays; None if it may move."""
    turns = past.direction * (change.wanted - change.before) < 0
    moved, needed = _ratio(change.before, change.wanted), band_ratio(policy, turns=turns)
    if policy.band > 0 and moved <= needed:
        return LeftOut(
            change=change,
            reason=Reason.REVERSAL if turns and moved > 1 + policy.band else Reason.BAND,
            moved=moved - 1,
            needed=(needed if turns and moved > 1 + policy.band else 1 + policy.band) - 1,
        )
    if past.age_s is not None and past.age_s < policy.dwell_s:
        return LeftOut(
            change=change, reason=Reason.DWELL, needed=policy.dwell_s, age_s=max(0.0, past.age_s)
        )
    return None


def band_ratio(policy: Judgement, *, turns: bool) -> float:
    """The ratio that a move must exceed."""
    return (1 + policy.band) ** (2 if turns else 1)


def _ratio(a: float, b: float) -> float:
    low, high = sorted((a, b))
    return high / low if low > 0 else float("inf")
