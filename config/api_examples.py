"""Give an example of every request that has a body; kinds of computation add their own.

The examples form one small story in this order: a caller that sends them one after the other, with
the ids from the answers in place of those below, is never refused (a test does exactly that).
"""

import csv
import io
import json
from typing import Any

from django.conf import settings

from apps.common.api.examples import (
    BROKER,
    CLASS,
    GROUP,
    KEY,
    LINK,
    LOG,
    OTHER_BROKER,
    OVERLAY,
    PLAN_HASH,
    PUBLISHER,
    SLO,
    STREAM,
    SUBSCRIBER,
    SYSTEM,
    TOPIC,
    UTILITY,
    WHY,
    Example,
)
from apps.runs.api.documentation import CANCEL
from config.api_documentation import documented

NAMES = {
    SYSTEM: "Trading floor",
    BROKER: "london-1",
    OTHER_BROKER: "frankfurt-1",
    LINK: "london-frankfurt",
    GROUP: "239.1.0.1",
    STREAM: "stream-0",
    TOPIC: "quotes.eurusd",
    KEY: "market-open",
    UTILITY: "gold",
}
"""The name beside a reference, such as `topic_name` beside `topic`."""

OBJECTS: dict[str, tuple[str, Example, Example]] = {
    # path: id of the answer, body of POST, body of PATCH
    "/systems": (
        SYSTEM,
        {"name": NAMES[SYSTEM], "product": "nats", "resources": ["cpu"], "reason": WHY},
        {"description": "Quotes and orders of the London desk.", "reason": WHY},
    ),
    "/brokers": (
        BROKER,
        {
            "system": SYSTEM,
            "name": NAMES[BROKER],
            "region": "eu",
            "capacities": [{"resource": "cpu", "capacity": 900000}],
            "reason": WHY,
        },
        {"capacities": [{"resource": "cpu", "capacity": 1200000}], "reason": "Two more cores."},
    ),
    "/links": (
        LINK,
        {
            "system": SYSTEM,
            "name": NAMES[LINK],
            "source": BROKER,
            "target": OTHER_BROKER,
            "capacity": 50000,
            "latency_s": 0.008,
        },
        {"capacity": 80000, "reason": WHY},
    ),
    "/overlays": (
        OVERLAY,
        {
            "system": SYSTEM,
            "name": "autumn",
            "purpose": "overlay",
            "in_force": True,
            "edges": [{"a": BROKER, "b": OTHER_BROKER}],
        },
        {"note": "Agreed with the network people.", "reason": WHY},
    ),
    "/groups": (
        GROUP,
        {"system": SYSTEM, "name": NAMES[GROUP], "number": 0},
        {"name": "239.1.0.2", "reason": WHY},
    ),
    "/streams": (
        STREAM,
        {
            "system": SYSTEM,
            "name": NAMES[STREAM],
            "number": 0,
            "group": GROUP,
            "pinned_group": GROUP,
        },
        {"number": 1, "reason": WHY},
    ),
    "/topics": (
        TOPIC,
        {
            "system": SYSTEM,
            "name": NAMES[TOPIC],
            "pattern": "one_to_many",
            "delivery": "best_effort",
            "rate_min_per_s": 10,
            "rate_max_per_s": 1000,
            "source": BROKER,
            "token_rate_per_s": 1100,
            "token_bucket": 50,
            "stream": STREAM,
            "pinned_stream": STREAM,
            "node_costs": [
                {"broker": BROKER, "resource": "cpu", "cost": 3},
                {"broker": OTHER_BROKER, "resource": "cpu", "cost": 3},
            ],
            "link_costs": [{"link": LINK, "cost": 1}],
        },
        {"rate_max_per_s": 2000, "reason": WHY},
    ),
    "/correlation-keys": (
        KEY,
        {"system": SYSTEM, "name": NAMES[KEY], "description": "All feeds burst at 08:00."},
        {"description": "All feeds burst at 08:00 London time.", "reason": WHY},
    ),
    "/publishers": (
        PUBLISHER,
        {
            "system": SYSTEM,
            "name": "feed-handler-1",
            "topic": TOPIC,
            "broker": BROKER,
            "correlation_key": KEY,
            "rate_per_s": 400,
        },
        {"rate_per_s": 500, "reason": WHY},
    ),
    "/utility-functions": (
        UTILITY,
        {"system": SYSTEM, "name": NAMES[UTILITY], "kind": "log", "parameters": {"weight": 20}},
        {"parameters": {"weight": 30}, "reason": WHY},
    ),
    "/consumer-classes": (
        CLASS,
        {
            "system": SYSTEM,
            "name": "desk-traders",
            "topic": TOPIC,
            "broker": OTHER_BROKER,
            "utility": UTILITY,
            "tier": "gold",
            "population_max": 400,
            "costs": [{"resource": "cpu", "cost": 19}],
        },
        {"population_max": 600, "reason": "A new desk."},
    ),
    "/slos": (
        SLO,
        {
            "system": SYSTEM,
            "name": "quotes in 5 ms",
            "topic": TOPIC,
            "quantity": "delay_p99_s",
            "target": 0.005,
            "objective": 0.99,
            "window_s": 2592000,
        },
        {"target": 0.004, "reason": WHY},
    ),
    "/subscribers": (
        SUBSCRIBER,
        {
            "system": SYSTEM,
            "name": "risk-engine",
            "broker": OTHER_BROKER,
            "interests": [{"topic": TOPIC}],
        },
        {"description": "Reads every quote.", "reason": WHY},
    ),
}


def _by_name(value: Any) -> Any:
    """Return the value with the names of objects in place of their ids."""
    if isinstance(value, list):
        return [_by_name(part) for part in value]
    if isinstance(value, dict):
        return {member: _by_name(part) for member, part in value.items()}
    return NAMES.get(value, value) if isinstance(value, str) else value


