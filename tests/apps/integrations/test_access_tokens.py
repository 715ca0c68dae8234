"""Access tokens: taken once, taken anew when they end, and seen by nobody."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection as database
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.integrations.connectors.servicenow.settings import ServiceNowSettings
from apps.integrations.domain.contract import Sent
from apps.integrations.models import Connection, Exchange, Message
from apps.integrations.services import (
    access_tokens,
    changes_follow,
    connection_work,
    kept_requests,
)
from apps.integrations.services.exchanges import exchange_keep
from apps.integrations.services.kept_requests import KeptRequests
from tests.apps.integrations.conftest import connect, tick
from tests.apps.integrations.faulty_server import Fault, served
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.apps.integrations.token_server import PATH, FakeTokenServer
from tests.connect_proxy import proxying
from tests.factories.fleet import Harbour
from tests.factories.plans import make_plan, submitted

CLIENT, SECRET = "weir & co", "s3cret:+ /ä%"
OAUTH = {"authentication": "oauth", "token_address": "https://login.example.org/token"}


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Tokens live as long as the process."""
    access_tokens._tokens.clear()
    yield
    access_tokens._tokens.clear()


@pytest.fixture
def tokens(servicenow: FakeServiceNow) -> FakeTokenServer:
    servicenow.token_server = FakeTokenServer(CLIENT, SECRET)
    return servicenow.token_server


@pytest.fixture
def token_address(tokens: FakeTokenServer) -> Iterator[str]:
    with served(tokens) as address:
        yield f"{address}{PATH}"


@pytest.fixture
def connection(
    allowed: None,
    address: str,
    token_address: str,
    harbour: Harbour,
    monkeypatch: pytest.MonkeyPatch,
) -> Connection:
    """The harbour's plans open changes in a ServiceNow that takes access tokens."""
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", f"{CLIENT}:{SECRET}")
    settings = {"authentication": "oauth", "token_address": token_address, "scope": "changes read"}
    return connect(address, harbour, settings=settings)


def shown(api: APIClient, connection: Connection) -> Any:
    return api.get(f"/api/v1/connections/{connection.public_id}").json()


def everything_stored() -> str:
    """Every row of the database as text."""
    texts = []
    with database.cursor() as cursor:
        for table in database.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" AS t')
            texts += [text for (text,) in cursor.fetchall()]
    return "\n".join(texts)


def test_one_token_serves_many_requests(
    connection: Connection, tokens: FakeTokenServer, servicenow: FakeServiceNow, ines: User
) -> None:
    submitted(make_plan(connection.systems.get(), ines), ines)
    for _ in range(3):
        tick(connection)
    assert servicenow.only()["state"] == "-4"
    assert len(servicenow.requests) > 3
    assert [body for _, _, body in tokens.requests] == [
        {"grant_type": "client_credentials", "scope": "changes read"}
    ]


def test_client_is_in_the_body_where_the_server_wants_it(
    connection: Connection, tokens: FakeTokenServer, api: APIClient
) -> None:
    tokens.in_body = True
    address = f"/api/v1/connections/{connection.public_id}/test"
    assert "refuses the credential (401)" in api.post(address).json()["detail"]
    connection.settings["client_in_body"] = True
    connection.save()
    assert api.post(address).json()["works"]
    request = Exchange.objects.filter(method="POST").latest("id").request
    assert "client_id=weir+%26+co&client_secret=***" in request


def test_token_that_ends_in_the_life_of_a_plan_is_taken_anew(
    connection: Connection, tokens: FakeTokenServer, servicenow: FakeServiceNow, ines: User
) -> None:
    """Whatever it is refused at is sent again, and nothing twice."""
    plan = submitted(make_plan(connection.systems.get(), ines), ines)
    tick(connection)
    change = plan.changes.get()
    for turn in range(3):
        tokens.end_all()
        Message.objects.create(change=change, kind="comment", payload={"text": f"turn {turn}"})
        tick(connection)
        assert Message.objects.filter(sent_at=None).count() == 0
    assert [note.split("\n")[0] for note in servicenow.only_notes()] == [
        "turn 0",
        "turn 1",
        "turn 2",
    ]
    assert len(servicenow.rows) == 1
    assert len(tokens.given) == 4
    connection.refresh_from_db()
    assert (connection.problem, connection.failures) == ("", 0)


