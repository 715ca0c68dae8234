"""List the parts of the stack, in the order in which they start: one file per kind of server."""

from collections.abc import Mapping

from config.stack.errors import StackError
from config.stack.parts import django, fleet, postgres, spark, valkey
from config.stack.parts.base import Part
from config.stack.parts.brokers import BROKERS

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        postgres.PART,
        valkey.PART,
        spark.PART,
        *BROKERS,
        django.WEB,
        django.WORKER,
        django.CONTROL,
        django.IMPORTS,
        django.BEAT,
        django.COORDINATOR,
        *fleet.AGENTS,
        fleet.TRAFFIC,
    )
}
_FLEET = {part.name for part in fleet.PARTS}


def default_parts(given: Mapping[str, str]) -> tuple[str, ...]:
    """Return what `up` starts by default: everything, or without the demo's brokers and agents.

    A user with an own broker (NATS_URL) has no use for the demo's. Raises StackError when
    WEIR_FLEET is neither `on` nor `off`.
    """
    wish = given.get("WEIR_FLEET", "").strip().lower()
    wish = wish or ("off" if given.get("NATS_URL") else "on")
    if wish not in ("on", "off"):
        raise StackError(f"WEIR_FLEET={wish!r}: write on or off")
    return tuple(name for name in PARTS if wish == "on" or name not in _FLEET)


__all__ = ["PARTS", "Part", "default_parts"]
