"""Orders as tests write them."""

from dataclasses import fields
from typing import Any

from spark_tasks.order import JobOrder

NAMES = frozenset(field.name for field in fields(JobOrder))


def order(**asked: Any) -> JobOrder:
    """What every job knows by its name; the rest is told."""
    known = {name: value for name, value in asked.items() if name in NAMES}
    inputs = {name: value for name, value in asked.items() if name not in NAMES}
    return JobOrder(**known, inputs=inputs)
