"""Move flows and streams in the map in force, in the transaction in which a move is committed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from apps.audit.services import record_all
from apps.catalog.models import Group, Stream
from apps.executions.models import Execution
from apps.executions.selectors.flow_map import MEMBERS, MODELS, names_moved
from apps.systems.models import Entity
from apps.systems.services.edit import advance, entry_of, lock
from weir import actions as kinds
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.errors import InvalidProblem
from weir.model.plan import Action
from weir.reading import shown

PLACES: dict[str, type[Entity]] = {FLOW: Stream, STREAM: Group}
NOUNS = {FLOW: "topic", STREAM: "stream"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    """A row with its new place, not written yet."""

    row: Any
    action: Action


class MapMoves:
    """Moves of one round of an execution; `save` writes them as one edit of the model."""

    def __init__(self, execution: Execution) -> None:
        """Take the execution whose moves they are."""
        self._execution = execution
        self._rows: dict[tuple[str, str], Any] = {}
        self._places: dict[tuple[str, str], Any] = {}
        self._moved: list[_Moved] = []

    def move(self, action: Action, beside: Iterable[Action]) -> None:
        """Take one move up. `beside`: the actions of its step, which are read with it.

        Raises InvalidProblem where what moves, or where it goes, is not what and where the plan
        has it any more.
        """
        self._load(action, beside)
        member, where = MEMBERS[action.kind]
        name = action.target[member]
        row = self._rows.get((action.kind, name))
        if row is None:
            raise InvalidProblem(f"target.{member}", f"there is no {NOUNS[action.kind]} {name}")
        place = getattr(row, where)
        planned = None if action.before is None else action.before[where]
        if (None if place is None else place.name) != planned:
            present = f"no {where}" if place is None else kinds.called(where, place.name)
            raise InvalidProblem("before", f"{name} is in {present} by now")
        goal = None
        if action.after is not None:
            goal = self._places.get((action.kind, action.after[where]))
            if goal is None:
                missing = shown(action.after[where])
                raise InvalidProblem(f"after.{where}", f"there is no {where} {missing}")
        setattr(row, where, goal)
        self._moved.append(_Moved(row=row, action=action))

    def save(self) -> None:
        """Write the moves: one new model version, a new version and an audit entry of each row."""
        if not self._moved:
            return
        system, now = self._execution.system, timezone.now()
        for kind, model in MODELS.items():
            rows = [each.row for each in self._moved if each.action.kind == kind]
            for row in rows:
                row.version += 1
                row.updated_at = now
            columns = [MEMBERS[kind][1], "version", "updated_at"]
            model._default_manager.bulk_update(rows, columns)
        models = {MODELS[each.action.kind] for each in self._moved}
        advance(system, models.pop() if len(models) == 1 else None)
        record_all([self._entry(each) for each in self._moved])
        self._moved = []

    def _load(self, action: Action, beside: Iterable[Action]) -> None:
        """Read and lock what the step moves, in two statements a kind."""
        member = MEMBERS[action.kind][0]
        if (action.kind, action.target[member]) in self._rows:
            return
        every = [action, *beside]
        system = self._execution.system
        system.model_version = lock(system).model_version
        for kind, names in names_moved(every).items():
            where = MEMBERS[kind][1]
            rows = MODELS[kind]._default_manager.select_for_update(of=("self",))
            wanted = rows.filter(system=system, name__in=names).select_related(where)
            for row in wanted.order_by("pk"):
                row.system = system
                self._rows.setdefault((kind, row.name), row)
            goals = {a.after[where] for a in every if a.kind == kind and a.after is not None}
            for place in PLACES[kind]._default_manager.filter(system=system, name__in=goals):
                self._places[kind, place.name] = place

    def _entry(self, moved: _Moved) -> Any:
        where = MEMBERS[moved.action.kind][1]
        before, after = (
            {where: None if value is None else value[where]}
            for value in (moved.action.before, moved.action.after)
        )
        execution = self._execution
        reason = f"{execution} of {execution.subject_name}: {kinds.title(moved.action)}"
        return entry_of(
            *("update", moved.row, execution.system, None, reason[:500]),
            before=before,
            after=after,
        )
