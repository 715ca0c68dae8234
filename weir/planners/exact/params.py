"""The limits of the search that people may set."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.plugins import about, check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Limit how long the search goes on by itself."""

    max_trees: int = field(
        default=5_000_000,
        metadata=about(help="Trees looked at before it gives up", unit="trees", min=1),
    )

    def __post_init__(self) -> None:
        """Check the limits of every field; raise InvalidProblem that names the field."""
        check_fields(self)
