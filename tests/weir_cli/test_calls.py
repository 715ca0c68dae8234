"""What a caller of the API hears when the other side is busy, broken, or not Weir."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from weir_api.api.plans import plans_create, plans_list
from weir_api.api.session import session_retrieve
from weir_api.models.model_plan_request import ModelPlanRequest
from weir_api.models.plan_state_enum import PlanStateEnum
from weir_api.models.session import Session
from weir_cli.calls import MOST_TRIES, Refused, Weir
from weir_cli.ending import NO_ANSWER, UNFIT, CommandError
from weir_cli.login import Login
from weir_cli.output import exact, figure, plain, table
from weir_cli.watching import events_command

SESSION = {
    **{"signed_in": True, "user_id": None, "username": "ci", "display_name": "CI"},
    **{"roles": ["editor", "navigator"], "allowed_commands": [], "csrf_token": ""},
    "something_new": 1,
}


def problem(status: int, code: str, **more: Any) -> str:
    body = {"type": f"urn:weir:problem:{code}", "title": "No", "status": status, "code": code}
    return json.dumps({**body, "detail": "Too much at once.", **more})


class Proxy:
    """A server on this machine that answers what it was given, and notes what it was sent."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str, dict[str, str]]] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                proxy.requests.append((self.command, self.path, dict(self.headers)))
                status, body, headers = proxy.answers.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = answer

            def log_message(self, *arguments: Any) -> None:
                """Keep the test's output free of every request."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.server.shutdown()
    proxy.server.server_close()


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def weir(proxy: Proxy, waits: list[float]) -> Weir:
    return Weir(Login(proxy.url, "weir_secret"), sleep=waits.append)


def test_an_answer_of_a_newer_server_is_read(proxy: Proxy, weir: Weir) -> None:
    proxy.answers = [(200, json.dumps(SESSION), {})]
    session = weir.call(session_retrieve.sync_detailed, Session)
    assert [str(role) for role in session.roles] == ["editor", "navigator"]
    assert session.to_dict() == SESSION
    assert proxy.requests[0][2]["Authorization"] == "Bearer weir_secret"
    assert PlanStateEnum("mothballed") == "mothballed"


def test_what_is_put_off_is_sent_again_when_the_server_says(
    proxy: Proxy, weir: Weir, waits: list[float]
) -> None:
    busy = (429, problem(429, "throttled"), {"Retry-After": "7"})
    proxy.answers = [busy, (503, problem(503, "database_away"), {"Retry-After": "2"})]
    proxy.answers.append((200, json.dumps(SESSION), {}))
    weir.call(session_retrieve.sync_detailed, Session)
    assert waits == [7.0, 2.0]


def test_a_command_that_is_sent_again_has_the_same_key(proxy: Proxy, weir: Weir) -> None:
    busy = (429, problem(429, "throttled"), {"Retry-After": "1"})
    proxy.answers = [busy, (409, problem(409, "nothing_to_change"), {})]
    body = ModelPlanRequest.from_dict({"system": "0196a3f0-6b1c-7d50-a0a6-1c2f65f0a001"})
    with pytest.raises(Refused, match=r"Too much at once\.") as refusal:
        weir.answer(plans_create.sync_detailed, body=body)
    assert refusal.value.status == UNFIT
    first, second = (headers["Idempotency-Key"] for _, _, headers in proxy.requests)
    assert first == second


@pytest.mark.parametrize("after", ["3600", "soon", None])
def test_nobody_waits_for_long_or_for_no_reason(
    proxy: Proxy, weir: Weir, waits: list[float], after: str | None
) -> None:
    headers = {} if after is None else {"Retry-After": after}
    proxy.answers = [(503, problem(503, "database_away"), headers)]
    with pytest.raises(Refused) as refusal:
        weir.call(session_retrieve.sync_detailed, Session)
    assert (refusal.value.status, waits) == (NO_ANSWER, [])


def test_a_server_that_stays_busy_is_given_up(proxy: Proxy, weir: Weir, waits: list[float]) -> None:
    proxy.answers = [(429, problem(429, "throttled"), {"Retry-After": "1"})] * MOST_TRIES
    with pytest.raises(Refused):
        weir.call(session_retrieve.sync_detailed, Session)
    assert len(waits) == MOST_TRIES - 1


def test_errors_are_named_by_field(proxy: Proxy, weir: Weir) -> None:
    errors = [{"field": "kinds.broker[3].name", "message": "Is given twice."}]
    proxy.answers = [(400, problem(400, "invalid", errors=errors, more_errors=12), {})]
    with pytest.raises(Refused) as refusal:
        weir.call(session_retrieve.sync_detailed, Session)
    assert str(refusal.value).splitlines() == [
        "Too much at once.",
        "  kinds.broker[3].name: Is given twice.",
        "  and 12 more",
    ]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, "<html>Bad gateway</html>"),
        (200, "<html>Sign in to the network</html>"),
        (200, "[]"),
        (200, "{}"),
        (404, '{"error": "no such page"}'),
        (301, ""),
        (299, "{}"),
    ],
)
def test_what_is_not_weir_is_called_so(proxy: Proxy, weir: Weir, status: int, body: str) -> None:
    proxy.answers = [(status, body, {"Location": "https://elsewhere.example.org/"})]
    with pytest.raises(CommandError, match=f"answered {status}, and not as Weir") as refusal:
        weir.call(session_retrieve.sync_detailed, Session)
    assert refusal.value.status == NO_ANSWER
    assert len(proxy.requests) == 1, "the token goes nowhere else"


def test_nobody_there_is_said(proxy: Proxy) -> None:
    proxy.server.shutdown()
    proxy.server.server_close()
    with pytest.raises(CommandError, match="cannot be reached") as refusal:
        Weir(Login(proxy.url, "weir_x")).call(session_retrieve.sync_detailed, Session)
    assert refusal.value.status == NO_ANSWER


def test_whoever_watches_waits_for_a_server_that_was_there(
    proxy: Proxy, weir: Weir, waits: list[float]
) -> None:
    weir.wait_while_away = waits.append
    gone = (502, "<html>Bad gateway</html>", {})
    proxy.answers = [gone]
    with pytest.raises(CommandError, match="not as Weir does"):
        weir.call(session_retrieve.sync_detailed, Session)
    assert waits == []
    proxy.answers = [(200, json.dumps(SESSION), {}), *([gone] * 7), (200, json.dumps(SESSION), {})]
    weir.call(session_retrieve.sync_detailed, Session)
    weir.call(session_retrieve.sync_detailed, Session)
    assert waits == [1, 2, 4, 8, 15, 15, 15]


@pytest.mark.parametrize("url", ["http://a..b", f"http://{'x' * 70}.example.org"])
def test_an_address_that_cannot_be_is_said(url: str) -> None:
    with pytest.raises(CommandError, match="cannot be reached"):
        Weir(Login(url, "weir_x")).call(session_retrieve.sync_detailed, Session)


def test_certificates_that_are_not_there_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(CommandError, match=r"SSL_CERT_FILE .*none\.pem: No such file"):
        Weir(Login("https://weir.example.org", "weir_x"))
    (tmp_path / "none.pem").write_text("empty")
    with pytest.raises(CommandError, match=r"SSL_CERT_FILE .*none\.pem: "):
        Weir(Login("https://weir.example.org", "weir_x"))


def test_events_are_followed_past_ends_and_faults(
    proxy: Proxy, weir: Weir, waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    event = {"type": "weir.plan.approve", "time": "2026-11-28T05:10:30Z", "data": {}}
    stream = f"id: 7\ndata: {json.dumps(event)}\n\n"
    proxy.answers = [
        (200, stream, {}),
        (502, "<html>Bad gateway</html>", {}),
        (503, problem(503, "database_away"), {}),
        (200, stream.replace("7", "8"), {}),
        (401, problem(401, "authentication_failed"), {}),
    ]
    with pytest.raises(Refused) as refusal:
        events_command(weir, None, [], 0, json_output=True)
    assert refusal.value.problem.status == 401
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [event] * 2
    ids_sent = [headers.get("Last-Event-ID") for _, _, headers in proxy.requests]
    assert ids_sent == [None, "7", "7", "7", "8"]
    assert waits == [1, 2, 4, 1]


def test_a_list_is_read_page_by_page(proxy: Proxy, weir: Weir) -> None:
    page = {"count": 0, "previous": None, "results": []}
    following = f"{proxy.url}/api/v1/plans?cursor=cD0yMA%3D%3D&page_size=1"
    proxy.answers = [
        (200, json.dumps({**page, "next": following}), {}),
        (200, json.dumps({**page, "next": None}), {}),
    ]
    assert list(weir.rows(plans_list.sync_detailed)) == []
    assert [path.partition("?")[2] for _, path, _ in proxy.requests] == [
        "page_size=50",
        "cursor=cD0yMA%3D%3D&page_size=50",
    ]


def test_what_would_steer_a_terminal_is_written_as_its_code() -> None:
    assert plain("a\x1b[2Jb\nc\u202ed") == "a\\x1b[2Jb\\nc\\u202ed"
    assert plain({"ö": [1, None]}) == '{"ö": [1, null]}'
    assert plain(True) == "yes"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234567.0, "1,234,567"),
        (0.1 + 0.2, "0.3"),
        (1e-7, "1e-07"),
        (123456.789, "123,457"),
        (1e300, "1e+300"),
        (-2.5, "-2.5"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert figure(value) == text


def test_what_people_agree_to_has_all_its_digits() -> None:
    assert exact(12345678.25) == "12345678.25"
    assert exact(6.00000001) == "6.00000001"
    assert (exact(6.0), exact(1200000), exact(True)) == ("6", "1,200,000", "yes")
    assert exact(1e22) == "1e+22"


def test_columns_are_aligned_and_numbers_stand_to_the_right() -> None:
    lines = table([("a", 1, None), ("bcd", 2345.5, "x")], ("name", "rate", "note")).splitlines()
    assert lines == ["name     rate  note", "a           1", "bcd   2,345.5  x"]
