"""Which parts of a proposal are worth enacting, beside what is in force. See `judge`."""

from weir.enactment.judge import judge
from weir.enactment.terms import (
    POPULATION,
    RATE,
    Change,
    Judgement,
    Kept,
    LeftOut,
    Note,
    Past,
    Reason,
    Values,
    Verdict,
)

__all__ = [
    "POPULATION",
    "RATE",
    "Change",
    "Judgement",
    "Kept",
    "LeftOut",
    "Note",
    "Past",
    "Reason",
    "Values",
    "Verdict",
    "judge",
]
