"""From the message to the page: whoever is called comes by e-mail, and decides."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

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
    fleet.do(fleet.author, f"plans/{plan['id']}/submit")

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
