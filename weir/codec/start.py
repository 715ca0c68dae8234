"""Where a former answer left off, as plain dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir.model import Start
from weir.reading import mapping, members, number

if TYPE_CHECKING:
    from weir.model import Result

_KEYS = ("node_prices", "link_prices", "rates", "populations")


def start_of(result: Result) -> Start:
    """Return a start at the prices, rates and populations with which the result ended."""
    return Start(
        node_prices=result.node_prices,
        link_prices=result.link_prices,
        rates=result.rates,
        populations=result.populations,
    )


def start_to_dict(start: Start) -> dict[str, Any]:
    """Write a start as a plain dict with one member per field."""
    return {
        "node_prices": {node: dict(prices) for node, prices in start.node_prices.items()},
        "link_prices": dict(start.link_prices),
        "rates": dict(start.rates),
        "populations": dict(start.populations),
    }


def start_from_dict(obj: object, path: str = "start") -> Start:
    """A Start from plain data; each key may be left out."""
    given = members(obj, path, (), _KEYS)
    prices = mapping(given.get("node_prices", {}), f"{path}.node_prices")
    return Start(
        node_prices={
            node: _numbers(of_node, f"{path}.node_prices.{node}")
            for node, of_node in prices.items()
        },
        link_prices=_numbers(given.get("link_prices", {}), f"{path}.link_prices"),
        rates=_numbers(given.get("rates", {}), f"{path}.rates"),
        populations={
            name: int(value)
            for name, value in _numbers(given.get("populations", {}), f"{path}.populations").items()
        },
    )


def _numbers(obj: object, path: str) -> dict[str, float]:
    return {name: number(value, f"{path}.{name}") for name, value in mapping(obj, path).items()}
