"""Make a plan of a map: which flows and streams move, in which order and at which pace."""

from apps.accounts.models import User
from apps.mappings.models import Mapping
from apps.plans.models import Plan

KIND = "mapping"
MOST_PER_STEP = 500
MOST_MOVES = 2_000
"""Moves of one plan: a person reads it, and the control plane reads it at every step."""


def mapping_plan(
    *,
    mapping: Mapping,
    actor: User | None,
    map: str = "",
    title: str = "",
    moves_per_step: int | None = None,
    answerable: User | None = None,
) -> Plan:
    """Make a draft of the plan that moves flows and streams to where one map has them."""
    raise NotImplementedError
