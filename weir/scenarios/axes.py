"""An axis of a sweep: one field of one edit, over numbers or over ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weir.errors import InvalidProblem
from weir.reading import members, number, shown, whole
from weir.scenarios._reading import entries, text
from weir.scenarios.edits import KINDS, Edit, edit_from_dict

MAX_VALUES = 2000
_SINGLE = ("spread",)
"""Fields of names that take one, not a list."""

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """`edit` is the plain form without `field`; each of `values` completes it."""

    label: str
    edit: dict[str, Any]
    field: str
    values: tuple[Value, ...]

    def at(self, value: Value) -> Edit:
        """Return the edit with this value in the axis' field."""
        given: Any = value
        if isinstance(value, str) and self.field not in _SINGLE:
            given = [value]
        return edit_from_dict({**self.edit, self.field: given}, "edit")

    @property
    def counts(self) -> bool:
        """Whether it varies an amount, and not which thing is meant."""
        return not isinstance(self.values[0], str)

    def words(self, value: Value) -> str:
        """The value as tables show it: a factor in percent, anything else as it is."""
        if isinstance(value, str):
            return f"{self.label}: {value}"
        shown_value = f"{value * 100:g} %" if self.field == "scale" else f"{value:,g}"
        return f"{self.label} {shown_value}"


def axis_from_dict(obj: object, path: str) -> Axis:
    """An axis whose every value makes a well-formed edit. InvalidProblem names the field."""
    plain = members(obj, path, ("label", "edit", "field", "values"))
    label = text(plain["label"], f"{path}.label")
    edit = plain["edit"]
    if not isinstance(edit, dict):
        raise InvalidProblem(f"{path}.edit", f"must be an object, not {shown(edit)}")
    kind = KINDS.get(edit["kind"]) if isinstance(edit.get("kind"), str) else None
    if kind is None:
        edit_from_dict(edit, f"{path}.edit")  # says what is wrong with the kind
        raise AssertionError
    field = plain["field"]
    varied = (*kind.NUMBERS, *kind.NAMES)
    if field not in varied:
        known = ", ".join(varied)
        raise InvalidProblem(
            f"{path}.field", f"{kind.KIND} varies over {known}, not {shown(field)}"
        )
    if field in edit:
        raise InvalidProblem(f"{path}.edit.{field}", "is what the axis varies; leave it out here")
    at = f"{path}.values"
    values = _names(plain["values"], at) if field in kind.NAMES else _numbers(plain["values"], at)
    axis = Axis(label=label, edit=dict(edit), field=field, values=values)
    for value in values:
        try:
            axis.at(value)
        except InvalidProblem as error:
            raise error.below(path) from None
    return axis


def axis_to_dict(axis: Axis) -> dict[str, Any]:
    """The plain form; a range has become the list of its values."""
    return {
        "label": axis.label,
        "edit": dict(axis.edit),
        "field": axis.field,
        "values": list(axis.values),
    }


def _names(obj: object, path: str) -> tuple[Value, ...]:
    given = entries(obj, path, most=MAX_VALUES, least=1)
    for index, value in enumerate(given):
        if not isinstance(value, str):
            raise InvalidProblem(f"{path}[{index}]", f"must be a string, not {shown(value)}")
        if value in given[:index]:
            raise InvalidProblem(f"{path}[{index}]", f"{shown(value)} is given twice; keep one")
    return tuple(given)


def _numbers(obj: object, path: str) -> tuple[Value, ...]:
    if not isinstance(obj, dict):
        given = entries(obj, path, most=MAX_VALUES, least=1)
        return tuple(number(value, f"{path}[{index}]") for index, value in enumerate(given))
    plain = members(obj, path, ("from", "to", "count"))
    low, high = number(plain["from"], f"{path}.from"), number(plain["to"], f"{path}.to")
    count = whole(plain["count"], f"{path}.count", least=2, most=MAX_VALUES)
    if not low < high:
        raise InvalidProblem(f"{path}.to", f"must be above from ({low:g})")
    # Twelve digits: 0.5 to 1.5 in 21 steps gives 0.55, not 0.55000000000000004.
    steps = (low + (high - low) * step / (count - 1) for step in range(count))
    return tuple(float(f"{value:.12g}") for value in steps)
