"""Bring the kernel's answer into the form in which it is stored and published."""

from collections.abc import Mapping
from typing import Any


def outcome_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without the broker of each publisher, and with `unassigned` as a count."""
    rest = {name: value for name, value in plain.items() if name != "assignments"}
    return {**rest, "unassigned": len(plain["unassigned"])}
