"""The limits of the search that people may set."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.plugins import about, check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Hold the limits of the search; the defaults suit problems of every size."""

    max_iterations: int = field(
        default=80, metadata=about(help="Iterations of the prices at most", min=1, max=1_000_000)
    )
    exact_rounds: int = field(
        default=60,
        metadata=about(
            help="Rounds of cutting planes at most (none on large problems); 0 leaves them out",
            min=0,
            max=1_000_000,
        ),
    )
    polish_steps: int = field(
        default=300,
        metadata=about(
            help="Steps of polishing at most, while time remains; 0 leaves it out",
            min=0,
            max=1_000_000_000,
        ),
    )
    threads: int = field(
        default=2,
        metadata=about(help="Threads for large problems; they change no result", min=1, max=256),
    )

    def __post_init__(self) -> None:
        check_fields(self)
