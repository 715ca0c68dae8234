"""Put the demand that is used into the problem of a system."""

from collections.abc import Mapping
from typing import Any

from django.db.models import BigIntegerField, Case, F, OuterRef, Subquery, When

from apps.catalog.models import ConsumerClass, Topic
from apps.catalog.selectors import system_problem
from apps.demand.domain.wanted import (
    UNKNOWN,
    Basis,
    Key,
    Known,
    Subject,
    Terms,
    Typed,
    used_amount,
    used_consumers,
    used_rate,
)
from apps.demand.models import DemandEstimate, DemandFigure, DemandSettings
from apps.systems.models import System

Figures = Mapping[Key, Known]
"""What is known, by subject and name."""


def settings_of(system: System) -> DemandSettings:
    """Return the system's settings; unsaved defaults where nobody has set any."""
    row = DemandSettings.objects.filter(system=system).first()
    # Nobody needs a row before somebody edits one; its id is the system's, as in `settings_for`.
    return row or DemandSettings(
        system=system, public_id=system.public_id, updated_at=system.created_at
    )


def estimate_in_use(system: System) -> DemandEstimate | None:
    """Return the estimate that snapshots are made with now; None: they take the model's
    figures."""
    last = latest_estimate(system)
    return None if last is None or last.basis == Basis.TYPED else last


def key_in_use() -> Subquery:
    """Return the key of the estimate in use as a column of systems; null: the model's figures."""
    last = DemandEstimate.objects.filter(system=OuterRef("pk")).order_by("-number")
    key = Case(When(basis=Basis.TYPED.value, then=None), default=F("pk"))
    return Subquery(last.values(key=key)[:1], output_field=BigIntegerField())


def latest_estimate(system: System) -> DemandEstimate | None:
    """Return the last estimate, whether it is in use or says that the model's figures are."""
    return DemandEstimate.objects.filter(system=system).order_by("-number").first()


def figures_of(estimate: DemandEstimate) -> Figures:
    """Return what an estimate knows."""
    rows = DemandFigure.objects.filter(estimate=estimate).order_by()
    columns = rows.values_list("subject", "name", "high", "forecast")
    return {
        (Subject(subject), name): Known(measured=high, forecast=forecast)
        for subject, name, high, forecast in columns
    }


def demanded_problem(system: System) -> dict[str, Any]:
    """Return `system_problem` with the demand in use.

    Topics and classes that the estimate does not know keep the model's figures.
    """
    plain, estimate = system_problem(system), estimate_in_use(system)
    if estimate is not None:
        _use_figures(plain, figures_of(estimate), estimate.terms)
    return plain


def typed_demand(system: System) -> dict[Key, Typed]:
    """Return what the model says of all topics and classes."""
    return _typed_rates(system) | _typed_consumers(system)


def _typed_rates(system: System) -> dict[Key, Typed]:
    rows = Topic.objects.filter(system=system)
    return {
        (Subject.TOPIC, name): Typed(least=least, most=most)
        for name, least, most in rows.values_list("name", "rate_min_per_s", "rate_max_per_s")
    }


def _typed_consumers(system: System) -> dict[Key, Typed]:
    rows = ConsumerClass.objects.filter(system=system)
    return {
        (Subject.CLASS, name): Typed(least=0, most=most)
        for name, most in rows.values_list("name", "population_max")
    }


def used_demand(
    typed: Mapping[Key, Typed], figures: Figures, terms: Terms | None
) -> dict[Key, float]:
    """Return what snapshots take of all topics and classes by these figures; None: the model's."""
    if terms is None:
        return {key: model.most for key, model in typed.items()}
    return {
        key: used_amount(key[0], model, figures.get(key, UNKNOWN), terms)
        for key, model in typed.items()
    }


def wanted_rates(system: System) -> dict[str, float]:
    """Return the largest rate of each topic that snapshots take, msg/s, by name."""
    return {name: rate for (_, name), rate in _used_now(system, _typed_rates(system)).items()}


def wanted_consumers(system: System) -> dict[str, int]:
    """Return how many consumers of each class snapshots take, by name."""
    used = _used_now(system, _typed_consumers(system))
    return {name: int(count) for (_, name), count in used.items()}


def _used_now(system: System, typed: Mapping[Key, Typed]) -> dict[Key, float]:
    estimate = estimate_in_use(system)
    if estimate is None:
        return used_demand(typed, {}, None)
    return used_demand(typed, figures_of(estimate), estimate.terms)


def _use_figures(plain: dict[str, Any], figures: Figures, terms: Terms) -> None:
    """Put figures into a problem on these terms, in place."""
    for flow in plain["flows"]:
        known = figures.get((Subject.TOPIC, flow["id"]), UNKNOWN)
        flow["rate_max"] = used_rate(flow["rate_max"], flow["rate_min"], known, terms)
    for row in plain["classes"]:
        known = figures.get((Subject.CLASS, row["id"]), UNKNOWN)
        row["population_max"] = used_consumers(row["population_max"], known, terms)
