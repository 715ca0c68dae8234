"""The limits of the search that people may set."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.plugins import about, check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Limit the branches of the search and the states that it remembers."""

    depth_limit: int = field(
        default=0,
        metadata=about(
            help="Slides of a branch; 0: three times the estimate for today's overlay",
            unit="actions",
            min=0,
        ),
    )
    branches: int = field(
        default=10,
        metadata=about(help="Branches that may end in vain before the search starts over", min=1),
    )
    packed: bool = field(
        default=False,
        metadata=about(help="Put actions that may run together into one step; the paper does not"),
    )
    max_rounds: int = field(
        default=10_000, metadata=about(help="Plans looked for", unit="rounds", min=1)
    )
    max_open: int = field(
        default=100_000,
        metadata=about(help="Options remembered; beyond, the worse half is dropped", min=100),
    )

    def __post_init__(self) -> None:
        """Check the limits of every field; raise InvalidProblem that names the field."""
        check_fields(self)
