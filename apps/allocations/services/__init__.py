"""Ask for an allocation and keep its result."""

from apps.allocations.services.runs import (
    DEFAULT_METHOD,
    allocation_request,
    allocation_request_for_problem,
    allocation_solve,
    allocation_start,
    allocation_store,
)

__all__ = [
    "DEFAULT_METHOD",
    "allocation_request",
    "allocation_request_for_problem",
    "allocation_solve",
    "allocation_start",
    "allocation_store",
]
