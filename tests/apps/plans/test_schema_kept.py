"""Real plans in real states keep to the published schema, field by field."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from schemathesis.checks import CHECKS, load_all_checks

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_reject
from tests.database import requests_in_the_test_transaction
from tests.factories import make_user
from tests.factories.fleet import Harbour, rate, shift
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    edit_model,
    envelope,
    make_plan,
    seen,
    submitted,
)

load_all_checks()
KEPT = CHECKS.get_by_names(
    [
        *("status_code_conformance", "content_type_conformance"),
        *("response_schema_conformance", "response_headers_conformance"),
    ]
)
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _requests_share_the_connection_of_the_test() -> Iterator[None]:
    with requests_in_the_test_transaction():
        yield


def test_every_answer_about_plans(
    harbour: Harbour, ines: User, jon: User, tomas: User, olga: User
) -> None:
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema?format=json", get_wsgi_application())
    _, secret = token_create(
        owner=make_user("root", *Role), name="schema", roles=[role.value for role in Role]
    )
    headers = {"Authorization": f"Bearer {secret}"}

    def call(path: str, method: str = "GET", plan: Plan | None = None, **members: Any) -> None:
        parameters = {"id": str(plan.public_id)} if plan else {}
        case = schema[f"/api/v1/plans{path}"][method].Case(
            path_parameters=parameters,
            **({"headers": seen(plan)} if plan and method == "POST" else {}),
            **({"media_type": "application/json"} if "body" in members else {}),
            **members,
        )
        answer = case.call_and_validate(headers=headers, checks=KEPT)
        assert answer.status_code < 300, answer.text

    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    executed = make_plan(harbour.system, ines, envelope=envelope(1.0, 50.0))
    call("/{id}", plan=executed)
    call("/{id}/submit", "POST", plan=executed)
    body = {"content_hash": executed.content_hash, "comment": "Fine."}
    approved_body = {**body}
    call("/{id}/approve", "POST", plan=submitted_by(executed, ines), body=approved_body)
    call("/{id}/dry-run", "POST", plan=executed)
    carried_out(harbour, agents, executed, olga)
    call("/{id}", plan=executed)
    call("/outcomes")
    reason = {"reason": "The tide turned."}
    call("/{id}/roll-back", "POST", plan=executed, body=reason)
    way_back = Plan.objects.get(source_id=executed.public_id)
    call("/{id}", plan=way_back)
    call("/{id}/accept-overload", "POST", plan=way_back, body=reason)
    rejected = submitted(make_plan(harbour.system, ines, [rate(40.0, 41.0)], kind="other"), ines)
    plan_reject(plan=rejected, actor=jon, comment="No.")
    call("/{id}", plan=rejected)
    call("/{id}/export", plan=rejected, query={"as": "json"})
    call("/{id}/export", plan=rejected, query={"as": "text"})
    running = approved(make_plan(harbour.system, ines, [shift("d", "c", "b")]), ines, jon)
    plan_execute(plan=running, actor=olga)
    call("/{id}", plan=running)
    moved = approved(make_plan(harbour.system, ines, kind="third"), ines, tomas)
    edit_model(harbour, ines)
    call("/{id}", plan=moved)
    call("")


def submitted_by(plan: Plan, person: User) -> Plan:
    """The plan as if this person had sent it, so that everybody else may approve it."""
    Plan.objects.filter(pk=plan.pk).update(submitted_by=person)
    return plan
