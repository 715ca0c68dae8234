"""Read allocations: the previous one, and the differences from another."""

from typing import Any

from apps.allocations.models import Allocation, ClassPopulation, FlowRate, Place, ResourceLoad

Keyed = dict[tuple[str, ...], Any]

MOST_PAIRS = 5000
"""The number of rows of each kind in a comparison; a browser reads no more either."""


def previous_allocation(allocation: Allocation) -> Allocation | None:
    """Return the previous allocation of the same system."""
    if allocation.system_id is None:
        return None
    return (
        Allocation.objects.filter(system_id=allocation.system_id, number__lt=allocation.number)
        .order_by("-number")
        .first()
    )


def _values(rows: Any, value: str, *names: str) -> Keyed:
    pairs = rows.order_by("id").values_list(*names, value)[:MOST_PAIRS]
    return {tuple(row[:-1]): row[-1] for row in pairs}


def _pair(before: Keyed, after: Keyed) -> list[dict[str, Any]]:
    return [
        {
            "name": ".".join(part for part in key if part),
            "before": before.get(key),
            "after": after.get(key),
        }
        for key in dict.fromkeys([*after, *before])
    ]


def allocation_comparison(allocation: Allocation, other: Allocation) -> dict[str, Any]:
    """Return former and new values of rates, populations, loads and prices, missing ones as
    None.

    Of each the first MOST_PAIRS: as many as a page shows.
    """

    def pairs(model: Any, value: str, *names: str, **which: Any) -> list[dict[str, Any]]:
        former, latter = (
            _values(model.objects.filter(allocation=of, **which), value, *names)
            for of in (other, allocation)
        )
        return _pair(former, latter)

    def loads(value: str, place: Place) -> list[dict[str, Any]]:
        return pairs(ResourceLoad, value, "name", "resource", place=place)

    return {
        "admitted": {"name": "admitted", "before": other.admitted, "after": allocation.admitted},
        "rates": pairs(FlowRate, "rate_per_s", "flow"),
        "populations": pairs(ClassPopulation, "admitted", "consumer_class"),
        "node_prices": loads("price", Place.NODE),
        "node_capacities": loads("capacity", Place.NODE),
        "link_prices": loads("price", Place.LINK),
    }
