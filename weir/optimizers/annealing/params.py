"""How hot a run starts, how it cools and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.errors import InvalidProblem
from weir.plugins import about, check_fields

HOT = 10.0
"""Start of a hot run, in worths of the dearest consumer."""

HOT_RANGE = 1e-5
"""End of a hot run, against its start."""

PAPER_END = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Defaults start hot; the paper's are 5 to 100, 1 and 10^6 to 10^8."""

    start_temperature: float = field(
        default=0.0,
        metadata=about(help="First temperature; 0: hot, by the problem", unit="utility", min=0),
    )
    end_temperature: float = field(
        default=0.0,
        metadata=about(
            help="Last temperature; 0: 1 after a given start, as in the paper",
            unit="utility",
            min=0,
        ),
    )
    cooling: float = field(
        default=0.999,
        metadata=about(help="Factor on the temperature after each round", min=0.1, max=0.9999),
    )
    steps: int = field(
        default=2_000_000,
        metadata=about(help="Moves tried in all", min=1, max=10_000_000_000),
    )
    prune: bool = field(
        default=False,
        metadata=about(
            help="Solve again without the cost of flows at nodes that refused all their consumers"
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if 0 < self.start_temperature < self.end_temperature:
            raise InvalidProblem(
                "end_temperature",
                f"{self.end_temperature:g} is above the start of {self.start_temperature:g}",
            )

    def temperatures(self, dearest: float) -> tuple[float, float]:
        """First and last, where the dearest consumer is worth so much."""
        if self.start_temperature > 0:
            end = self.end_temperature or min(PAPER_END, self.start_temperature)
            return self.start_temperature, end
        first = HOT * dearest if dearest > 0 else 1.0
        return first, min(self.end_temperature, first) or HOT_RANGE * first
