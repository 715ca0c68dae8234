"""Compute the utility of rates and populations by one set of utility functions.

Totals by different functions cannot be compared: doubled weights double the utility of rates that
did not move. So both sides of a comparison are always valued by the same functions.
"""

import math
from collections.abc import Mapping
from typing import Any

from weir.utility import Utility, utility_from_dict

Functions = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Class -> its flow, and its utility function in plain form."""


def functions_of(plain: Mapping[str, Any]) -> Functions:
    """Return the utility functions of a problem in plain form (docs/formats.md, Allocation)."""
    return {row["id"]: (row["flow"], row["utility"]) for row in plain["classes"]}


def worth(
    functions: Functions, rates: Mapping[str, float], populations: Mapping[str, float]
) -> float:
    """Return the utility of rates and populations by these functions.

    A class or flow that one side does not know has nobody admitted there and adds nothing.
    """
    known: dict[str, Utility] = {}
    parts = []
    for name, (flow, plain) in functions.items():
        admitted = populations.get(name, 0)
        if admitted and flow in rates:
            key = repr(plain)
            if key not in known:
                known[key] = utility_from_dict(plain, "")
            parts.append(admitted * float(known[key].value(rates[flow])))
    return math.fsum(parts)
