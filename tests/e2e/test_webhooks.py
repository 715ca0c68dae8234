"""A secret is rotated and a worker killed; no message is lost or refused."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from config.stack import Stack
from tests.apps.webhooks.receiver import Received, Receiver, receiving
from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e
NAME = f"Tickets {uuid.uuid4().hex[:6]}"


@pytest.fixture
def receiver(fleet: Fleet) -> Iterator[Receiver]:
    """A receiver of this machine. It hears of nothing afterwards."""
    with receiving() as receiver:
        yield receiver
        for row in fleet.everybody.get("/api/v1/webhooks")["results"]:
            gone = fleet.everybody.client.delete(
                f"/api/v1/webhooks/{row['id']}", headers={"If-Match": f'"{row["version"]}"'}
            )
            assert gone.status_code == 204, gone.text


def wait(receiver: Receiver, fits: Callable[[Received], bool], seconds: float = 60.0) -> Received:
    """The first request like this."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for one in list(receiver.received):
            if fits(one):
                return one
        time.sleep(0.2)
    raise AssertionError(receiver.types)


def secret_in(page: Page) -> str:
    """The secret that a dialog shows, which is left then."""
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_role("textbox", name="Secret")
    expect(field).to_be_visible()
    secret = field.input_value()
    dialog.get_by_role("button", name="Done").click()
    return secret


def test_a_secret_is_rotated_without_a_message_that_is_refused(
    fleet: Fleet, person: Callable[[str], Page], receiver: Receiver
) -> None:
    admin = person("demo")
    admin.goto("/webhooks")
    admin.get_by_role("button", name="Add webhook").first.click()
    form = admin.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill(NAME)
    form.get_by_label("Address").fill("nowhere")
    form.get_by_role("button", name="Save webhook").click()
    expect(form.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Address").fill(receiver.address)
    form.get_by_role("button", name="Save webhook").click()
    first = secret_in(admin)
    expect(admin.get_by_role("heading", name=NAME)).to_be_visible()
    admin.get_by_role("button", name="Send a test").click()
    assert wait(receiver, lambda one: True).verifies(first)
    expect(admin.get_by_text("Delivers", exact=True).first).to_be_visible()

    # A receiver with the first secret takes all that comes until it has the second.
    admin.get_by_role("button", name="New secret").click()
    admin.get_by_role("dialog").get_by_role("button", name="Make a new secret").click()
    second = secret_in(admin)
    assert second != first
    fleet.shake()
    plan = fleet.some_plan()
    fleet.command(fleet.author, plan, "submit")
    sent = wait(receiver, lambda one: one.event.get_subject() == f"plan/{plan['id']}")
    assert sent.verifies(first)
    assert sent.verifies(second)

    assert all(one.verifies(first) for one in receiver.received)
    assert all(one.verifies(second) for one in receiver.received[receiver.received.index(sent) :])
    admin.reload()
    admin.get_by_role("button", name="weir.webhook.test").first.click()
    expect(admin.get_by_text('"specversion": "1.0"').first).to_be_visible()
    rows = fleet.everybody.get("/api/v1/deliveries", page_size=500)["results"]
    shown = [fleet.everybody.get(f"/api/v1/deliveries/{row['id']}") for row in rows]
    assert any(one["tries"] for one in shown)
    assert first not in str(shown)
    assert second not in str(shown)


@pytest.mark.thorough  # the lease of the worker that was killed has to end
def test_a_message_whose_sender_is_killed_comes_again(
    weir: Stack, fleet: Fleet, receiver: Receiver
) -> None:
    values = {"name": NAME, "address": receiver.address, "types": ["*"]}
    made = fleet.everybody.post("/api/v1/webhooks", values)
    assert made.status_code == 201, made.text
    webhook, secret = made.json()["id"], made.json()["secret"]
    receiver.held = held = threading.Event()
    tested = fleet.everybody.post(f"/api/v1/webhooks/{webhook}/test")
    assert tested.status_code < 300, tested.text
    deadline = time.monotonic() + 60.0
    while not receiver.received:
        assert time.monotonic() < deadline, "no message came"
        time.sleep(0.1)
    weir.kill("imports")
    receiver.held = None
    held.set()
    message = receiver.received[0].id
    deadline = time.monotonic() + 150.0
    while sum(one.id == message for one in receiver.received) < 2:
        assert time.monotonic() < deadline, receiver.types
        time.sleep(0.5)
    again = [one for one in receiver.received if one.id == message]
    assert len({one.body for one in again}) == 1
    assert all(one.verifies(secret) for one in receiver.received)
