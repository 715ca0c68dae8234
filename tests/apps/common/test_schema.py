"""The API keeps the promises of its own schema, whatever it is sent."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS, load_all_checks

from apps.accounts.domain.roles import Role
from apps.accounts.services import token_create
from tests.database import requests_in_the_test_transaction, taken_back
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
BINARY_ONLY = "/api/v1/record-batches/prometheus"
"""Nothing here writes Protocol Buffers by themselves; `tests/apps/records/test_metrics.py` does."""
OPERATIONS = {
    f"{operation.method.upper()} {operation.path}": operation
    for operation in (result.ok() for result in schema.get_all_operations())
    if operation.path != BINARY_ONLY
}


WITHOUT_END = "GET /api/v1/event-stream"
"""WSGI serves no stream that goes on; `tests/apps/webhooks/test_stream.py` follows it."""


@pytest.fixture
def headers(db: None) -> Iterator[dict[str, str]]:
    """Somebody with every role, over a world with something in it."""
    make_allocation(make_world().system)
    _, secret = token_create(
        owner=make_user("root", *Role), name="schema", roles=[role.value for role in Role]
    )
    with requests_in_the_test_transaction():
        yield {"Authorization": f"Bearer {secret}"}


def attack(name: str, headers: dict[str, str]) -> None:
    """Send what an operation's schema allows, one request after the other."""
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


# The world is made once: to make it takes longer than to ask for any operation.
@pytest.mark.timeout(1800)
def test_each_operation_keeps_to_its_schema(
    headers: dict[str, str], subtests: pytest.Subtests
) -> None:
    for name in sorted(OPERATIONS.keys() - {WITHOUT_END}):
        with subtests.test(name), taken_back():
            attack(name, headers)
