"""Search all publishers of an activity for groups that burst together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir.correlation.suggested import ExampleRow, Group, Period, Suggested

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from weir.correlation.activity import Activity, Search

__all__ = ["ExampleRow", "Group", "Period", "Suggested", "suggest"]


def suggest(
    activity: Activity,
    search: Search,
    *,
    report: Callable[[Mapping[str, Any]], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> Suggested:
    """Search an activity in this process; `report` takes phase, done and total."""
    raise NotImplementedError
