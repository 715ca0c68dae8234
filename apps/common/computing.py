"""Compute while a request waits: with checked parameters, one computation at a time."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from apps.common.errors import ApplicationError
from weir.errors import InvalidProblem, UnknownMethod
from weir.plugins import from_dict

WAIT_S = 2.0
"""How long a request waits for its turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Queue:
    """Computations of one kind, of which this process carries out one at a time."""

    busy: str
    """What callers are told whose turn does not come in time."""
    wait_s: float = WAIT_S
    free: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(1))


@contextmanager
def turn(queue: Queue) -> Iterator[None]:
    """Wait for this computation's turn. Raises ApplicationError when busy."""
    if not queue.free.acquire(timeout=queue.wait_s):
        raise ApplicationError("busy", queue.busy, status=429)
    try:
        yield
    finally:
        queue.free.release()


def params_of(find: Callable[[str], Any], method: str, parameters: Mapping[str, Any]) -> Any:
    """Return the parameters as the method takes them. Raises ApplicationError naming the member.

    `find` returns the method of a name, as `weir.optimizers.method` does.
    """
    try:
        return from_dict(find(method).Params, dict(parameters))
    except UnknownMethod as error:
        raise ApplicationError.of_field(
            "method", str(error), code="unknown_method", detail=str(error)
        ) from error
    except InvalidProblem as error:
        field = f"parameters.{error.path}" if error.path else "parameters"
        raise ApplicationError.of_field(field, error.message) from error
