"""Utility functions: one file per kind, found by folder.

`kinds()` lists them; `utility_from_dict` reads one, `utility_to_dict` writes it back.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from weir.errors import InvalidProblem, join_path
from weir.plugins import discover, from_dict
from weir.reading import mapping, shown
from weir.utility._arrays import FloatArray
from weir.utility._curves import Knots, evaluate, slope_at
from weir.utility._form import Family, Form
from weir.utility._protocol import Batch, Utility

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Batch",
    "Family",
    "FloatArray",
    "Form",
    "Knots",
    "Utility",
    "evaluate",
    "kinds",
    "slope_at",
    "utility_from_dict",
    "utility_to_dict",
]


@cache
def kinds() -> Mapping[str, type[Utility]]:
    """Every kind by name: the one class with a KIND that each file defines."""
    found: dict[str, type[Utility]] = {}
    for name, module in discover("weir.utility").items():
        own = [
            member
            for member in vars(module).values()
            if isinstance(member, type)
            and member.__module__ == module.__name__
            and hasattr(member, "KIND")
        ]
        if len(own) != 1:
            raise TypeError(f"weir.utility.{name} must define one utility kind, not {len(own)}")
        found[own[0].KIND] = cast("type[Utility]", own[0])
    return found


def utility_from_dict(obj: object, path: str = "utility") -> Utility:
    """A utility function from `{"kind": ..., parameters}`."""
    given = mapping(obj, path)
    kind = given.get("kind")
    cls = kinds().get(kind) if isinstance(kind, str) else None
    if cls is None:
        known = ", ".join(kinds())
        if "kind" not in given:
            raise InvalidProblem(path, f'missing key "kind"; give one of {known}')
        raise InvalidProblem(
            join_path(path, "kind"), f"no utility kind {shown(kind)}; known are {known}"
        )
    return from_dict(cls, {key: value for key, value in given.items() if key != "kind"}, path)


def utility_to_dict(utility: Utility) -> dict[str, Any]:
    """The plain form that `utility_from_dict` reads."""
    plain: dict[str, Any] = {"kind": utility.KIND, **asdict(cast("Any", utility))}
    if "points" in plain:
        plain["points"] = [list(point) for point in plain["points"]]
    return plain
