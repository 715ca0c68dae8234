"""Compare flows and classes as agents carry and serve them with what the model asks for."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.executions.selectors import in_force
from apps.executions.selectors.modelled import CLASS, FLOW, STRUCTURE, asked_by_model
from apps.systems.models import System
from weir.actions import SettingKey, target_key, target_of
from weir.model.plan import Value

MOST = 500
"""Rows of one answer; `total` says how many there are."""
KIND_OF = {"flow": FLOW, "class": CLASS}
RATE, LIMIT = "set_flow_rate", "set_population"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """Describe one flow, or one class at one broker."""

    kind: str
    name: str
    broker: str | None
    in_force: str
    model: str
    differs: bool
    limit: float | None
    """The rate or the number of consumers that is let through; None: nothing limits it."""
    unit: str


def structure_words(kind: str, value: Value | None) -> str:
    """Return what a value of a flow's or a class's setting says, in a few words."""
    if value is None:
        return "not carried" if kind == FLOW else "not served"
    if kind == CLASS:
        return f"receives {value['flow']}"
    where = f"from {value['broker']}" if value["broker"] else "from nowhere yet"
    return f"{where}, {str(value['delivery']).replace('_', ' ')}"


def model_states(
    system: System, *, kind: str = "", name: str = "", differs: bool | None = None
) -> tuple[int, list[ModelState]]:
    """Return how many there are of these, and the first of them: flows by name, then classes."""
    asked = asked_by_model(system)
    every = in_force(system).settings
    settings = {key: v for key, v in every.items() if key[0] in STRUCTURE}
    found = []
    for key in sorted({*asked, *settings}):
        if kind and key[0] != KIND_OF[kind]:
            continue
        target = target_of(key)
        row = ModelState(
            kind="flow" if key[0] == FLOW else "class",
            name=target["flow"] if key[0] == FLOW else target["class"],
            broker=target.get("broker"),
            in_force=structure_words(key[0], settings.get(key)),
            model=structure_words(key[0], asked[key].value if key in asked else None),
            differs=settings.get(key) != (asked[key].value if key in asked else None),
            limit=_limit(key, every),
            unit="msg/s" if key[0] == FLOW else "consumers",
        )
        if name in ("", row.name) and differs in (None, row.differs):
            found.append(row)
    return len(found), found[:MOST]


def _limit(key: SettingKey, settings: Mapping[SettingKey, Value]) -> float | None:
    """Return what limits a flow at the broker where it enters, or a class of the flow that it
    receives."""
    value, target = settings.get(key), target_of(key)
    if value is None:
        return None
    if key[0] == FLOW:
        there = {"flow": target["flow"], "broker": value["broker"]}
        rate = settings.get((RATE, target_key(there)))
        return None if rate is None else float(rate["rate_per_s"])
    limit = settings.get((LIMIT, target_key({**target, "flow": value["flow"]})))
    return None if limit is None else float(limit["limit"])
