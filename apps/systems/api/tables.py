"""Read and write the objects of one kind as CSV: one line each, references by name.

A column is a plain field, a reference, or one resource of a list by resource, such as
`capacities.cpu`. Other lists have no column: they are imported as JSON.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from rest_framework import serializers

from apps.common.api.forms import no_such
from apps.common.csv_text import guarded, separator_of, unguarded
from apps.common.errors import FieldError
from apps.common.json_reader import UnreadableJson, read_json
from apps.systems.api.entities import Reference
from apps.systems.models import Entity, System
from apps.systems.selectors import OUTSIDE_MODEL
from apps.systems.services import Given, rows_refused

TRUE_FALSE = ("true", "false")
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
Field = serializers.Field[Any, Any, Any, Any]


def rows_of_lines(errors: Sequence[FieldError]) -> Exception:
    """Return the refusal of lines that cannot be read."""
    return rows_refused(errors[:100], len(errors))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: a field of the serializer, or `resource` of its list."""

    name: str
    field: Field
    default: Any = None
    has_default: bool = False
    resource: str = ""
    amount: str = ""

    @property
    def is_text(self) -> bool:
        """Return whether its cells are any text, which a spreadsheet may take for a formula."""
        plain = isinstance(self.field, serializers.CharField)
        return plain or isinstance(self.field, Reference)

    def cell(self, row: Entity) -> str:
        """Return what the object has in this column."""
        value = getattr(row, str(self.field.source))
        if self.resource:
            amounts = {child.resource: getattr(child, self.amount) for child in value.all()}
            return _number(amounts.get(self.resource))
        if value is None:
            return ""
        if isinstance(value, bool):
            return TRUE_FALSE[not value]
        if isinstance(value, dict):
            if value == self.default and self.has_default:
                return ""
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, int | float):
            return _number(value)
        return guarded(str(value)) if self.is_text else str(value)

    def value(self, text: str) -> Any:
        """Return what a cell means, as the field reads it. Raises ValueError with a sentence."""
        if self.is_text:
            text = unguarded(text)
            # Names that a reference means are compared as they are stored, trimmed.
            text = text.strip() if isinstance(self.field, Reference) else text
        else:
            text = text.strip()
        if text == "":
            return self._empty()
        if isinstance(self.field, serializers.DictField):
            try:
                return read_json(text.encode())
            except UnreadableJson as error:
                raise ValueError(str(error)) from None
        number = self.resource or isinstance(
            self.field, serializers.FloatField | serializers.IntegerField
        )
        if number and DECIMAL_COMMA.fullmatch(text):
            raise ValueError(f'Write a decimal point: "{text.replace(",", ".")}".')
        return text

    def _empty(self) -> Any:
        if self.resource or self.field.allow_null:
            return None
        if getattr(self.field, "allow_blank", False):
            return ""
        if self.has_default:
            return self.default
        raise ValueError("Give a value; this column may not be empty.")


def _number(value: float | None) -> str:
    # Python writes the shortest text that reads as the same number.
    return "" if value is None else repr(value).removesuffix(".0")


def columns_of(form: Any, system: System) -> dict[str, Column]:
    """Return the columns of a kind by name, in the order of its serializer; ids and labels of other
    systems at the end."""
    model: type[Entity] = form.Meta.model
    columns: dict[str, Column] = {}
    # What other systems know of it comes last: most tables have nothing there.
    for name, field in sorted(form.fields.items(), key=lambda pair: pair[0] in OUTSIDE_MODEL):
        if field.read_only or name in ("system", "reason"):
            continue
        if isinstance(field, serializers.ListSerializer):
            if model.children.get(name) == ("resource",):
                child: Any = field.child
                (amount,) = [each for each in child.fields if each != "resource"]
                for resource in system.resources:
                    column = f"{name}.{resource}"
                    columns[column] = Column(
                        name=column, field=field, resource=resource, amount=amount
                    )
            continue
        try:
            stored: Any = model._meta.get_field(str(field.source))
        except FieldDoesNotExist:
            continue
        columns[name] = Column(
            name=name,
            field=field,
            has_default=stored.has_default(),
            default=stored.get_default() if stored.has_default() else None,
        )
    return columns


def write_table(columns: Iterable[Column], rows: Iterable[Entity]) -> str:
    """Return the objects as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    columns = list(columns)
    writer.writerow([column.name for column in columns])
    for row in rows:
        writer.writerow([column.cell(row) for column in columns])
    return out.getvalue()


def read_table(text: str, columns: Mapping[str, Column]) -> list[Given]:
    """Return the rows of a CSV. Raises ApplicationError that names lines and columns."""
    lines = _records(text)
    head = next(lines, None)
    if head is None:
        raise rows_of_lines([FieldError(field="", message="The CSV is empty.", line=1)])
    line, names = head
    names = [name.strip() for name in names]
    _check_head(line, names, columns)
    return [_given(line, names, cells, columns) for line, cells in lines]


def _given(
    line: int, names: Sequence[str], cells: Sequence[str], columns: Mapping[str, Column]
) -> Given:
    if len(cells) != len(names):
        message = f"Has {len(cells)} cells, but the header has {len(names)}."
        flaw = FieldError(field="", message=message, line=line)
        return Given(name="", members={}, line=line, flaws=[flaw])
    members: dict[str, Any] = {}
    flaws: list[FieldError] = []
    for name, cell in zip(names, cells, strict=True):
        try:
            _put(members, columns[name], cell)
        except ValueError as error:
            flaws.append(FieldError(field=name, message=str(error), line=line))
    name = str(members.get("name", "")).strip()
    return Given(name=name, members=members, line=line, flaws=flaws)


def _put(members: dict[str, Any], column: Column, cell: str) -> None:
    value = column.value(cell)
    if not column.resource:
        members[column.name] = value
        return
    amounts = members.setdefault(str(column.field.field_name), [])
    if value is not None:
        amounts.append({"resource": column.resource, column.amount: value})


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return the line number and cells of each record; lines without any text are passed over."""
    first = text.lstrip("\r\n").partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(first), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        message = f"This is not CSV: {error}."
        raise rows_of_lines([FieldError(field="", message=message, line=line)]) from error


def _check_head(line: int, names: Sequence[str], columns: Mapping[str, Column]) -> None:
    errors = [
        FieldError(field=name[:60], message=no_such(name, columns, "column"), line=line)
        for name in dict.fromkeys(names)
        if name not in columns
    ]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1 and name in columns]
    errors += [FieldError(field=name, message="Stands here twice.", line=line) for name in twice]
    lists = {columns[name].field.field_name for name in names if name in columns} & {
        column.field.field_name for column in columns.values() if column.resource
    }
    errors += [
        FieldError(field=column.name, message="Add this column: lists are whole.", line=line)
        for column in columns.values()
        if column.field.field_name in lists and column.name not in names
    ]
    if "name" not in names:
        message = "The header needs the column `name`: it says which object a line is about."
        errors.append(FieldError(field="name", message=message, line=line))
    if errors:
        raise rows_of_lines(errors)
