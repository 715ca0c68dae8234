"""Named edits of a problem: read, written back, applied in order.

An edit is plain data, `{"kind": ..., fields}`. Applying gives a problem that the codec would
accept, or an InvalidProblem that names the field; there is no third way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem, join_path
from weir.reading import shown
from weir.scenarios._protocol import Edit, Measure
from weir.scenarios.budget import Budget
from weir.scenarios.capacities import LinkCapacity, NodeCapacity
from weir.scenarios.consumers import Population, UtilityWeight
from weir.scenarios.removals import RemoveFlow, RemoveLink, RemoveNode

if TYPE_CHECKING:
    from weir.model import Problem

__all__ = ["KINDS", "Edit", "Edited", "Known", "Measure", "applied", "edit_from_dict"]

KINDS: dict[str, type[Edit]] = {
    kind.KIND: kind
    for kind in (
        NodeCapacity,
        LinkCapacity,
        Budget,
        Population,
        UtilityWeight,
        RemoveFlow,
        RemoveNode,
        RemoveLink,
    )
}
_KNOWN_SHOWN = 8


def edit_from_dict(obj: object, path: str = "") -> Edit:
    """One edit from its plain form."""
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    kind = obj.get("kind")
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        known = ", ".join(KINDS)
        if "kind" not in obj:
            raise InvalidProblem(path, f'missing key "kind"; give one of {known}')
        raise InvalidProblem(join_path(path, "kind"), f"no edit {shown(kind)}; known are {known}")
    return cls.read({key: value for key, value in obj.items() if key != "kind"}, path)


def edit_to_dict(edit: Edit) -> dict[str, Any]:
    """The plain form that `edit_from_dict` reads."""
    return {"kind": edit.KIND, **edit.plain()}


class Known:
    """The ids of a problem, gathered kind by kind when first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._ids: dict[str, frozenset[str]] = {}

    def _of(self, what: str) -> frozenset[str]:
        if what not in self._ids:
            problem = self._problem
            self._ids[what] = frozenset(
                {
                    "node": lambda: [row.id for row in problem.nodes],
                    "link": lambda: [row.id for row in problem.links],
                    "flow": lambda: [row.id for row in problem.flows],
                    "class": lambda: [row.id for row in problem.classes],
                    "resource": lambda: list(problem.resources),
                }[what]()
            )
        return self._ids[what]

    def refuse_unknown(self, edit: Edit) -> None:
        """InvalidProblem for the first reference to something that is not there."""
        for field, what, name in edit.refers_to():
            ids = self._of(what)
            if name not in ids:
                listed = sorted(ids)[:_KNOWN_SHOWN]
                more = ", ..." if len(ids) > _KNOWN_SHOWN else ""
                there = f"known are {', '.join(listed)}{more}" if listed else "there is none"
                raise InvalidProblem(field, f"no {what} {shown(name)}; {there}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """An edited problem, and the budgets that were pooled with what they were pooled from."""

    problem: Problem
    pools: tuple[tuple[Budget, Problem], ...] = ()


def applied(problem: Problem, edits: Sequence[Edit], path: str = "edits") -> Edited:
    """The problem after all edits, in order. Raises InvalidProblem naming edit and field."""
    pools: list[tuple[Budget, Problem]] = []
    for index, edit in enumerate(edits):
        try:
            Known(problem).refuse_unknown(edit)
            if isinstance(edit, Budget) and edit.spread == "best":
                pools.append((edit, problem))
            problem = edit.apply(problem)
        except InvalidProblem as error:
            raise error.below(f"{path}[{index}]") from None
    return Edited(problem=problem, pools=tuple(pools))
