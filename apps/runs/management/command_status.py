"""End commands that compute from a file with the exit statuses of docs/formats.md.

Status 3 means that there is no answer; the line that is printed says why.
"""

import sys
from collections.abc import Callable

from django.core.management.base import OutputWrapper

from apps.common.command_files import ANSWER, BAD_INPUT, INTERRUPTED, NO_ANSWER, Refused
from apps.runs.services.gateway import JobFailed, SparkAway
from weir.errors import InvalidProblem, UnknownMethod, WeirError


def exit_with_status(compute: Callable[[], int], *, name: str, stderr: OutputWrapper) -> None:
    """End the process unless there is an answer; print bad input and a missing answer in one
    line."""
    try:
        status = compute()
    except (Refused, InvalidProblem, UnknownMethod) as error:
        stderr.write(f"{name}: {error}")
        status = BAD_INPUT
    except (SparkAway, JobFailed, WeirError) as error:
        stderr.write(f"{name}: no answer: {error}")
        status = NO_ANSWER
    except KeyboardInterrupt:
        stderr.write(f"{name}: interrupted")
        status = INTERRUPTED
    if status != ANSWER:
        sys.exit(status)
