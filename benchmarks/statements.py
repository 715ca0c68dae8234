"""A statement of the paper beside what Weir measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One line of the table; `holds` is computed, never written down."""

    key: str
    paper: str
    measured: str
    holds: bool | None
    """None where there is nothing to compare with."""
