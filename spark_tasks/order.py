"""Describe what a job is asked besides its snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrder:
    """Hold the order of one job; it travels to the tasks as it is.

    `parameters` are those of the method, as the run records them. `inputs` is what only this kind
    of job needs: where it begins, what a lost attempt has left behind.
    """

    kernel: str = ""
    """The module whose `answer` the job `kernel` calls; other jobs need none."""
    method: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit_s: float | None = None
    progress_url: str = ""
    """Empty: nobody wants to know how far the job is."""
    progress_token: str = ""
    """Names the attempt to every address that the job posts to."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
