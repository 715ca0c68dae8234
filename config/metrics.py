"""Answer Prometheus: the state of everything, and what agents measure.

A scrape costs a handful of queries, however many systems there are.
"""

from collections.abc import Iterable, Iterator, Mapping

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.executions.selectors import execution_count_by_state
from apps.plans.selectors.outcomes import plan_counts
from apps.recomputation.selectors import firing_count_by_rule
from apps.runs.selectors import run_count_by_state
from apps.telemetry.domain.backlog import Growth
from apps.telemetry.models import Agent
from apps.telemetry.selectors import held_by_removed, latest_samples_everywhere
from apps.telemetry.selectors.backlog import backlogs
from apps.telemetry.services.losses import losses_everywhere

Labels = Mapping[str, str]
Row = tuple[Labels, float]

FLOW = {
    "weir_flow_offered_per_s": ("offered_per_s", "Messages per second that reach a flow's gate."),
    "weir_flow_passed_per_s": ("passed_per_s", "Messages per second that pass a flow's gate."),
    "weir_flow_backlog_messages": ("backlog", "Messages that wait at a flow's gate."),
}
CLASS = {
    "weir_class_admitted": ("admitted", "Consumers of a class that are admitted."),
    "weir_class_waiting": ("waiting", "Consumers of a class that wait for admission."),
}


def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics in Prometheus' text format."""
    text = "\n".join(_lines()) + "\n"
    return HttpResponse(text, content_type="text/plain; version=0.0.4")


def _lines() -> Iterator[str]:
    now = timezone.now()
    plan_states, plan_verdicts = plan_counts(now)
    for name, title, counts in (
        ("weir_runs", "Number of runs by state.", run_count_by_state()),
        ("weir_plans", "Number of plans by state.", plan_states),
        ("weir_executions", "Number of executions by state.", execution_count_by_state()),
    ):
        yield from _gauge(name, title, [({"state": s}, n) for s, n in sorted(counts.items())])
    yield from _gauge(
        "weir_firings",
        "Firings of a system's schedules and triggers by state.",
        [
            ({"system": system, "rule": rule, "state": state}, n)
            for (system, rule, state), n in sorted(firing_count_by_rule().items())
        ],
    )
    yield from _gauge(
        "weir_promises",
        "Plans executed in the last 30 days by verdict on their promises.",
        [({"verdict": verdict}, n) for verdict, n in sorted(plan_verdicts.items())],
    )
    agents = Agent.objects.select_related("system", "broker").order_by("pk")
    yield from _gauge(
        "weir_agent_up",
        "1 while the agent of a broker holds its lease.",
        [
            (
                {"system": agent.system.name, "broker": agent.broker.name},
                float(agent.state(now) == "live"),
            )
            for agent in agents
            if agent.revoked_at is None
        ],
    )
    yield from _gauge(
        "weir_removed_broker_held_messages",
        "Messages that a broker held, at least, when it was last heard before its removal.",
        [
            ({"system": system, "broker": broker, kind: name}, float(count))
            for system, broker, kind, name, count in held_by_removed()
        ],
    )
    yield from _metric(
        "weir_messages_lost_total",
        "Messages that an agent took and could not forward, at least.",
        "counter",
        [
            (
                {
                    "system": loss.broker.system.name,
                    "broker": loss.broker.name,
                    "flow": loss.flow,
                    "reason": loss.reason,
                },
                float(loss.count),
            )
            for loss in losses_everywhere()
        ],
    )
    samples = latest_samples_everywhere()
    for table, label, kinds in (("flows", "flow", FLOW), ("classes", "class", CLASS)):
        for name, (member, title) in kinds.items():
            rows = [
                (
                    {
                        "system": sample.broker.system.name,
                        "broker": sample.broker.name,
                        label: of,
                    },
                    float(row[member]),
                )
                for sample in samples
                for of, row in sorted(sample.payload.get(table, {}).items())
                if member in row
            ]
            yield from _gauge(name, title, rows)

    yield from _backlogs({s.broker.system_id: s.broker.system.name for s in samples})


def _backlogs(systems: Mapping[int, str]) -> Iterator[str]:
    """Return how backlogs of reliable topics move; what cannot be told is left out."""
    rows = [
        ({"system": systems[pk], "broker": row.broker, "flow": row.topic}, row)
        for pk, found in sorted(backlogs(systems).items())
        for row in found
    ]
    yield from _gauge(
        "weir_flow_backlog_growth_per_s",
        "Messages per second by which the backlog of a reliable flow grows, over two minutes.",
        [(at, row.slope_per_s) for at, row in rows if row.slope_per_s is not None],
    )
    yield from _gauge(
        "weir_flow_backlog_full_in_s",
        "Seconds until a backlog that grows reaches the first limit that is known.",
        [(at, row.full_in_s) for at, row in rows if row.full_in_s is not None],
    )
    yield from _gauge(
        "weir_flow_backlog_alarm",
        "1 while a backlog is full, or has grown for two minutes and is full within an hour.",
        [(at, float(row.growth is Growth.ALARM)) for at, row in rows],
    )


def _gauge(name: str, title: str, rows: Iterable[Row]) -> Iterator[str]:
    return _metric(name, title, "gauge", rows)


def _metric(name: str, title: str, kind: str, rows: Iterable[Row]) -> Iterator[str]:
    yield f"# HELP {name} {title}"
    yield f"# TYPE {name} {kind}"
    for labels, value in rows:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{{{inside}}} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