def test_token_is_taken_anew_before_it_ends(
    connection: Connection,
    tokens: FakeTokenServer,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(access_tokens, "monotonic", lambda: now[0])
    address = f"/api/v1/connections/{connection.public_id}/test"
    for at, given in ((0, 1), (1739, 1), (1741, 2), (1741 + 1739, 2), (1741 + 1741, 3)):
        now[0] = 1000.0 + at
        assert api.post(address).json()["works"]
        assert len(tokens.given) == given
    assert len(access_tokens._tokens) == 1, "those that ended are forgotten"


@pytest.mark.parametrize(
    ("expires_in", "used_s"),
    [
        *((1800, 1740), ("1800", 1740), (100, 50), (0, 0), (-5, 0), (10**12, 86_340)),
        *((None, 300), ("soon", 300), ("nan", 300), (True, 300), ("inf", 86_340)),
    ],
)
def test_life_of_a_token(expires_in: Any, used_s: float) -> None:
    assert access_tokens._life(expires_in) == used_s


def test_token_that_lives_for_no_time_serves_one_request(
    connection: Connection, tokens: FakeTokenServer, api: APIClient
) -> None:
    tokens.life = 0
    address = f"/api/v1/connections/{connection.public_id}/test"
    for turn in (1, 2):
        assert api.post(address).json()["works"]
        assert len(tokens.given) == turn


def test_new_token_that_is_refused_too_is_a_problem_and_not_tried_for_ever(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    api: APIClient,
    harbour: Harbour,
    ines: User,
) -> None:
    servicenow.token_server = FakeTokenServer("another", "client")
    submitted(make_plan(harbour.system, ines), ines)
    for turn in (1, 2):
        tick(connection)
        assert len(tokens.given) == turn
        assert shown(api, connection)["problem"].startswith("The access token was refused (401).")
    servicenow.token_server = tokens
    tick(connection)
    assert len(servicenow.rows) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(drop=True), "No access token: 127.0.0.1: "),
        (Fault(status=500), "No access token: 127.0.0.1 answers 500."),
        (Fault(status=404), "No access token: 127.0.0.1 answers 404."),
        (
            Fault(status=302, headers={"Location": "https://sso.example.org/?code=hunter22"}),
            "No access token: 127.0.0.1 sends on to https://sso.example.org/, which is not "
            "followed; correct `token_address`.",
        ),
        (
            Fault(body="<html>Sign in</html>"),
            "No access token: 127.0.0.1 answers 200 without `access_token`; look at "
            "`token_address`.",
        ),
        (
            Fault(body='{"access_token": "tok-hunter22", "token_type": "mac"}'),
            "No access token: 127.0.0.1 gives a token of the type mac; Weir sends those of the "
            "type Bearer.",
        ),
        (
            Fault(body='{"access_token": "tok\\nhunter22", "token_type": "bearer"}'),
            "No access token: 127.0.0.1 gives a token that no header can carry.",
        ),
    ],
)
def test_token_that_cannot_be_taken_is_a_problem_and_what_waits_is_sent_later(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    api: APIClient,
    harbour: Harbour,
    ines: User,
    fault: Fault,
    words: str,
) -> None:
    submitted(make_plan(harbour.system, ines), ines)
    tokens.faults.append(fault)
    changes_follow()
    connection_work(connection.public_id)
    row = shown(api, connection)
    assert row["problem"].startswith(words)
    assert row["retry_at"] is not None
    assert servicenow.requests == []
    waiting = Message.objects.get()
    # Nothing was sent to the other side, so that nothing has to settle.
    assert (waiting.sent_at, waiting.settles_at) == (None, None)
    assert "hunter22" not in everything_stored()
    tick(connection)
    assert len(servicenow.rows) == 1
    assert shown(api, connection)["problem"] == ""


def test_server_of_tokens_is_left_alone_for_as_long_as_it_wants(
    connection: Connection, tokens: FakeTokenServer, harbour: Harbour, ines: User
) -> None:
    submitted(make_plan(harbour.system, ines), ines)
    tokens.faults.append(Fault(status=429, headers={"Retry-After": "900"}))
    changes_follow()
    connection_work(connection.public_id)
    connection.refresh_from_db()
    assert connection.problem == "No access token: 127.0.0.1 answers 429."
    assert connection.retry_at is not None
    assert connection.retry_at > timezone.now() + timedelta(seconds=890)
    assert connection_work(connection.public_id) == 0
    assert tokens.given == []


