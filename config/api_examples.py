"""Give an example of every request that has a body.

The examples form one small story in this order: a caller that sends them one after the other, with
the ids from the answers in place of those below, is never refused (a test does exactly that).
"""

from typing import Any

Example = dict[str, Any]


def _id(number: int) -> str:
    return f"7a1e0000-0000-4000-8000-{number:012d}"


SYSTEM, BROKER, OTHER_BROKER, LINK = _id(1), _id(2), _id(3), _id(4)
OVERLAY, GROUP, STREAM, TOPIC, KEY = _id(5), _id(6), _id(7), _id(8), _id(9)
PUBLISHER, UTILITY, CLASS, SLO, SUBSCRIBER = _id(10), _id(11), _id(12), _id(13), _id(14)
PLAN_HASH = "5d0c" * 16

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

WHY = "Requested in CHG-1042."

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
        {"system": SYSTEM, "name": NAMES[STREAM], "number": 0, "group": GROUP},
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

PROBLEM: Example = {
    "resources": ["cpu"],
    "nodes": [{"id": "S0", "capacity": {"cpu": 900000}}],
    "links": [],
    "flows": [
        {
            "id": "f0",
            "rate_min": 10,
            "rate_max": 1000,
            "node_costs": {"S0": {"cpu": 3}},
            "link_costs": {},
        }
    ],
    "classes": [
        {
            "id": "c0",
            "flow": "f0",
            "node": "S0",
            "population_max": 400,
            "costs": {"cpu": 19},
            "utility": {"kind": "log", "weight": 20},
        }
    ],
}
STUDY: Example = {
    "kind": "sweep",
    "methods": [{"method": "certified", "parameters": {}}],
    "axes": [
        {
            "label": "Capacity of london-1",
            "edit": {"kind": "node_capacity", "nodes": ["london-1"]},
            "field": "scale",
            "values": {"from": 0.5, "to": 1.5, "count": 5},
        }
    ],
}
LOG: Example = {"kind": "log", "parameters": {"weight": 20}}

REQUESTS: dict[str, Example] = {
    "POST /session": {"username": "editor", "password": "correct horse battery staple"},
    **{f"POST {path}": body for path, (_, body, _) in OBJECTS.items()},
    **{f"PATCH {path}/{{id}}": body for path, (_, _, body) in OBJECTS.items()},
    "POST /utility-kinds/curve": {**LOG, "rates": [10, 100, 1000]},
    "POST /utility-curves": {**LOG, "rate_min": 0, "rate_max": 1000, "samples": 50},
    "POST /systems/{id}/preview": {"utilities": {UTILITY: LOG}},
    "POST /allocations": {"system": SYSTEM, "method": "certified", "time_limit_s": 30},
    "POST /allocations/solve": {"problem": PROBLEM, "method": "lrgp", "seed": 0},
    "POST /allocations/{id}/compare": {"methods": ["lrgp", "greedy"]},
    "POST /allocations/{id}/trials": {"consumer_class": "desk-traders"},
    "POST /allocations/{id}/plan": {"title": "Room for the new desk"},
    "POST /studies/check": {"system": SYSTEM, "spec": STUDY},
    "POST /studies": {"system": SYSTEM, "spec": STUDY, "name": "How large must london-1 be?"},
    "PATCH /studies/{id}": {"name": "Size of london-1"},
    "POST /calibrations": {"system": SYSTEM, "minutes": 30},
    "POST /calibrations/{id}/apply": {"coefficients": [_id(22)], "reason": WHY},
    "POST /calibrations/{id}/undo": {"reason": "The load test was still running."},
    "POST /calibrations/{id}/discard": {"reason": "The load test was still running."},
    "PATCH /calibration-settings/{id}": {"correct_errors": True, "reason": WHY},
    "POST /overlay-evaluations": {"system": SYSTEM, "horizon_s": 3600, "time_limit_s": 20},
    "POST /overlay-candidates/{id}/plan": {"title": "Shorter ways to Frankfurt"},
    "POST /overlay-candidates/{id}/plan-again": {"objective": "steps"},
    "POST /repairs": {"broker": _id(2), "title": "Around london-1"},
    "POST /overlay-transformations": {
        "brokers": ["1", "2", "3", "4"],
        "initial": [["1", "2"], ["1", "3"], ["2", "4"]],
        "goal": [["1", "2"], ["1", "3"], ["3", "4"]],
    },
    "POST /plans/{id}/approve": {"content_hash": PLAN_HASH, "comment": "As agreed."},
    "POST /plans/{id}/reject": {"comment": "Not before the month's end."},
    "POST /plans/{id}/roll-back": {"reason": "The desk lost orders.", "accept_overload": True},
    "POST /plans/{id}/accept-overload": {"reason": "The desk sends a third of its limit."},
    **{
        f"POST /{kind}/{{id}}/cancel": {"reason": "Started with the wrong method."}
        for kind in ("runs", "studies", "overlay-evaluations")
    },
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
    "POST /plans": {"system": SYSTEM, "title": "Bring the model into force"},
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
