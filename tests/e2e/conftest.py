"""The whole system, as `make up` leaves it, in `var/e2e`; started once, ended with the session."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from config.stack import Stack
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.e2e.api import Api
from tests.e2e.browsing import CHROMIUM, FLAGS, sign_in
from tests.e2e.desks import mapped
from tests.e2e.fleet import Fleet
from tests.mail_server import MailServer, serving

STATE_DIR = Path(__file__).resolve().parents[2] / "var" / "e2e"
OF_OTHER_STACKS = (
    *("DATABASE_URL", "WEIR_BROKER_URL", "NATS_URL", "WEIR_SPARK_REMOTE", "WEIR_WEB_URL"),
    *("WEIR_SECRET_KEY", "WEIR_DATA_DIR", "SPARK_CONNECT_AUTHENTICATE_TOKEN"),
    *("DJANGO_SETTINGS_MODULE", "PYSPARK_PYTHON"),
)
# A worker that falls silent is noticed sooner than in production, so that kill tests stay short.
SILENCE_S = "8"
# A test's own ServiceNow may be reached, and with which credential.
OTHER_SERVERS = {
    "WEIR_PRIVATE_NETWORKS": "127.0.0.0/8",
    "WEIR_PLAIN_HTTP": "1",
    "WEIR_CREDENTIAL_SERVICENOW": "weir:correct horse",
}
# What a test may take anywhere. Starting the whole system, which the first one has to wait for, has
# limits of its own for each part.
MOST_S = 300.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count the time of a journey without that of starting the system."""
    for item in items:
        ours = Path(__file__).parent in item.path.parents
        if ours and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(MOST_S, func_only=True))


@pytest.fixture(scope="session")
def mail() -> Iterator[MailServer]:
    """Where the system hands its e-mail over."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def chat() -> Iterator[Receiver]:
    """Where the system posts to channels of chats."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def weir(mail: MailServer, chat: Receiver) -> Iterator[Stack]:
    """Everything that `make up` starts, with the demo loaded and in motion."""
    given = {k: v for k, v in os.environ.items() if k not in OF_OTHER_STACKS}
    keep = bool(os.environ.get("WEIR_TEST_SERVERS_KEEP"))
    if STATE_DIR.exists() and not keep:
        # What a run that was cut off has left would go on: schedules fire, plans wait.
        Stack(state_dir=STATE_DIR, given=given).down()
        shutil.rmtree(STATE_DIR)
    stack = Stack(
        state_dir=STATE_DIR,
        given={
            **given,
            "WEIR_RUN_SILENCE_S": SILENCE_S,
            **OTHER_SERVERS,
            "WEIR_SMTP_URL": f"smtp://127.0.0.1:{mail.port}?starttls=no",
            "WEIR_MAIL_FROM": "weir@example.org",
            "WEIR_CREDENTIAL_OPS_CHAT": chat.address,
        },
    )
    stack.up()
    api = Api(stack.environment()["WEIR_WEB_URL"])
    # The demo's first runs: a test that tidies up behind itself must not cancel them.
    for state in ("queued", "running"):
        api.wait("/api/v1/runs", lambda page: page["results"] == [], 300, state=state)
    api.client.close()
    yield stack
    if not keep:
        stack.down()


@pytest.fixture(scope="session")
def address(weir: Stack) -> str:
    return weir.environment()["WEIR_WEB_URL"]


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": list(FLAGS)}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any], address: str) -> dict[str, Any]:
    viewport = {"width": 1440, "height": 900}
    return {**browser_context_args, "base_url": address, "viewport": viewport}


@pytest.fixture
def rest(weir: Stack, address: str) -> Iterator[Api]:
    weir.wait_ready("web")
    api = Api(address)
    yield api
    # A test that failed half-way must not leave its runs to the next one.
    weir.wait_ready("web")
    for state in ("queued", "running"):
        for run in api.get("/api/v1/runs", state=state)["results"]:
            api.post(f"/api/v1/runs/{run['id']}/cancel")
    api.client.close()


@pytest.fixture(scope="session")
def people(weir: Stack, address: str) -> Iterator[Fleet]:
    """The demo fleet with four people signed in, once for all tests."""
    fleet = Fleet(weir, address)
    yield fleet
    fleet.close()


@pytest.fixture
def fleet(weir: Stack, people: Fleet) -> Iterator[Fleet]:
    """The demo fleet with all its agents live and nothing under way."""
    weir.wait_ready("web")
    people.wait_live()
    people.tidy()
    yield people
    weir.wait_ready("web")
    people.tidy()


@pytest.fixture
def wants(fleet: Fleet) -> Iterator[dict[str, list[str]]]:
    """Subscribers of the harbour, and the flows that each of them wants, on streams."""
    with mapped(fleet) as wants:
        yield wants


@pytest.fixture
def person(browser: Browser, address: str) -> Iterator[Callable[[str], Page]]:
    """A page of somebody who is signed in, each with cookies of their own."""
    contexts = []

    def page_of(username: str) -> Page:
        context = browser.new_context(base_url=address, viewport={"width": 1440, "height": 900})
        contexts.append(context)
        page = context.new_page()
        sign_in(page, username)
        return page

    yield page_of
    for context in contexts:
        context.close()
