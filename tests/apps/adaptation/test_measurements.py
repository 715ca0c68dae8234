"""Which measurements count for the parts, and which say nothing of the traffic."""

from datetime import timedelta

from django.utils import timezone

from apps.adaptation.models import Decision
from apps.executions.models import Setting
from apps.telemetry.models import Sample


def test_what_is_not_purged_yet_does_not_wait(estuary):
    """Agents of before say of a reliable flow only what is in the broker."""
    estuary.measure(a=5.0, b=5.0, c=5.0)
    for sample in Sample.objects.filter(broker=estuary.harbour.brokers["a"]):
        entry = sample.payload["flows"]["tides"]
        del entry["work_peak"]
        entry["backlog"] = 40
        sample.save()
    estuary.follow(2)
    assert not Decision.objects.exists()


def test_traffic_before_a_plan_changed_parts_says_nothing(estuary):
    """It went elsewhere: publishers have moved since."""
    estuary.measure(a=28.0, b=1.0, c=1.0)
    Setting.objects.filter(kind="adapt_parts").update(
        changed_at=timezone.now() - timedelta(seconds=4)
    )
    estuary.follow(2)
    assert estuary.rates() == dict.fromkeys("abc", 10.0)
    assert not Decision.objects.exists()
    Setting.objects.filter(kind="adapt_parts").update(
        changed_at=timezone.now() - timedelta(seconds=12)
    )
    estuary.follow(2)
    assert estuary.rates()["a"] > 15.0


def test_what_gathered_while_agents_stood_still_is_no_traffic(estuary):
    """An agent that goes on says that its interval was that long, and reads it all at once."""
    estuary.measure(a=10.0, b=10.0, c=10.0)
    rows = Sample.objects.order_by("broker", "-at")
    for name, gathered in {"a": 110.0, "b": 0.0, "c": 0.0}.items():
        mine = list(rows.filter(broker=estuary.harbour.brokers[name]))
        for sample, interval_s, rate in (
            (mine[3], 11.0, 0.1),
            *((m, 1.0, gathered) for m in mine[:3]),
        ):
            sample.payload["interval_s"] = interval_s
            sample.payload["flows"]["tides"]["offered_per_s"] = rate
            sample.save()
    estuary.follow(2)
    assert not Decision.objects.exists()
    estuary.measure(a=24.0, b=3.0, c=3.0)
    estuary.follow()
    assert estuary.rates()["a"] > 15.0
