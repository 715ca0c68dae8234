"""Where a former answer left off, so that the next computation need not begin cold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Prices, rates and populations by id; what is missing begins cold.

    Ids that the problem does not know are passed over. A start never changes what is feasible
    and never enters a bound: it only saves iterations.
    """

    node_prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Utility per unit of a node's resource."""
    link_prices: Mapping[str, float] = field(default_factory=dict)
    """Utility per unit of a link's capacity."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Messages per second."""
    populations: Mapping[str, int] = field(default_factory=dict)
