"""No request by anybody changes what agents are told, but those that shall.

A walk over every operation of the published schema in every state of a plan: each request is made,
the documents of all agents are compared, and the request is taken back. Bodies are drawn from the
schema: all members together, and each alone with every value that could mean something here.
"""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.calibration.services.settings import settings_for
from apps.catalog.models import CorrelationKey, Group, Stream, UtilityFunction
from apps.executions.models import ExecutionAction
from apps.executions.services.documents import document_of, facts_of
from apps.plans.models import Plan
from apps.plans.services import plan_execute
from apps.policies.services import policy_for
from apps.recomputation.services import schedule_create, trigger_create
from apps.systems.services import Drafts, entities_create
from apps.topology.models import Link
from tests.database import taken_back
from tests.factories import make_class, make_topic, make_user
from tests.factories.fleet import Harbour, must, population, rate
from tests.factories.kinds import KINDS, World
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    make_plan,
    submitted,
)
from tests.schema import SCHEMA
from tests.suites import effort

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
WRITES = sorted(
    (method, path)
    for path, item in SCHEMA["paths"].items()
    for method in item
    if method in ("post", "put", "patch", "delete")
)
STATES = ("draft", "pending_review", "approved", "executing", "executed", "silent")
# Where requests do change documents everybody makes each of them; elsewhere one who may everything
# does, without a body and with a value for every member.
BY_ALL = effort(("approved", "executing"), STATES)
# Where each member is tried alone, too, with each of its values.
WITH_EVERY_VALUE = effort(("approved",), STATES)
EVERYTHING = "everything"
ROLES = (EVERYTHING, *(role.value for role in Role), "nobody")

# What shall change documents: (method, path, state of the plan) -> who, besides EVERYTHING.
COMMANDS = {f"/api/v1/executions/{{id}}/{name}" for name in ("stop", "roll-back")}
SETTINGS = {f"/api/v1/systems/{{id}}/{name}" for name in ("access", "retention")}
EXECUTE = "/api/v1/plans/{id}/execute"
# What an editor gets through in every state.
EDITS = {
    ("patch", "/api/v1/topics/{id}"),
    ("patch", "/api/v1/consumer-classes/{id}"),
    ("delete", "/api/v1/consumer-classes/{id}"),
}

# Of every other kind, to be sure that the walk meets one.
CHANGED = {("patch", f"/api/v1/{kind.path}/{{id}}") for kind in KINDS} | {
    ("patch", f"/api/v1/{path}/{{id}}")
    for path in (
        *("policies", "calibration-settings"),
        *("recomputation/schedules", "recomputation/triggers"),
    )
}


