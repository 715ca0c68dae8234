"""Read which flows change their stream live now, and how long those took that did lately."""

from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from apps.systems.models import System
from apps.telemetry.selectors import agents_of
from weir.coordination.wire import HandOverPhase

MOST_SHOWN = 100


def hand_overs_of(system: System) -> dict[str, Any]:
    """Return the last hand-over of each flow at each broker, as agents last reported it: those
    under way first, then the newest. Figures are of all, rows of `MOST_SHOWN`."""
    rows: list[dict[str, Any]] = []
    brokers = 0
    # The one member: what an agent observes may hold thousands of entries.
    columns = ("broker__public_id", "broker__name", "observed__hand_overs")
    # What an agent that has fallen silent said of now is long past.
    speaking = agents_of(system).filter(lease_until__gt=timezone.now())
    for broker_id, broker, entries in speaking.values_list(*columns):
        if entries is None:
            continue
        brokers += 1
        rows += [_row(broker_id, broker, flow, entry) for flow, entry in entries.items()]
    done = sorted(row["took_s"] for row in rows if row["phase"] == HandOverPhase.DONE)
    rows.sort(key=lambda row: (row["phase"] == HandOverPhase.DONE, -row["began_at"].timestamp()))
    return {
        "brokers": brokers,
        "moving": len(rows) - len(done),
        "done": len(done),
        "median_s": done[len(done) // 2] if done else None,
        "longest_s": done[-1] if done else None,
        "unready": sum(row["unready"] for row in rows),
        "rows": rows[:MOST_SHOWN],
    }


def _row(broker_id: Any, broker: str, flow: str, entry: dict[str, Any]) -> dict[str, Any]:
    source, target = entry["source"], entry["target"]
    return {
        "flow": flow,
        "broker": broker_id,
        "broker_name": broker,
        "from_stream": source["stream"],
        "from_group": source["group"],
        "to_stream": target["stream"],
        "to_group": target["group"],
        "phase": entry["phase"],
        "began_at": datetime.fromtimestamp(entry["began_at"], UTC),
        "took_s": entry["took_s"],
        "unready": entry["unready"],
    }
