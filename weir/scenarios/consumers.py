"""Edits of consumer classes: how many want service, and what one of them is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from weir.codec.problem import MAX_POPULATION
from weir.errors import InvalidProblem, join_path
from weir.reading import amount, members
from weir.scenarios._protocol import Measure
from weir.scenarios._reading import ids, ids_or_all, scale_or_set, within_range
from weir.utility import utility_from_dict, utility_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.model import ConsumerClass, Problem, Result
    from weir.utility import Utility

SELECTORS = ("classes", "flows", "nodes")
_WHAT = {"classes": "class", "flows": "flow", "nodes": "node"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Classes by their ids, by their flows, or by their nodes; `by` None means all of them."""

    by: str | None = None
    ids: tuple[str, ...] = ()

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> Selection:
        """The one selector that is given; none, or `"classes": "all"`, selects all."""
        given = [name for name in SELECTORS if name in obj]
        if len(given) > 1:
            raise InvalidProblem(path, f"give one of {', '.join(SELECTORS)}, not {len(given)}")
        if not given:
            return cls()
        by = given[0]
        reader = ids_or_all if by == "classes" else ids
        chosen = reader(obj[by], join_path(path, by))
        return cls() if chosen is None else cls(by=by, ids=chosen)

    def plain(self) -> dict[str, Any]:
        """Write the selection in the form that `read` accepts."""
        return {"classes": "all"} if self.by is None else {self.by: list(self.ids)}

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        """Field, kind of thing and id of every entry."""
        for index, name in enumerate(self.ids):
            yield f"{self.by}[{index}]", _WHAT[self.by or "classes"], name

    def pick(self, problem: Problem) -> list[bool]:
        """Whether each class of the problem is selected."""
        if self.by is None:
            return [True] * len(problem.classes)
        chosen = frozenset(self.ids)
        if self.by == "flows":
            return [row.flow in chosen for row in problem.classes]
        if self.by == "nodes":
            return [row.node in chosen for row in problem.classes]
        return [row.id in chosen for row in problem.classes]


def scaled_population(population: int, factor: float, who: str) -> int:
    """Rounded to the nearest whole consumer, halves upwards; a factor of 1 changes nothing."""
    if factor == 1:
        return population
    wanted = population * factor
    if wanted > MAX_POPULATION:
        raise InvalidProblem(
            "scale", f"would give class {who} {wanted:g} consumers; at most {MAX_POPULATION:,}"
        )
    return min(MAX_POPULATION, math.floor(wanted + 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Scale or set how many consumers of the selected classes want service."""

    KIND: ClassVar[str] = "population"
    NUMBERS: ClassVar[tuple[str, ...]] = ("scale", "set")
    NAMES: ClassVar[tuple[str, ...]] = SELECTORS

    which: Selection
    scale: float | None = None
    set: int | None = None

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> Population:
        members(obj, path, (), (*SELECTORS, "scale", "set"))
        scale, fixed = scale_or_set(obj, path)
        if fixed is not None and (fixed != int(fixed) or fixed > MAX_POPULATION):
            raise InvalidProblem(
                join_path(path, "set"),
                f"must be a whole number of consumers, at most {MAX_POPULATION:,}",
            )
        return cls(
            which=Selection.read(obj, path),
            scale=scale,
            set=None if fixed is None else int(fixed),
        )

    def plain(self) -> dict[str, Any]:
        change = {"scale": self.scale} if self.scale is not None else {"set": self.set}
        return self.which.plain() | change

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from self.which.refers_to()

    def apply(self, problem: Problem) -> Problem:
        return replace(
            problem,
            classes=tuple(
                replace(row, population_max=self._edited(row)) if chosen else row
                for row, chosen in zip(problem.classes, self.which.pick(problem), strict=True)
            ),
        )

    def _edited(self, row: ConsumerClass) -> int:
        if self.scale is None:
            return self.set or 0
        return scaled_population(row.population_max, self.scale, row.id)

    def measure(self, problem: Problem, result: Result) -> Measure:
        picked = zip(problem.classes, self.which.pick(problem), strict=True)
        return Measure(quantity=float(sum(row.population_max for row, chosen in picked if chosen)))


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityWeight:
    """Multiply what one consumer of the selected classes is worth, at every rate."""

    KIND: ClassVar[str] = "utility_weight"
    NUMBERS: ClassVar[tuple[str, ...]] = ("scale",)
    NAMES: ClassVar[tuple[str, ...]] = SELECTORS

    which: Selection
    scale: float

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> UtilityWeight:
        members(obj, path, ("scale",), SELECTORS)
        return cls(
            which=Selection.read(obj, path), scale=amount(obj["scale"], join_path(path, "scale"))
        )

    def plain(self) -> dict[str, Any]:
        return self.which.plain() | {"scale": self.scale}

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from self.which.refers_to()

    def apply(self, problem: Problem) -> Problem:
        if self.scale == 1:
            return problem
        # Classes share utility objects; each distinct one is scaled once.
        done: dict[int, Utility] = {}
        classes = []
        for row, chosen in zip(problem.classes, self.which.pick(problem), strict=True):
            if chosen:
                key = id(row.utility)
                if key not in done:
                    done[key] = scaled_utility(row.utility, self.scale, f"class {row.id}")
                row = replace(row, utility=done[key])
            classes.append(row)
        return replace(problem, classes=tuple(classes))

    def measure(self, problem: Problem, result: Result) -> Measure:
        return Measure()


def scaled_utility(utility: Utility, factor: float, who: str) -> Utility:
    """The same curve, `factor` times as high."""
    plain = utility_to_dict(utility)
    what = f"worth of {who}"
    if "points" in plain:
        plain["points"] = [
            [rate, math.copysign(within_range(abs(worth * factor), "scale", what), worth)]
            for rate, worth in plain["points"]
        ]
    else:
        name = next((name for name in ("weight", "max_utility") if name in plain), None)
        if name is None:
            raise InvalidProblem("scale", f"a utility of kind {utility.KIND} has no weight")
        plain[name] = within_range(plain[name] * factor, "scale", what)
    try:
        return utility_from_dict(plain, "utility")
    except InvalidProblem as error:
        # Scaling can lose the last digits of very small slopes; that is not a valid curve.
        raise InvalidProblem("scale", f"the {what} would not be valid: {error}") from None
