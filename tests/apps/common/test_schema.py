"""The API keeps the promises of its own schema, whatever it is sent."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks

from apps.accounts.domain.roles import Role
from apps.accounts.services import token_create
from tests.factories import make_user
from tests.factories.kinds import make_world
from tests.factories.runs import make_allocation

EXAMPLES = 4
load_all_checks()
KEPT = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
    ]
)
pytestmark = pytest.mark.slow
schema = schemathesis.openapi.from_wsgi("/api/v1/schema?format=json", get_wsgi_application())
OPERATIONS = {
    f"{operation.method.upper()} {operation.path}": operation
    for operation in (result.ok() for result in schema.get_all_operations())
}


@pytest.fixture(autouse=True)
def _requests_share_the_connection_of_the_test() -> Iterator[None]:
    """As Django's own test client does: a request's end must not close the test's transaction."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def headers(db: None) -> dict[str, str]:
    """Somebody with every role, over a world with something in it."""
    make_allocation(make_world().system)
    _, secret = token_create(
        owner=make_user("root", *Role), name="schema", roles=[role.value for role in Role]
    )
    return {"Authorization": f"Bearer {secret}"}


WITHOUT_END = "GET /api/v1/event-stream"
"""WSGI serves no stream that goes on; `tests/apps/webhooks/test_stream.py` follows it."""


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - {WITHOUT_END}))
def test_operation_keeps_to_its_schema(name: str, headers: dict[str, str]) -> None:
    operation = OPERATIONS[name]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def holds(case: Any) -> None:
        answer = case.call_and_validate(headers={**(case.headers or {}), **headers}, checks=KEPT)
        if answer.status_code >= 400:
            assert str(answer.status_code) in operation.definition.raw["responses"]

    holds()
