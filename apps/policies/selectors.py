"""Read which terms hold for a system, whether or not it has a row of its own."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet

from apps.accounts.selectors import account_control
from apps.policies.domain.terms import DEFAULT_TERMS, AutoExecute, Terms
from apps.policies.models import AutomaticStop, Policy
from apps.systems.models import System


def policy_rows() -> QuerySet[Policy]:
    """Return the policies with everything their terms are made of."""
    return Policy.objects.select_related("system").prefetch_related("rules", "maintenance_windows")


def default_terms() -> Terms:
    """Return the installation's own, or those of a fresh one."""
    row = policy_rows().filter(system=None).first()
    return row.own_terms if row else DEFAULT_TERMS


def stop_now() -> AutomaticStop | None:
    """Return what keeps Weir from doing anything by itself; None: nothing does."""
    return AutomaticStop.objects.select_related("stopped_by").filter(ended_at=None).first()


def terms_for(system: System) -> Terms:
    """Return what holds for one system."""
    return terms_for_systems([system.pk])[system.pk]


@dataclass(frozen=True, slots=True)
class InForce:
    """Hold the terms of a system, and who decided last what is approved without a person, with
    those who made their accounts."""

    terms: Terms
    auto_approval_by: frozenset[int]
    stop: AutomaticStop | None = None
    """What keeps Weir from doing anything by itself, if anything does."""


def in_force(systems: Iterable[int]) -> dict[int, InForce]:
    """Return what holds for each system, by its key; four queries for all of them together, and
    one for everybody who decided what is approved without a person."""
    stop = stop_now()
    return {key: replace(held, stop=stop) for key, held in _in_force_of(systems).items()}


def _in_force_of(systems: Iterable[int]) -> dict[int, InForce]:
    keys = set(systems)
    rows = {row.system_id: row for row in policy_rows().filter(Q(system__in=keys) | Q(system=None))}
    found = {key: _in_force(rows.get(key), rows.get(None)) for key in keys}
    deciders = frozenset[int]().union(
        *(
            held.auto_approval_by
            for held in found.values()
            if held.terms.auto_approve_max_share > 0 or held.terms.auto_execute != AutoExecute.OFF
        )
    )
    # Whoever made a decider, or set their password, has decided as much.
    makers = {person: account_control(person).makers for person in deciders}
    return {
        key: replace(
            held,
            auto_approval_by=held.auto_approval_by.union(
                *(makers.get(person, ()) for person in held.auto_approval_by)
            ),
        )
        for key, held in found.items()
    }


def _in_force(own: Policy | None, default: Policy | None) -> InForce:
    # Who gives up a system's own terms decides as much as who wrote the default's.
    parts = [own] if own and not own.inherits else [own, default]
    keys = [row.auto_approval_by_id for row in parts if row]
    deciders = frozenset(key for key in keys if key is not None)
    last = parts[-1]
    return InForce(last.own_terms if last else DEFAULT_TERMS, deciders)


def terms_for_systems(systems: Iterable[int]) -> dict[int, Terms]:
    """Return the terms alone of `in_force`."""
    return {key: held.terms for key, held in _in_force_of(systems).items()}


def terms_of(policy: Policy) -> Terms:
    """Return the terms that hold for this row: its own, or the default's while it inherits."""
    return default_terms() if policy.inherits else policy.own_terms