def test_wrong_secret_is_a_problem_that_does_not_show_it(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = f"/api/v1/connections/{connection.public_id}/test"
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", f"{CLIENT}:hunter22")
    assert api.post(address).json()["detail"] == (
        "No access token: 127.0.0.1 refuses the credential (401). It says: invalid_client: "
        "access_denied"
    )
    for value in ("hunter22", "hunter22:", ":hunter22"):
        monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", value)
        detail = api.post(address).json()["detail"]
        assert "is no client_id:client_secret" in detail
        assert "hunter22" not in detail
    assert servicenow.requests == []
    assert "hunter22" not in everything_stored()


def test_new_secret_holds_at_once(
    connection: Connection,
    tokens: FakeTokenServer,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = f"/api/v1/connections/{connection.public_id}/test"
    assert api.post(address).json()["works"]
    tokens.secret = "renewed"
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", f"{CLIENT}:renewed")
    assert api.post(address).json()["works"]
    assert len(tokens.given) == 2


def test_neither_secret_nor_token_is_stored_logged_or_answered(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    api: APIClient,
    harbour: Harbour,
    ines: User,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also where both servers repeat what they were sent, in whatever form."""
    caplog.set_level(logging.DEBUG)
    tokens.more = {"id_token": "eyJ.hunter22", "debug": [f"{CLIENT}:{SECRET}"], "scope": SECRET}
    plan = submitted(make_plan(harbour.system, ines), ines)
    tick(connection)
    for token in tokens.given:
        echo = f'{{"error": {{"message": "Bearer {token} and {token} of {SECRET}"}}}}'
        servicenow.faults.append(Fault(status=400, body=echo))
    Message.objects.create(change=plan.changes.get(), kind="comment", payload={"text": "x"})
    tick(connection)
    assert Message.objects.filter(sent_at=None).exists()
    listed = api.get("/api/v1/exchanges").content.decode()
    listed += api.get("/api/v1/waiting-messages").content.decode()
    listed += api.get(f"/api/v1/connections/{connection.public_id}").content.decode()
    messages = "\n".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("httpcore")
    )
    for text in (everything_stored(), listed, messages):
        for secret in (*tokens.given, SECRET, "s3cret", "hunter22"):
            assert secret not in text
    (row,) = Exchange.objects.filter(address__endswith=PATH)
    assert row.change is None
    assert row.response == (
        '{"access_token": "***", "token_type": "***", "scope": "***", "expires_in": 1800, '
        '"id_token": "***", "debug": "***"}'
    )


def test_tokens_that_are_taken_often_push_no_writes_out(
    connection: Connection, tokens: FakeTokenServer, api: APIClient
) -> None:
    tokens.life = 0
    for _ in range(3):
        api.post(f"/api/v1/connections/{connection.public_id}/test")
    (row,) = Exchange.objects.filter(address__endswith=PATH)
    assert (row.times, len(tokens.given)) == (3, 3)


def test_tokens_that_are_answered_otherwise_each_time_push_no_writes_out(
    connection: Connection,
    tokens: FakeTokenServer,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("apps.integrations.services.exchanges.EXCHANGES_KEPT", 2)
    now = timezone.now()
    write = Sent(method="POST", address="https://example.org/change", status=201, at=now)
    exchange_keep(connection, None, write)
    tokens.life = 0
    for turn in range(4):
        tokens.more = {"error_description": f"number {turn}"}
        api.post(f"/api/v1/connections/{connection.public_id}/test")
    kept = [row.address for row in Exchange.objects.exclude(method="GET").order_by("id")]
    assert kept == [write.address, *[connection.settings["token_address"]] * 2]


def test_a_large_page_that_refuses_a_token_is_a_refusal_of_it(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = f"/api/v1/connections/{connection.public_id}/test"
    assert api.post(address).json()["works"]
    tokens.end_all()
    servicenow.refusal = "x" * 200_000
    monkeypatch.setattr(kept_requests, "LARGEST_ANSWER_BYTES", 100_000)
    assert api.post(address).json()["works"]
    assert len(tokens.given) == 2


def test_credential_goes_to_the_server_of_tokens_only_where_it_may(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = f"/api/v1/connections/{connection.public_id}/test"
    ports = [
        connection.settings[name].rpartition(":")[2].partition("/")[0]
        for name in ("address", "token_address")
    ]
    for port in ports:
        monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW_HOSTS", f"127.0.0.1:{port}")
        answer = api.post(address).json()
        assert answer["works"] is False
        assert "env:WEIR_CREDENTIAL_SERVICENOW is for 127.0.0.1:" in answer["detail"]
    assert (tokens.requests, servicenow.requests) == ([], [])
    both = ",".join(f"127.0.0.1:{port}" for port in ports)
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW_HOSTS", both)
    assert api.post(address).json()["works"]


def test_private_address_of_tokens_is_not_dialled(
    connection: Connection, tokens: FakeTokenServer, api: APIClient, settings: Any
) -> None:
    settings.WEIR_PRIVATE_NETWORKS = ()
    answer = api.post(f"/api/v1/connections/{connection.public_id}/test").json()
    assert "No access token: 127.0.0.1 is not asked: 127.0.0.1 is no public" in answer["detail"]
    settings.WEIR_PLAIN_HTTP = False
    answer = api.post(f"/api/v1/connections/{connection.public_id}/test").json()
    assert "Only https:// is allowed" in answer["detail"]
    assert tokens.requests == []


def test_tokens_and_tickets_go_by_the_proxy(
    connection: Connection,
    tokens: FakeTokenServer,
    servicenow: FakeServiceNow,
    settings: Any,
    ines: User,
) -> None:
    submitted(make_plan(connection.systems.get(), ines), ines)
    with proxying() as proxy:
        settings.WEIR_OUTGOING_PROXY = proxy.settings()
        tick(connection)
    assert len(servicenow.rows) == 1
    assert len(proxy.requests) == len(tokens.requests) + len(servicenow.requests)
    assert "proxy:pass" not in everything_stored()


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"authentication": "oauth"}, "settings.token_address", "Say where"),
        ({**OAUTH, "token_address": "http://e.org"}, "settings.token_address", "Only https://"),
        ({**OAUTH, "token_address": "e.org"}, "settings.token_address", "https://"),
        ({**OAUTH, "token_address": "https://a:b@e.org"}, "settings.token_address", "credential"),
        ({**OAUTH, "scope": "a  b"}, "settings.scope", "one space"),
        ({**OAUTH, "scope": 'a"b'}, "settings.scope", "without quotes"),
        ({**OAUTH, "client_in_body": "yes"}, "settings.client_in_body", "true or false"),
        ({**OAUTH, "authentication": "basic"}, "settings.token_address", "leave it out"),
        ({"authentication": "bearer", "scope": "a"}, "settings.scope", "leave it out"),
        (
            {"authentication": "none", "client_in_body": True},
            "settings.client_in_body",
            "leave it out",
        ),
    ],
)
@pytest.mark.parametrize(
    ("product", "more"),
    [
        ("servicenow", {}),
        ("jira", {"service_desk": "7", "request_type": "12"}),
        ("http", {"open_path": "/a", "open_body": {"a": "{title}"}}),
    ],
)
def test_wrong_setting_of_tokens_is_refused_at_its_field(
    api: APIClient,
    product: str,
    more: dict[str, Any],
    given: dict[str, Any],
    field: str,
    words: str,
) -> None:
    body = {
        "name": "Tickets",
        "product": product,
        "credential": "env:WEIR_CREDENTIAL_SERVICENOW",
        "approval_needed": False,
        "settings": {"address": "https://example.org", **more, **given},
    }
    answer = api.post("/api/v1/connections", body, format="json")
    assert answer.status_code == 400, answer.content
    assert words in {error["field"]: error["message"] for error in answer.json()["errors"]}[field]
    body["settings"] = {"address": "https://example.org", **more, **OAUTH, "scope": "a:b c"}
    assert api.post("/api/v1/connections", body, format="json").status_code == 201


def test_token_that_another_thread_has_taken_since_is_not_forgotten(
    connection: Connection, tokens: FakeTokenServer
) -> None:
    mine, theirs = (
        access_tokens.AccessTokens(
            settings=ServiceNowSettings(**connection.settings),
            credential=f"{CLIENT}:{SECRET}",
            requests=KeptRequests(keep=lambda sent: None, before=lambda: None),
        )
        for _ in range(2)
    )
    older, newest = mine.take(), theirs.take()
    mine.forget(older)
    assert mine.remembered() == newest
    theirs.forget(newest)
    assert mine.remembered() is None
