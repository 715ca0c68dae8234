"""Name the objects of the story that the examples of requests tell together."""

from typing import Any

Example = dict[str, Any]
"""One body."""


def example_id(number: int) -> str:
    """Return the id of an object in the examples."""
    return f"7a1e0000-0000-4000-8000-{number:012d}"


SYSTEM, BROKER, OTHER_BROKER, LINK = example_id(1), example_id(2), example_id(3), example_id(4)
OVERLAY, GROUP, STREAM, TOPIC, KEY = (
    example_id(5),
    example_id(6),
    example_id(7),
    example_id(8),
    example_id(9),
)
PUBLISHER, UTILITY, CLASS, SLO, SUBSCRIBER = (
    example_id(10),
    example_id(11),
    example_id(12),
    example_id(13),
    example_id(14),
)
PLAN_HASH = "5d0c" * 16
WHY = "Requested in CHG-1042."
LOG: Example = {"kind": "log", "parameters": {"weight": 20}}
"""A utility function."""
