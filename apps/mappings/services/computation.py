"""Define maps of flows as a kind of computation: what is frozen and stored."""

from collections.abc import Mapping as Members
from typing import Any

from apps.mappings.models import Mapping
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.systems.models import System
from weir.clustering import DEFAULT as DEFAULT_METHOD

KIND = "mapping"


def freeze(
    system: System,
    *,
    method: str = DEFAULT_METHOD,
    parameters: Members[str, Any] | None = None,
    seed: int = 0,
    time_limit_s: float | None = None,
    note: str = "",
) -> Question:
    """Freeze flows, interests, streams, groups, pins and the map in force. Raises ApplicationError
    naming what of the request or of the model does not fit."""
    raise NotImplementedError


def job_inputs(run: Run, row: None) -> dict[str, Any]:
    """Return what the job computes beside the map: the flat one, and the curve of moves where a map
    is in force and the method draws one."""
    raise NotImplementedError


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to the run's snapshot; store the map."""
    raise NotImplementedError


def describe(mapping: Mapping) -> str:
    """Describe the map in a sentence."""
    raise NotImplementedError


MAPPING = Computation(
    kind=KIND,
    title="Flows in streams and groups",
    noun="mapping",
    address="/api/v1/mappings",
    job="cluster",
    model=Mapping,
    freeze=freeze,
    job_inputs=job_inputs,
    store=store,
    topic="mapping",
    describe=describe,
)
