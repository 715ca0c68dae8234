"""From the message to the page: whoever is called comes by e-mail or from a chat, and decides."""

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.apps.webhooks.receiver import Receiver
from tests.e2e.fleet import Fleet
from tests.mail_server import MailServer

pytestmark = pytest.mark.e2e

WITHIN_S = 60.0


def wait_mail(mail: MailServer, to: str, text: str) -> str:
    """The content of a message to this address with this text."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        for recipients, message in zip(mail.recipients, mail.taken, strict=False):
            content = str(message.get_content())
            if recipients == [to] and text in content:
                return content
        time.sleep(0.5)
    raise AssertionError(f"no message to {to} says {text}")


def link_to(content: str, text: str) -> str:
    """The address below the line with this text."""
    found = re.search(re.escape(text) + r".*?(https?://\S+)", content, re.DOTALL)
    assert found is not None, content
    return found[1]


def test_an_approver_and_an_operator_come_from_messages_and_decide(
    fleet: Fleet, person: Callable[[str], Page], mail: MailServer
) -> None:
    for name in ("approver", "operator"):
        client = fleet.everybody.client
        users = fleet.everybody.get("/api/v1/users", search=name)["results"]
        (row,) = [row for row in users if row["username"] == name]
        answer = client.patch(
            f"/api/v1/users/{row['id']}",
            json={"email": f"{name}@example.org"},
            headers={"If-Match": f'"{row["version"]}"'},
        )
        assert answer.status_code == 200, answer.text
    fleet.shake()
    plan = fleet.plan(fleet.optimize(), fleet.author)
    fleet.command(fleet.author, plan, "submit")

    waits = f"{plan['name']} waits for review"
    content = wait_mail(mail, "approver@example.org", waits)
    approver = person("approver")
    approver.goto(link_to(content, waits))
    approver.get_by_role("button", name=re.compile("^Approve hash")).click()

    approved = f"{plan['name']} is approved"
    content = wait_mail(mail, "operator@example.org", approved)
    operator = person("operator")
    operator.goto(link_to(content, approved))
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    fleet.wait_execution(fleet.execution_of(plan), "succeeded")

    # What one is told is one's own choice, made on a page that the message names.
    approver.goto(link_to(content, "you are told"))
    approver.get_by_label("Write to me").uncheck()
    approver.get_by_role("button", name="Save notifications").click()
    expect(approver.get_by_text("Saved what you are told")).to_be_visible()


@pytest.fixture
def channel(fleet: Fleet) -> Iterator[str]:
    """A name for a channel, which is gone afterwards."""
    name = f"Operations {uuid.uuid4().hex[:6]}"
    yield name
    for row in fleet.everybody.get("/api/v1/channels", search=name)["results"]:
        gone = fleet.everybody.client.delete(
            f"/api/v1/channels/{row['id']}", headers={"If-Match": f'"{row["version"]}"'}
        )
        assert gone.status_code == 204, gone.text


def wait_chat(chat: Receiver, text: str) -> list[Any]:
    """The blocks of a message in the chat from the one with this text on."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        for request in list(chat.received):
            blocks = json.loads(request.body)["blocks"]
            for number, block in enumerate(blocks):
                if text in str(block.get("text", {}).get("text", "")):
                    return list(blocks[number:])
        time.sleep(0.5)
    raise AssertionError(f"no message in the chat says {text}")


def test_an_approver_comes_from_a_chat_to_the_plan(
    fleet: Fleet, person: Callable[[str], Page], chat: Receiver, channel: str
) -> None:
    admin = person("demo")
    admin.goto("/settings/channels")
    admin.get_by_role("button", name="Add channel").first.click()
    form = admin.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill(channel)
    # The address itself is refused: it is a secret.
    form.get_by_label("Credential").fill(chat.address)
    form.get_by_role("button", name="Add channel").click()
    expect(form.get_by_label("Credential")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Credential").fill("env:WEIR_CREDENTIAL_OPS_CHAT")
    form.get_by_role("button", name="Add channel").click()
    row = admin.get_by_role("row").filter(has_text=channel)
    row.get_by_role("button", name="Send test").click()
    wait_chat(chat, f"This is a test of the channel {channel}")
    expect(row.get_by_text("Works", exact=True)).to_be_visible(timeout=WITHIN_S * 1000)

    # What stood before is told, so that the plan comes in a message of its own.
    fleet.everybody.wait(
        "/api/v1/channels",
        lambda page: [row["waiting"] for row in page["results"]] == [0],
        WITHIN_S,
        search=channel,
    )

    fleet.shake()
    plan = fleet.plan(fleet.optimize(), fleet.author)
    fleet.command(fleet.author, plan, "submit")
    _, circumstances, *_ = wait_chat(chat, f"{plan['name']} waits for review")
    link = re.fullmatch(r"<(\S+)\|Open>", circumstances["elements"][0]["text"])
    assert link is not None, circumstances
    approver = person("approver")
    approver.goto(link[1])
    expect(approver.get_by_role("button", name=re.compile("^Approve hash"))).to_be_visible()
