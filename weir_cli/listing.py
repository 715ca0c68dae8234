"""List what there is, and find one thing by its name."""

from importlib import import_module
from inspect import signature
from itertools import compress
from typing import Any
from uuid import UUID

from weir_api.api.systems import systems_list
from weir_api.types import UNSET
from weir_cli.calls import Operation, Refused, Weir, note
from weir_cli.ending import CommandError
from weir_cli.output import as_json, plain, table

OF_SYSTEM = ("system_name", "name")


KINDS: dict[str, tuple[str, ...]] = {
    "systems": ("name", "external_id", "product_name", "model_version", "updated_at"),
    "brokers": (*OF_SYSTEM, "external_id", "region", "publish_rate_max_per_s", "version"),
    "links": (*OF_SYSTEM, "external_id", "source_name", "target_name", "capacity", "latency_s"),
    "overlays": (*OF_SYSTEM, "external_id", "purpose", "in_force", "version"),
    "correlation-keys": (*OF_SYSTEM, "external_id", "description"),
    "groups": (*OF_SYSTEM, "external_id", "number"),
    "streams": (*OF_SYSTEM, "external_id", "number", "group_name"),
    "topics": (
        *(*OF_SYSTEM, "external_id", "source_name", "rate_min_per_s", "rate_max_per_s"),
        "delivery",
    ),
    "publishers": (*OF_SYSTEM, "external_id", "topic_name", "broker_name", "rate_per_s"),
    "utility-functions": (*OF_SYSTEM, "external_id", "kind", "parameters"),
    "consumer-classes": (
        *(*OF_SYSTEM, "external_id", "topic_name", "broker_name", "utility_name"),
        "population_max",
    ),
    "slos": (*OF_SYSTEM, "external_id", "topic_name", "quantity", "target", "window_s"),
    "subscribers": (*OF_SYSTEM, "external_id", "broker_name", "description"),
    "plans": (
        *("system_name", "name", "state", "title", "author", "change_ticket"),
        *("approvals_given", "approvals_needed", "updated_at"),
    ),
    "executions": (
        *("system_name", "name", "plan_name", "state", "actions_done", "actions_total"),
        "started_at",
    ),
    "runs": ("system_name", "number", "kind", "method", "state", "created_at", "finished_at"),
    "allocations": (
        *("system_name", "number", "status", "method", "utility", "upper_bound"),
        *("admitted", "wanted", "created_at"),
    ),
    "placements": (*OF_SYSTEM, "topic_name", "brokers", "moved", "p99_s", "meets", "created_at"),
    "mappings": (*OF_SYSTEM, "method", "flows", "cost", "former_cost", "moved", "created_at"),
    "agents": ("system_name", "broker_name", "state", "agent_version", "last_report_at"),
}
LARGEST_PAGE = 500
NUMBERED = {"runs": "R", "allocations": "A"}
"""Kinds whose rows have a number and no name: the letter before it."""
HEADS = {"system_name": "system", "number": "name"}


