"""The parts of the stack, in the order in which they start: one file per server."""

from config.stack.parts import django, nats, postgres, spark, valkey
from config.stack.parts.base import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        postgres.PART,
        valkey.PART,
        nats.PART,
        spark.PART,
        django.WEB,
        django.WORKER,
        django.CONTROL,
        django.BEAT,
    )
}

__all__ = ["PARTS", "Part"]
