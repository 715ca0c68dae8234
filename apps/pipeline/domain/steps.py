"""Divide a time into steps of whole minutes."""

from dataclasses import dataclass

MINUTE_S = 60
LONGEST_S = 30 * 86_400
"""Of the time that is read at once."""
USUAL_S = 3600
LONGEST_STEP_S = 86_400
USUAL_STEPS = 240
MOST_STEPS = 1440

_STEPS_S = tuple(minutes * MINUTE_S for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180))


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time in steps; all three are whole minutes, and the last step may be shorter."""

    since_s: int
    """Unix seconds."""
    until_s: int
    step_s: int

    @property
    def starts_s(self) -> range:
        """Return when the steps begin, Unix seconds."""
        return range(self.since_s, self.until_s, self.step_s)


def usual_step_s(length_s: int) -> int:
    """Return the shortest round step that makes few steps of a time of at most LONGEST_S."""
    return next(step_s for step_s in _STEPS_S if step_s * USUAL_STEPS >= length_s)
