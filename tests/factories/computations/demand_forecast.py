"""Forecasts of a system whose demand repeats day by day."""

import math
import time
from decimal import Decimal

from apps.accounts.models import User
from apps.forecasts.services import forecast_request
from apps.pipeline.models import MeasuredSum
from apps.runs.models import Run
from apps.systems.models import System
from spark_tasks.jobs.forecast import forecast_payload
from tests.factories import make_broker, make_system, make_topic


def wanted_at(hour: int) -> float:
    """What the topic `tides` is offered in an hour since 1970, msg/s."""
    # Rounded as a whole: what is stored as a decimal is read as the same number.
    return round(100.0 + 50.0 * math.sin(math.tau * (hour % 24) / 24), 3)


def keep_hours(system: System, hours: int, *, topic: str = "tides") -> None:
    """Keep a minute of each of the last hours in which a topic was offered its usual."""
    last = int(time.time()) // 3600
    MeasuredSum.objects.bulk_create(
        MeasuredSum(
            system=system,
            since_s=hour * 3600,
            broker="b1",
            topic=topic,
            consumer_class="",
            metric="offered_per_s",
            samples=1,
            total=Decimal(str(wanted_at(hour))),
            least=wanted_at(hour),
            most=wanted_at(hour),
        )
        for hour in range(last - hours, last)
    )


def ask(actor: User) -> Run:
    system = make_system("ebb")
    make_topic(system, "tides", source=make_broker(system))
    keep_hours(system, 72)
    return forecast_request(system=system, actor=actor)


def answer(run: Run) -> bytes:
    content, problem = forecast_payload(bytes(run.snapshot.payload))
    assert content is not None, problem
    return content