def may_change(method: str, path: str, state: str, role: str) -> bool:
    """Whether this request may change what agents are told."""
    if method == "post" and path == EXECUTE:
        return state == "approved" and role in (EVERYTHING, Role.OPERATOR)
    if method == "post" and path in COMMANDS:
        return state == "executing" and role in (EVERYTHING, Role.OPERATOR)
    # An administrator's audited hand on who may speak for a broker, and on the system's settings.
    audited = path.startswith("/api/v1/agents") or path in SETTINGS
    return audited and role in (EVERYTHING, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The harbour with limits in force, and the model ahead of them, so that whatever reads it
    would show."""

    agents: dict[str, Any]
    first: Plan
    """The plan that put the limits in force."""
    others: dict[str, str]
    """Path of every other kind of object -> an object's id."""


def make_ground(harbour: Harbour, ines: User, jon: User, olga: User) -> Ground:
    """Return what is the same in all states of the plan."""
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    first = approved(
        make_plan(harbour.system, ines, [rate(None, 40.0), population(None, 5)]), ines, jon
    )
    carried_out(harbour, agents, first, olga)
    make_class(
        harbour.system,
        make_topic(harbour.system, "ebb", source=harbour.brokers["b"], rate_max_per_s=10.0),
        harbour.brokers["d"],
        "terns",
    )
    return Ground(agents=agents, first=first, others=the_rest(harbour, ines))


def a_world(
    harbour: Harbour, ground: Ground, state: str, ines: User, jon: User, olga: User
) -> dict[str, str]:
    """Return path -> an object's id, with a plan in this state."""
    agents, first = ground.agents, ground.first
    agents_look(harbour, agents)  # what they said before the last state is older than a lease
    plan = make_plan(harbour.system, ines, [rate(40.0, 30.0)], [population(5, 6)])
    if state == "pending_review":
        submitted(plan, ines)
    elif state != "draft":
        approved(plan, ines, jon)
    if state == "executing":
        plan_execute(plan=Plan.objects.get(pk=plan.pk), actor=olga)
    elif state == "executed":
        carried_out(harbour, agents, Plan.objects.get(pk=plan.pk), olga)
    # The walk takes longer than a lease, and than an action may take to be confirmed.
    ExecutionAction.objects.exclude(deadline_at=None).update(
        deadline_at=timezone.now() + timedelta(hours=1)
    )
    harbour.system.agents.update(
        lease_until=None if state == "silent" else timezone.now() + timedelta(hours=1)
    )
    plan.refresh_from_db()
    execution = plan.execution or Plan.objects.get(pk=first.pk).execution
    return ground.others | {
        "systems": str(harbour.system.public_id),
        "brokers": str(harbour.brokers["c"].public_id),
        "topics": str(harbour.topic.public_id),
        "consumer-classes": str(harbour.consumers.public_id),
        "overlays": str(harbour.overlay.public_id),
        "agents": str(agents["a"].public_id),
        "plans": str(plan.public_id),
        "executions": str(must(execution).public_id),
        "users": str(uuid.uuid4()),
    }


def the_rest(harbour: Harbour, author: User) -> dict[str, str]:
    """An object of every other kind that an operation names: path -> its id."""
    system = harbour.system
    drafts = Drafts(system)
    world = World(
        system=system,
        broker=harbour.brokers["b"],
        other_broker=harbour.brokers["c"],
        link=drafts.add(
            Link, name="l", source=harbour.brokers["b"], target=harbour.brokers["c"], capacity=9.0
        ),
        topic=harbour.topic,
        utility=drafts.add(UtilityFunction, name="u", kind="log", parameters={"weight": 1.0}),
        group=drafts.add(Group, name="g", number=100),
        stream=drafts.add(Stream, name="s", number=100),
        key=drafts.add(CorrelationKey, name="k"),
        consumers=harbour.consumers,
    )
    entities_create(drafts=drafts, actor=None)
    client = APIClient()
    client.force_authenticate(author)
    made = {}
    for kind in KINDS:
        answer = client.post(f"/api/v1/{kind.path}", kind.new(world), format="json")
        assert answer.status_code == 201, answer.content
        made[kind.path] = answer.json()["id"]
    schedule = {"name": "nightly", "every_s": 3_600, "then": "draft"}
    trigger = {"name": "moved", "kind": "capacity_change", "then": "draft"}
    rows = {
        "policies": policy_for(system),
        "calibration-settings": settings_for(system),
        "schedules": schedule_create(system=system, actor=author, values=schedule),
        "triggers": trigger_create(system=system, actor=author, values=trigger),
    }
    return made | {path: str(row.public_id) for path, row in rows.items()}


def a_client(role: str) -> Any:
    """The API as somebody whom signing out does not sign out: the walk goes on after it."""
    client = APIClient()
    if role != "nobody":
        roles = list(Role) if role == EVERYTHING else [Role(role)]
        client.force_authenticate(make_user(f"walker-{role}", *roles))
    return client


def told(harbour: Harbour) -> dict[str, str]:
    """The name of each agent's document; equal names say equal things."""
    facts = facts_of(harbour.system.pk)
    if facts is None:
        return {}
    return {name: document_of(facts[1], name).version for name in "abcd"}


def bodies(
    method: str, path: str, world: dict[str, str], *, alone: bool
) -> Iterator[dict[str, Any]]:
    """Nothing, all members with their first value, then each alone with each of its values."""
    yield {}
    content = SCHEMA["paths"][path][method].get("requestBody", {}).get("content", {})
    members = _properties(content.get("application/json", {}).get("schema", {}))
    drawn = {name: list(_values(name, spec, world)) for name, spec in members.items()}
    if drawn:
        yield {name: values[0] for name, values in drawn.items() if values}
    if alone:
        yield from ({name: value} for name, values in drawn.items() for value in values)


def _resolved(spec: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in spec:
        spec = SCHEMA["components"]["schemas"][spec["$ref"].rsplit("/", 1)[1]]
    for part in ("allOf", "oneOf", "anyOf"):
        for each in spec.get(part, []):
            if each.get("type") != "null":
                return {**_resolved(each), **{k: v for k, v in spec.items() if k != part}}
    return spec


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = _resolved(schema).get("properties", {})
    return {name: spec for name, spec in properties.items() if not spec.get("readOnly")}


def _values(name: str, spec: dict[str, Any], world: dict[str, str]) -> Iterator[Any]:
    spec = _resolved(spec)
    kinds = spec.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if "enum" in spec:
        yield from (value for value in spec["enum"] if value is not None)
    elif kind == "boolean":
        yield from (True, False)
    elif kind in ("integer", "number"):
        yield from (1, 7)
    elif kind == "array":
        yield []
        items = _properties(spec.get("items", {}))
        ends = {"a": world["other_broker"], "b": world["brokers"]}
        if items.keys() >= ends.keys():
            yield [ends]
    elif kind == "object":
        yield {}
    elif spec.get("format") == "uuid":
        yield world.get(f"{name}s") or world["other_broker"]
    else:
        yield "renamed"
        if name == "content_hash":
            yield world["content_hash"]


class Asking:
    """What one person asks. Everything is taken back, so that what was seen once stays true."""

    def __init__(self, client: Any, world: dict[str, str]) -> None:
        self.client = client
        self.world = world
        self._etags: dict[str, str | None] = {}

    def __call__(self, method: str, path: str, body: dict[str, Any]) -> bool:
        """Make the request; whether it was granted."""
        room = path.removeprefix("/api/v1/").removeprefix("recomputation/").split("/")[0]
        address = re.sub(r"\{[^}]+\}", self.world.get(room, str(uuid.uuid4())), path)
        single = re.sub(r"(\{[^}]+\}).*", lambda m: self.world.get(room, "x"), path)
        headers = {}
        if "{" in path and room in self.world:
            etag = self._etag(single)
            if etag is not None:
                headers["If-Match"] = etag
        answer = getattr(self.client, method)(address, body, format="json", headers=headers)
        return bool(answer.status_code < 300)

    def _etag(self, address: str) -> str | None:
        if address not in self._etags:
            self._etags[address] = self.client.get(address).headers.get("ETag")
        return self._etags[address]


class Writes:
    """How often the database was written to: what agents are told follows from it alone."""

    READ = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET ", "SHOW")

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Look at a statement on its way to the database."""
        said = sql if isinstance(sql, str) else sql.as_string(connection.connection)
        if not said.lstrip().upper().startswith(self.READ):
            self.count += 1
        return execute(sql, params, many, context)


def test_documents_change_by_executions_only(
    harbour: Harbour, ines: User, jon: User, olga: User
) -> None:
    clients = {role: a_client(role) for role in ROLES}
    ground = make_ground(harbour, ines, jon, olga)
    for state in STATES:
        with taken_back():
            world = a_world(harbour, ground, state, ines, jon, olga)
            walk_by_everybody(harbour, clients, world, state)


def walk_by_everybody(
    harbour: Harbour, clients: dict[str, Any], world: dict[str, str], state: str
) -> None:
    plan = Plan.objects.get(public_id=world["plans"])
    world = {
        **world,
        "other_broker": str(harbour.brokers["b"].public_id),
        "content_hash": plan.content_hash,
    }
    before = told(harbour)
    assert set(before) == set("abcd")
    for role in ROLES if state in BY_ALL else (EVERYTHING,):
        client = clients[role]
        changed, granted = walk(harbour, client, world, state=state, role=role, before=before)
        # The walk gets through: edits were made, and what shall change documents did.
        if role in (EVERYTHING, Role.EDITOR):
            assert granted >= EDITS
        if role == EVERYTHING:
            assert granted >= CHANGED
        if state == "approved" and role in (EVERYTHING, Role.OPERATOR):
            assert ("post", EXECUTE) in changed


def walk(
    harbour: Harbour,
    client: Any,
    world: dict[str, str],
    *,
    state: str,
    role: str,
    before: dict[str, str],
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Ask for everything once; return what changed documents, and what was granted."""
    changed, granted = set(), set()
    ask = Asking(client, world)
    for method, path in WRITES:
        drawn = bodies(method, path, world, alone=state in WITH_EVERY_VALUE)
        # One who may little is refused whatever the body says.
        for body in drawn if role == EVERYTHING else [next(drawn)]:
            writes, after = Writes(), before
            with taken_back():
                with connection.execute_wrapper(writes):
                    if ask(method, path, body):
                        granted.add((method, path))
                if writes.count:
                    after = told(harbour)
            if after != before:
                changed.add((method, path))
                assert may_change(method, path, state, role), (role, method, path, body)
    assert told(harbour) == before
    return changed, granted
