"""A study as the list of problems to solve, and the check that it fits a problem."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from weir.errors import InvalidProblem
from weir.scenarios.axes import Value
from weir.scenarios.consumers import Population, Selection
from weir.scenarios.edits import Edit, Known, applied
from weir.scenarios.spec import MethodChoice, Schedule, Segment, Study, Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.model import Problem

AS_IS = "As is"
LARGE = 50_000
"""Classes above which checking applies only the base edits; the rest is checked by its ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One problem to solve with one method."""

    index: int
    label: str
    method: MethodChoice
    edits: tuple[Edit, ...]
    coordinates: tuple[Value, ...] = ()
    """One per axis; of a schedule the number of the segment; empty for the others."""
    measured: tuple[Edit | None, ...] = ()
    """One per axis: the edit whose quantity and price are reported; None where it varies ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Cases that one worker solves in order; `warm` ones each begin where the last left off."""

    cases: tuple[Case, ...]
    warm: bool = False


def expand(study: Study) -> tuple[Unit, ...]:
    """Everything to solve, numbered; the same study always gives the same list."""
    return tuple(_sweep(study) if isinstance(study, Sweep) else _schedule(study))


def count_cases(study: Study) -> int:
    """How many answers the study has."""
    return sum(len(unit.cases) for unit in expand(study))


def _sweep(study: Sweep) -> Iterator[Unit]:
    index = 0
    for label, before, axes, coordinates in _scenarios(study):
        # Of the model as it is too: that is the operating point on the axis.
        varied = axes or tuple(axis.at(axis.values[0]) for axis in study.axes)
        measured = tuple(
            edit if axis.counts else None for axis, edit in zip(study.axes, varied, strict=True)
        )
        for method in study.methods:
            case = Case(
                index=index,
                label=label,
                method=method,
                edits=(*before, *axes),
                coordinates=coordinates,
                measured=measured,
            )
            yield Unit(cases=(case,))
            index += 1


def _scenarios(
    study: Sweep,
) -> Iterator[tuple[str, tuple[Edit, ...], tuple[Edit, ...], tuple[Value, ...]]]:
    """Label, the edits that come first, those of the axes, and the values on these."""
    yield AS_IS, (), (), ()
    for scenario in study.scenarios:
        yield scenario.label, (*study.base, *scenario.edits), (), ()
    if not study.axes:
        return
    for values in product(*(axis.values for axis in study.axes)):
        pairs = list(zip(study.axes, values, strict=True))
        label = ", ".join(axis.words(value) for axis, value in pairs)
        yield label, study.base, tuple(axis.at(value) for axis, value in pairs), values


def _schedule(study: Schedule) -> Iterator[Unit]:
    index = 0
    days = [(segment, _populations(study, segment)) for segment in study.segments]
    for method in study.methods:
        cases = []
        for number, (segment, edits) in enumerate(days):
            cases.append(
                Case(
                    index=index,
                    label=segment.label,
                    method=method,
                    edits=(*study.base, *edits),
                    coordinates=(float(number),),
                )
            )
            index += 1
        yield Unit(cases=tuple(cases), warm=study.warm)


def _populations(study: Schedule, segment: Segment) -> list[Edit]:
    return [
        Population(
            which=Selection(by="classes", ids=group.classes),
            scale=segment.percent[group.name] / 100.0,
        )
        for group in study.groups
        if group.name in segment.percent
    ]


def check(study: Study, problem: Problem) -> None:
    """InvalidProblem for the first field of the study that does not fit the problem."""
    edited = applied(problem, study.base, "base").problem
    known = Known(edited)
    for index, group in enumerate(study.groups):
        which = Population(which=Selection(by="classes", ids=group.classes), scale=1.0)
        try:
            known.refuse_unknown(which)
        except InvalidProblem as error:
            raise error.below(f"groups[{index}]") from None
    if isinstance(study, Sweep):
        _check_sweep(study, edited, known)


def _check_sweep(study: Sweep, edited: Problem, known: Known) -> None:
    small = len(edited.classes) <= LARGE
    for index, axis in enumerate(study.axes):
        edit = axis.at(axis.values[0])
        by_name = isinstance(axis.values[0], str)
        for position, value in enumerate(axis.values if by_name else axis.values[:1]):
            edit = axis.at(value)
            try:
                known.refuse_unknown(edit)
                if small and position == 0:
                    edit.apply(edited)
            except InvalidProblem as error:
                if by_name and error.path.startswith(axis.field):
                    path = f"axes[{index}].values[{position}]"
                    raise InvalidProblem(path, error.message) from None
                raise error.below(f"axes[{index}].edit") from None
    for index, scenario in enumerate(study.scenarios):
        path = f"scenarios[{index}].edits"
        if small and len(study.scenarios) * len(edited.classes) <= LARGE:
            applied(edited, scenario.edits, path)
        else:
            for position, one in enumerate(scenario.edits):
                try:
                    known.refuse_unknown(one)
                except InvalidProblem as error:
                    raise error.below(f"{path}[{position}]") from None
