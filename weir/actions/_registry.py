"""Find the modules of `weir.actions` by the kind of action that they define."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from weir.errors import InvalidProblem
from weir.plugins import discover
from weir.reading import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.actions._protocol import ActionKind
    from weir.model.plan import Action


@cache
def kinds() -> Mapping[str, ActionKind]:
    """Map the name of every kind of action to its module."""
    modules = discover("weir.actions").values()
    return {module.KIND: cast("ActionKind", module) for module in modules}


def kind_of(action: Action) -> ActionKind:
    """Return the module of the action's kind. Raise InvalidProblem for an unknown kind."""
    found = kinds().get(action.kind)
    if found is None:
        known = ", ".join(kinds())
        raise InvalidProblem("kind", f"no action kind {shown(action.kind)}; known are {known}")
    return found
