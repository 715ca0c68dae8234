"""Which terms hold for a system. Reads only; nobody needs a row before somebody edits one."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from apps.plans.policies.models import Policy
from apps.plans.policies.terms import DEFAULT_TERMS, Terms
from apps.systems.models import System


def policy_rows() -> QuerySet[Policy]:
    """Policies with everything their terms are made of."""
    return Policy.objects.select_related("system").prefetch_related("rules", "maintenance_windows")


def default_terms() -> Terms:
    """The installation's own, or those of a fresh one."""
    row = policy_rows().filter(system=None).first()
    return row.own_terms if row else DEFAULT_TERMS


def terms_for(system: System) -> Terms:
    """What holds for one system."""
    return terms_for_systems([system.pk])[system.pk]


def terms_for_systems(systems: Iterable[int]) -> dict[int, Terms]:
    """What holds for each system, by its key; three queries for all of them together."""
    keys = set(systems)
    rows = {
        row.system_id: row
        for row in policy_rows().filter(Q(system__in=keys, inherits=False) | Q(system=None))
    }
    fallback = rows[None].own_terms if None in rows else DEFAULT_TERMS
    return {key: rows[key].own_terms if key in rows else fallback for key in keys}


def terms_of(policy: Policy) -> Terms:
    """What holds where this row is asked: its own terms, or the default's while it inherits."""
    return default_terms() if policy.inherits else policy.own_terms
