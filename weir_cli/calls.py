"""Call operations of the generated client: again where that is safe, with refusals in words."""

import inspect
import os
import ssl
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx

from weir_api import AuthenticatedClient
from weir_api.models.problem import Problem
from weir_api.types import Response, Unset
from weir_cli.ending import NO, NO_ANSWER, UNFIT, CommandError
from weir_cli.login import Login

Operation = Callable[..., Response[Any]]
T = TypeVar("T")

MOST_TRIES = 6
LONGEST_WAIT_S = 60.0
AWAY_S = (1, 2, 4, 8, 15)
"""How long to wait for a server that is away, each time; the last goes on."""
TIMEOUT = httpx.Timeout(600.0, connect=10.0)
"""A change of a large model takes a while; a server that is not there says so soon."""


class Refused(CommandError):
    """Signal that Weir refused a request, with the problem document it answered."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(_sentences(problem), _status_of(problem))
        self.problem = problem


def _status_of(problem: Problem) -> int:
    if problem.code == "change_differs":
        return NO
    return UNFIT if problem.status < 500 else NO_ANSWER


class Weir:
    """One control plane, as the holder of a token uses it."""

    def __init__(
        self,
        login: Login,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = login.url
        self.sleep = sleep
        self.has_answered = False
        self.wait_while_away: Callable[[float], None] | None = None
        """Set by whoever watches: waits so many seconds for a server that was there before."""
        self._status = 0
        arguments: dict[str, Any] = {"event_hooks": {"response": [self._note_status]}}
        if transport is not None:
            arguments["transport"] = transport
        self.client = AuthenticatedClient(
            base_url=login.url,
            token=login.token,
            timeout=TIMEOUT,
            verify_ssl=_trusted() if login.url.startswith("https:") else True,
            httpx_args=arguments,
        )
        try:
            self.client.get_httpx_client()
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            raise CommandError(f"{login.url} cannot be reached: {error}.", UNFIT) from error

    def _note_status(self, response: httpx.Response) -> None:
        self._status = response.status_code

    def call(self, operation: Operation, expected: type[T], *path: Any, **arguments: Any) -> T:
        """Call an operation and return what it answers.

        Raises Refused for a problem document, and CommandError where there is no answer of Weir.
        """
        answer = self.answer(operation, *path, **arguments).parsed
        if not isinstance(answer, expected):
            raise self.no_answer_of_weir()
        return answer

    def answer(self, operation: Operation, *path: Any, **arguments: Any) -> Response[Any]:
        """Call an operation and return its answer with status and headers; otherwise as `call`.

        What Weir has no time for now is sent again when it says, and whoever watches waits for a
        server that is restarted: a command has a key by which it is carried out once.
        """
        takes = inspect.signature(operation).parameters
        if "idempotency_key" in takes:
            arguments.setdefault("idempotency_key", str(uuid.uuid4()))
        tries = away = 0
        while True:
            try:
                response = self._once(operation, *path, **arguments)
            except CommandError as error:
                if self.wait_while_away is None or not self.has_answered:
                    raise
                note(f"{error} Trying again.")
                self.wait_while_away(AWAY_S[min(away, len(AWAY_S) - 1)])
                away += 1
                continue
            self.has_answered = True
            if not isinstance(response.parsed, Problem):
                return response
            tries += 1
            wait_s = _wait_s(response)
            if wait_s is None or tries == MOST_TRIES:
                raise Refused(response.parsed)
            note(f"{response.parsed.detail} Again in {wait_s:.0f} s.")
            self.sleep(wait_s)

    def _once(self, operation: Operation, *path: Any, **arguments: Any) -> Response[Any]:
        self._status = 0
        try:
            return operation(*path, client=self.client, **arguments)
        except httpx.TimeoutException as error:
            raise CommandError(f"{self.url} has not answered in time.", NO_ANSWER) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise CommandError(f"{self.url} cannot be reached: {error}.", UNFIT) from error
        except httpx.TransportError as error:
            text = f"{self.url} cannot be reached: {error or type(error).__name__}."
            raise CommandError(text, NO_ANSWER) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # The generated client reads answers as the schema says; a page of a proxy is none.
            if not self._status:
                raise
            raise self.no_answer_of_weir() from error

    def no_answer_of_weir(self) -> CommandError:
        """Return what to raise for an answer that is none of Weir's."""
        text = f"{self.url} answered {self._status}, and not as Weir does. Is this its address?"
        return CommandError(text, NO_ANSWER)

    def rows(self, operation: Operation, **filters: Any) -> Iterator[Any]:
        """Read a list page by page."""
        cursor: dict[str, str] = {}
        while True:
            page: Any = self.answer(operation, **filters, **cursor).parsed
            if isinstance(page, list):
                yield from page
                return
            if not hasattr(page, "results"):
                raise self.no_answer_of_weir()
            yield from page.results
            following = getattr(page, "next_", None)
            if not following:
                return
            cursor = {"cursor": parse_qs(urlsplit(following).query)["cursor"][0]}


def _trusted() -> ssl.SSLContext:
    """Return what the machine trusts; `SSL_CERT_FILE` names other certificates."""
    file = os.environ.get("SSL_CERT_FILE") or None
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise CommandError(f"SSL_CERT_FILE {file}: {error.strerror or error}.") from error


def _wait_s(response: Response[Any]) -> float | None:
    """Return when to send a request again; None where that makes no sense."""
    if response.status_code not in (429, 503):
        return None
    try:
        wait_s = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return wait_s if 0 <= wait_s <= LONGEST_WAIT_S else None


def _sentences(problem: Problem) -> str:
    errors = [] if isinstance(problem.errors, Unset) else problem.errors
    lines = [problem.detail]
    for one in errors:
        field = getattr(one, "field", "")
        line = f"  {field}: {one.message}" if field else f"  {one.message}"
        if one.message not in problem.detail:
            lines.append(line)
    if not isinstance(problem.more_errors, Unset) and problem.more_errors:
        lines.append(f"  and {problem.more_errors:,} more")
    return "\n".join(lines)


def note(text: str) -> None:
    """Write a line for people on standard error; standard output is for the answer."""
    print(f"weir: {text}", file=sys.stderr)
