"""Serve the address to which a running job posts its points."""

from typing import Any

from apps.runs.api.machines import machine_post
from apps.studies.services import study_points_receive


@machine_post(max_body_bytes=16 * 1024 * 1024)
def report_points(token: str, body: Any) -> bool:
    """Store some points of one attempt of one run; the token names both and nothing else."""
    rows = body["points"]
    if not isinstance(rows, list):
        raise TypeError("points must be a list")
    return study_points_receive(token=token, rows=rows)