class Value(str):
    """A value of an enumeration as somebody typed it: the server judges whether there is such."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """Return it as the generated client reads members of enumerations."""
        return str(self)


def operation_of(kind: str, verb: str) -> Operation:
    """Return the generated operation that lists a kind, or retrieves one of it."""
    name = kind.replace("-", "_")
    operation: Operation = import_module(f"weir_api.api.{name}.{name}_{verb}").sync_detailed
    return operation


def list_rows(weir: Weir, kind: str, filters: dict[str, Any], most: int | None) -> list[Any]:
    """Return rows of a kind, at most so many. Raises CommandError for a filter that it lacks."""
    operation = operation_of(kind, "list")
    takes = signature(operation).parameters
    for name, value in filters.items():
        if value is not UNSET and name not in takes:
            raise CommandError(f"{kind} cannot be filtered by {name}; leave --{name} out.")
    given = {name: value for name, value in filters.items() if value is not UNSET}
    rows = []
    for row in weir.rows(operation, **given, page_size=min(most or LARGEST_PAGE, LARGEST_PAGE)):
        rows.append(row)
        if len(rows) == most:
            break
    return rows


def list_command(
    weir: Weir, kind: str, filters: dict[str, Any], most: int | None, json: bool
) -> None:
    """Print rows of a kind as a table, or as the API answers them."""
    rows = list_rows(weir, kind, filters, None if most is None else most + 1)
    if most is not None and len(rows) > most:
        del rows[most:]
        note(f"these are the first {most:,}; --most N shows more, --most 0 all.")
    if json:
        print(as_json(rows))
        return
    if not rows:
        print(f"No {kind.replace('-', ' ')}.")
        return
    cells = [_cells(kind, row) for row in rows]
    # A column that is empty everywhere only makes lines long.
    used = [any(plain(cell) for cell in column) for column in zip(*cells, strict=True)]
    print(table([list(compress(row, used)) for row in cells], list(compress(_heads(kind), used))))


def _heads(kind: str) -> list[str]:
    columns = KINDS[kind]
    heads = [HEADS.get(column, column.removesuffix("_name")) for column in columns]
    return [head.replace("_", " ") for head in heads]


def _cells(kind: str, row: Any) -> list[Any]:
    cells = [getattr(row, column, None) for column in KINDS[kind]]
    if kind in NUMBERED:
        place = KINDS[kind].index("number")
        cells[place] = name_of(kind, row)
    return cells


def name_of(kind: str, row: Any) -> str:
    """Return how people call a row, such as `A-26`."""
    if kind in NUMBERED:
        return f"{NUMBERED[kind]}-{row.number}"
    return str(row.name)


def find_system(weir: Weir, name: str | None) -> Any:
    """Return the system of this name, external id or id; without one, the only system there is."""
    if name is None:
        systems = list_rows(weir, "systems", {}, 2)
        if len(systems) == 1:
            return systems[0]
        which = "there is none" if not systems else "there are several"
        raise CommandError(f"Which system? Give --system NAME or set WEIR_SYSTEM: {which}.")
    if (system := system_or_none(weir, name)) is not None:
        return system
    raise CommandError(f'There is no system "{name}"; `weir list systems` shows which there are.')


def system_or_none(weir: Weir, name: str) -> Any:
    """Return the system of this name, external id or id; None where there is none.

    Raises CommandError for an empty name, which would filter nothing.
    """
    if not name.strip():
        raise CommandError("The name of the system is empty; is a variable not set?")
    if (key := uuid_of(name)) is not None:
        return _by_id(weir, "systems", key)
    for filters in ({"name": name}, {"external_id": name}):
        for row in weir.rows(systems_list.sync_detailed, **filters):
            if name in (row.name, row.external_id):
                return row
    return None


def find(weir: Weir, kind: str, name: str, system: str | None) -> Any:
    """Return the row of a kind that people call so, such as `P-12`, or that has this id.

    Names count up within a system: where several systems have the name, one has to be given.
    """
    if (key := uuid_of(name)) is not None:
        row = _by_id(weir, kind, key)
    else:
        filters: dict[str, Any] = {}
        if kind != "runs":
            filters["system"] = _only_system(weir, name, system).id
        elif system is not None:
            filters["system"] = find_system(weir, system).id
        rows = weir.rows(operation_of(kind, "list"), **filters, page_size=LARGEST_PAGE)
        row = next((one for one in rows if name_of(kind, one).lower() == name.lower()), None)
    if row is None:
        one = kind.removesuffix("s")
        raise CommandError(f'There is no {one} "{name}"; `weir list {kind}` shows which there are.')
    return row


def _by_id(weir: Weir, kind: str, key: UUID) -> Any:
    try:
        return weir.answer(operation_of(kind, "retrieve"), key).parsed
    except Refused as refusal:
        if refusal.problem.status == 404:
            return None
        raise


def _only_system(weir: Weir, name: str, system: str | None) -> Any:
    try:
        return find_system(weir, system)
    except CommandError as error:
        if system is not None:
            raise
        raise CommandError(f"{name} counts within its system. {error}") from error


def uuid_of(text: str) -> UUID | None:
    """Return the id that a text is; None where it is a name."""
    try:
        return UUID(text)
    except ValueError:
        return None
