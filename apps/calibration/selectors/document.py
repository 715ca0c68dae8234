"""Write what a fit is computed from: the model line and one line per telemetry sample."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Protocol

from apps.calibration.models import CalibrationSettings
from apps.calibration.selectors.costs import Cost, costs_at
from apps.calibration.selectors.measures import measure_of
from apps.systems.models import System
from apps.telemetry.models import Sample
from apps.topology.models import BrokerCapacity
from weir.fitting.document import FORMAT

MOST_TERMS = 300
"""Coefficients of one broker; where the model has more, those that nothing moved are left out."""


class MinuteSums(Protocol):
    """What sums by minute know of the load of brokers, kept for longer than telemetry."""

    def __call__(
        self, system: System, *, since: datetime, until: datetime, window_s: int
    ) -> Iterable[dict[str, Any]]:
        """Return records as `weir.fitting.records` describes them, one for each broker and
        window."""


_minute_sums: list[MinuteSums] = []


def offer_minute_sums(sums: MinuteSums) -> None:
    """Name who keeps sums by minute: that is a storey above this one."""
    _minute_sums[:] = [sums]


def fit_document(
    system: System,
    *,
    settings: CalibrationSettings,
    since: datetime,
    until: datetime,
    window_s: float,
    by_minute: bool = False,
) -> tuple[bytes, int]:
    """Return JSON lines as `weir.fitting.records` describes them, and the number of records in it:
    samples of agents, or with `by_minute` sums of each window."""
    if by_minute:
        (sums,) = _minute_sums
        records = [*sums(system, since=since, until=until, window_s=int(window_s))]
    else:
        records = list(_records(system, since, until))
    flows = {flow for record in records for flow in record["passed"]}
    classes = {name for record in records for name, n in record["admitted"].items() if n}
    model = {
        "format": FORMAT,
        "window_s": window_s,
        "cases": _cases(system, settings.cores, flows | classes),
    }
    lines = [model, *records]
    text = "\n".join(json.dumps(line, sort_keys=True, allow_nan=False) for line in lines)
    return text.encode(), len(records)


def _records(system: System, since: datetime, until: datetime) -> Iterator[dict[str, Any]]:
    rows = Sample.objects.filter(broker__system=system, at__gte=since, at__lt=until)
    for name, at, payload in rows.order_by("at", "id").values_list("broker__name", "at", "payload"):
        flows = payload.get("flows", {})
        load = payload.get("broker", {})
        yield {
            "broker": name,
            "at": at.timestamp(),
            "interval_s": payload.get("interval_s", 1.0),
            "cpu_ratio": load.get("cpu_ratio"),
            "cores": load.get("cores"),
            "passed": _column(flows, "passed_per_s"),
            "message_bytes": _column(flows, "message_bytes"),
            "admitted": _column(payload.get("classes", {}), "admitted"),
        }


def _column(rows: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    return {key: row[name] for key, row in rows.items() if name in row}


def _cases(system: System, cores: float | None, seen: set[str]) -> list[dict[str, Any]]:
    measures = {name: measure_of(name) for name in system.resources}
    resources = [name for name, measure in measures.items() if measure is not None]
    costs = costs_at(system, resources)
    capacities = BrokerCapacity.objects.filter(broker__system=system, resource__in=resources)
    cases = []
    for broker, resource, capacity in capacities.order_by("broker__name", "resource").values_list(
        "broker__name", "resource", "capacity"
    ):
        rows = costs.get((broker, resource), [])
        measure = measures[resource]
        if measure == "storage":
            # Only what reliable producers send is logged, once, whoever reads it.
            rows = [row for row in rows if row.reliable and row.key.kind == "flow"]
        if len(rows) > MOST_TERMS:
            rows = [row for row in rows if row.key.name in seen]
        if not rows:
            continue
        idle = [{"kind": "idle"}] if measure == "cpu" else []
        cases.append(
            {
                "broker": broker,
                "resource": resource,
                "measure": measure,
                "capacity": capacity,
                "cores": cores,
                "terms": [*idle, *(_term(row) for row in rows)],
            }
        )
    return cases


def _term(row: Cost) -> dict[str, Any]:
    return {
        "kind": row.key.kind,
        "name": row.key.name,
        "flow": row.flow,
        "old": row.cost,
        "rate_min_per_s": row.rate_min_per_s,
        "rate_max_per_s": row.rate_max_per_s,
        "population_max": row.population_max,
    }
