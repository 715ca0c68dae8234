"""An installation in which every address of the API that names an object has one to name."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from apps.audit.services import events_number
from apps.executions.services import executions_tick
from apps.pipeline.services.sums import sums_add_waiting
from apps.plans.services import plan_execute
from apps.policies.services import automatic_resume, automatic_stop
from apps.recomputation.models import AutomaticDecision, Firing
from apps.webhooks.services import deliveries_queue
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.computations import succeeded
from tests.factories.fleet import make_harbour, rate, shift
from tests.factories.interest_imports import start as import_start
from tests.factories.interest_imports import table
from tests.factories.kinds import KINDS, World, make_world
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    make_plan,
    submitted,
)
from tests.schema import SCHEMA

COMPUTATIONS = (
    *("allocation", "calibration", "correlation", "demand_forecast", "mapping", "overlay"),
    *("placement", "study"),
)
AT_MOST = 5
"""Objects of one address."""
PARAMETER = re.compile(r"/\{\w+\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """What there is, as the API shows it."""

    world: World
    ids: Mapping[str, list[str]]
    """The address of a list -> ids of its objects; of a list within objects, of those within the
    first."""
    versions: Mapping[str, str]
    """Id -> the version by which it is edited, as `If-Match` wants it."""


def make_everything() -> Everything:
    """Objects of every kind, plans in several states, and somebody to whom they belong."""
    boss = make_user("boss", *Role)
    api = client_of(boss)
    world = make_world("pier")
    for kind in KINDS:
        made = api.post(f"/api/v1/{kind.path}", kind.new(world), format="json")
        assert made.status_code == 201, made.content
    for name in COMPUTATIONS:
        succeeded(name, boss)
    _make_settings(api, world)
    _make_plans(boss)
    import_start(api, world.system, "add", table([("alpha", "world-topic")]))
    _send_records(api, world)
    token_create(owner=boss, name="kept", roles=[Role.VIEWER])
    events_number()
    deliveries_queue()
    return _shown(api, world)


def _make_settings(api: Any, world: World) -> None:
    """What the published examples would make, of the world."""
    system = str(world.system.public_id)
    for address in (
        *("webhooks", "channels", "connections"),
        *("recomputation/schedules", "recomputation/triggers"),
    ):
        operation = SCHEMA["paths"][f"/api/v1/{address}"]["post"]
        body = dict(operation["requestBody"]["content"]["application/json"]["example"])
        body["systems" if "systems" in body else "system"] = (
            [system] if "systems" in body else system
        )
        if "types" in body:
            body["types"] = ["*"]
        made = api.post(f"/api/v1/{address}", body, format="json")
        assert made.status_code == 201, made.content
    (settings,) = api.get("/api/v1/demand-settings", {"system": system}).json()["results"]
    address, etag = f"/api/v1/demand-settings/{settings['id']}", f'"{settings["version"]}"'
    changed = api.patch(address, {"basis": "measured"}, format="json", headers={"If-Match": etag})
    assert changed.status_code == 200, changed.content
    (schedule,) = api.get("/api/v1/recomputation/schedules").json()["results"]
    fired = api.post(f"/api/v1/recomputation/schedules/{schedule['id']}/run", {}, format="json")
    assert fired.status_code == 202, fired.content


def _send_records(api: Any, world: World) -> None:
    """A batch whose row fits, and one whose row is set aside."""
    address = f"/api/v1/record-batches?system={world.system.public_id}&table=samples"
    for moment in (time.time(), 0):
        row = {"at_s": moment, "broker": "world-b1", "metric": "cpu_ratio", "value": 0.5}
        sent = api.post(address, json.dumps(row), content_type="application/x-ndjson")
        assert sent.status_code == 201, sent.content
    assert sums_add_waiting(most=10) == 1


def _make_plans(boss: User) -> None:
    """A plan that was carried out, one that is under way, and drafts before and in review."""
    harbour = make_harbour("estuary")
    harbour.system.refresh_from_db()
    jon, tomas = make_user("jon", Role.APPROVER), make_user("tomas", Role.APPROVER)
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    carried_out(harbour, agents, approved(make_plan(harbour.system, boss), boss, jon), boss)
    under_way = make_plan(harbour.system, boss, [shift("d", "c", "b")], kind="other")
    plan_execute(plan=approved(under_way, boss, tomas), actor=boss)
    executions_tick()
    for limit in (30.0, 20.0, 10.0):
        kind = f"limit-{limit:.0f}"
        plan = make_plan(harbour.system, boss, [rate(40.0, limit)], kind=kind)
        if limit < 30.0:
            submitted(plan, boss)
    firing = Firing.objects.create(
        system=harbour.system, cause="nightly", why="Due.", then="execute", account="schedule"
    )
    AutomaticDecision.objects.create(
        system=harbour.system, firing=firing, plan=plan, choice="leave", because="It is too large."
    )
    automatic_resume(stop=automatic_stop(actor=boss, reason="Load test"), actor=boss)


def _shown(api: Any, world: World) -> Everything:
    """Read everything back, first of the world's system where a list can be asked for it."""
    ids: dict[str, list[str]] = {}
    for path in sorted(SCHEMA["paths"]):
        for parameter in PARAMETER.finditer(path):
            ids.setdefault(path[: parameter.start()], [])
    for address, known in ids.items():
        for query in ({"system": str(world.system.public_id)}, {}):
            if address in SCHEMA["paths"] and "get" in SCHEMA["paths"][address]:
                answer = api.get(address, query)
                rows = answer.json()["results"] if answer.status_code == 200 else []
                known += [row["id"] for row in rows if row["id"] not in known]
        del known[AT_MOST:]
    (analysis,) = ids["/api/v1/correlation-analyses"]
    suggestions = api.get(f"/api/v1/correlation-analyses/{analysis}/suggestions").json()["results"]
    ids["/api/v1/correlation-suggestions"] = [row["id"] for row in suggestions]
    execution = api.get(f"/api/v1/executions/{ids['/api/v1/executions'][0]}").json()
    ids["/api/v1/executions/{id}/actions"] = [
        action["id"] for step in execution["steps"] for action in step["actions"]
    ]
    versions = {}
    for address, known in ids.items():
        if "get" in SCHEMA["paths"].get(f"{address}/{{id}}", {}):
            for each in known:
                version = api.get(f"{address}/{each}").get("ETag", "").partition("-")[0].strip('"')
                if version.isdigit():
                    versions[each] = f'"{version}"'
    return Everything(world=world, ids=ids, versions=versions)