def _row(path: str) -> Example:
    """Return the object of a path as a row of an import."""
    body = OBJECTS[path][1]
    return {m: _by_name(v) for m, v in body.items() if m not in ("system", "reason")}


def _table(row: Example) -> str:
    """Return a row as CSV; lists have a column for each resource, or none."""
    cells: dict[str, str] = {}
    for member, value in row.items():
        if isinstance(value, dict):
            cells[member] = json.dumps(value)
        elif not isinstance(value, list):
            cells[member] = str(value)
        elif set(value[0]) in ({"resource", "capacity"}, {"resource", "cost"}):
            for part in value:
                (amount,) = [n for name, n in part.items() if name != "resource"]
                cells[f"{member}.{part['resource']}"] = str(amount)
    out = io.StringIO()
    csv.writer(out).writerows([cells.keys(), cells.values()])
    return out.getvalue()


IMPORTED = [path for path in OBJECTS if path not in ("/systems", "/overlays")]
TABLES: dict[str, str] = {
    **documented(settings.INSTALLED_APPS, "TABLES"),
    **{f"POST {path}/import": _table(_row(path)) for path in IMPORTED},
}
"""The examples of requests whose body is a table, beside those as JSON."""

REQUESTS: dict[str, Example] = {
    **documented(settings.INSTALLED_APPS, "REQUESTS"),
    "POST /session": {"username": "editor", "password": "correct horse battery staple"},
    **{f"POST {path}": body for path, (_, body, _) in OBJECTS.items()},
    **{f"PATCH {path}/{{id}}": body for path, (_, _, body) in OBJECTS.items()},
    **{f"POST {path}/import": {"rows": [_row(path)], "reason": WHY} for path in IMPORTED},
    "POST /utility-kinds/curve": {**LOG, "rates": [10, 100, 1000]},
    "POST /utility-curves": {**LOG, "rate_min": 0, "rate_max": 1000, "samples": 50},
    "POST /plans/{id}/approve": {"content_hash": PLAN_HASH, "comment": "As agreed."},
    "POST /plans/{id}/reject": {"comment": "Not before the month's end."},
    "POST /plans/{id}/roll-back": {"reason": "The desk lost orders.", "accept_overload": True},
    "POST /plans/{id}/accept-overload": {"reason": "The desk sends a third of its limit."},
    "POST /runs/{id}/cancel": CANCEL,
    "POST /plans/{id}/submit": {"reason": WHY},
    "POST /plans/{id}/withdraw": {"reason": "CHG-1042 is put off."},
    "POST /plans/{id}/execute": {"reason": WHY},
    "POST /plans/{id}/discard": {"reason": "Superseded by a larger change."},
    "PATCH /policies/{id}": {
        "approval_rules": [{"kind": "*", "min_brokers": 3, "approvals": 2}],
        "pace_s": 5,
        "roll_back_pace_s": 0,
        "reason": WHY,
    },
    "POST /recomputation/schedules": {
        "system": SYSTEM,
        "name": "before the open",
        "cron": "30 7 * * 1-5",
        "timezone": "Europe/London",
        "then": "submit",
    },
    "PATCH /recomputation/schedules/{id}": {"enabled": False, "reason": WHY},
    "POST /recomputation/triggers": {
        "system": SYSTEM,
        "name": "load moved",
        "kind": "load_drift",
        "threshold": 0.2,
        "for_s": 60,
        "then": "draft",
    },
    "PATCH /recomputation/triggers/{id}": {"threshold": 0.3, "reason": WHY},
    "POST /agents": {"broker": BROKER, "address": "nats://10.1.2.3:4222"},
    "PATCH /agents/{id}": {"address": "nats://10.1.2.4:4222", "reason": WHY},
    "PUT /systems/{id}/model": {
        "properties": {"description": "Feeds of the exchange", "labels": {"managed-by": "git"}},
        "settings": {"mapping": {"horizon_s": 1800}},
        "kinds": {
            "correlation_key": [
                {
                    "name": "market-close",
                    "external_id": "key-7",
                    "labels": {"managed-by": "git"},
                    "description": "Feeds that send at the end of trading",
                }
            ]
        },
        "delete": "nothing",
        "within": "managed-by=git",
        "reason": WHY,
    },
    "POST /plans": {
        "system": SYSTEM,
        "title": "Bring the model into force",
        "change_ticket": "CHG0042317",
    },
    "PATCH /plans/{id}": {"change_ticket": "https://tickets.example.org/CHG0042317"},
    "PUT /systems/{id}/access": {"unmanaged": "report", "confirm": True, "reason": WHY},
    "PUT /systems/{id}/retention": {"retention_s": 7200, "confirm": False, "reason": WHY},
    "POST /systems/{id}/adopt-restored": {"reason": WHY},
    "POST /executions/{id}/actions/{action_id}/decide": {
        "outcome": "abort",
        "reason": WHY,
        "confirmed": True,
    },
    "POST /session/password": {
        "current": "correct horse battery staple",
        "password": "another phrase nobody guesses",
    },
    "POST /executions/{id}/pause": {"reason": WHY},
    "POST /executions/{id}/stop": {"reason": WHY},
    "POST /executions/{id}/resume": {"override_window": True, "reason": WHY},
    "POST /executions/{id}/roll-back": {"reason": WHY},
    "POST /tokens": {"name": "nightly export", "roles": ["viewer"]},
    "POST /users": {
        "username": "m.curie",
        "first_name": "Marie",
        "last_name": "Curie",
        "roles": ["editor"],
        "password": "correct horse battery staple",
    },
    "PATCH /users/{id}": {"roles": ["editor", "approver"]},
}
