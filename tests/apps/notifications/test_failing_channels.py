"""A channel that goes on failing calls administrators, until it takes a message or is edited."""

import importlib
from typing import Any

import pytest
from django.apps import apps

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.inbox.models import Item
from apps.inbox.services import items_keep
from apps.notifications.models import Channel, NotificationSettings
from apps.notifications.services import channel_test
from tests.apps.notifications.conftest import Clock, add, begin, change, texts_in, work
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.conftest import client_of
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def inbox(person: User) -> list[dict[str, Any]]:
    """What the person is called to, of channels."""
    items_keep()
    rows = client_of(person).get("/api/v1/inbox").json()["results"]
    return [row for row in rows if row["kind"] == "channel_failing"]


def fail_often(chat: Receiver, clock: Clock) -> None:
    """The channel fails three times in a row."""
    begin(clock, "for the chat", waits=True)
    for minutes in (1, 2, 6):
        chat.answer(404, b"no_service")
        work(clock, minutes=minutes)


def test_administrators_are_called_after_three_failures_in_a_row(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    since = clock.now
    for minutes in (1, 2):
        chat.answer(404)
        work(clock, minutes=minutes)
        assert inbox(admin) == []
    chat.answer(404)
    work(clock, minutes=6)
    (item,) = inbox(admin)
    channel.refresh_from_db()
    assert channel.failing_since is not None
    assert channel.failing_since > since
    assert item["title"] == "The chat channel ops did not take its last messages"
    assert item["about"] == str(channel.public_id)
    assert (item["page"], item["waits"]) == ("/settings/channels", False)
    assert item["since"] == channel.failing_since.isoformat().replace("+00:00", "Z")
    others = [make_user(role.value, role) for role in Role if role != Role.ADMIN]
    assert [inbox(person) for person in others] == [[]] * len(others)


def test_administrators_are_called_once_a_message_was_given_up(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(400, b"invalid_blocks")
    work(clock)
    assert len(inbox(admin)) == 1


def test_a_test_that_failed_calls_nobody(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    chat.answer(400)
    work(clock, seconds=5)
    channel.refresh_from_db()
    assert channel.problem == "It answers 400."
    assert inbox(admin) == []


def test_a_test_that_is_refused_ends_nothing(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    fail_often(chat, clock)
    (item,) = inbox(admin)
    channel_test(channel=channel, actor=admin)
    chat.answer(400)
    work(clock, seconds=5)
    assert inbox(admin) == [item]


def test_it_is_over_once_a_message_is_taken(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    fail_often(chat, clock)
    (first,) = inbox(admin)
    channel_test(channel=channel, actor=admin)
    assert work(clock, seconds=5) == 2
    assert inbox(admin) == []
    # What comes back soon is the same.
    begin(clock, "next", waits=True)
    chat.answer(400)
    work(clock)
    assert [item["id"] for item in inbox(admin)] == [first["id"]]


@pytest.mark.parametrize("values", [{"shape": "teams"}, {"enabled": False}])
def test_it_is_over_once_the_channel_is_mended_or_disabled(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, values: dict[str, Any]
) -> None:
    fail_often(chat, clock)
    assert len(inbox(admin)) == 1
    change(channel, admin, **values)
    assert inbox(admin) == []


def test_nobody_who_reads_a_chat_sees_where_a_credential_is(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(clock)
    with monkeypatch.context() as patch:
        patch.delenv("WEIR_CREDENTIAL_OPS_CHAT")
        for minutes in (1, 2, 6):
            work(clock, minutes=minutes)
    (item,) = inbox(admin)
    channel.refresh_from_db()
    assert "WEIR_CREDENTIAL_OPS_CHAT" in channel.problem
    assert "WEIR_CREDENTIAL" not in str(item)


def test_another_channel_hears_of_it_and_it_hears_not_of_itself(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as good:
        monkeypatch.setenv("WEIR_CREDENTIAL_GOOD_CHAT", good.address)
        add(admin, name="good", credential="env:WEIR_CREDENTIAL_GOOD_CHAT")
        fail_often(chat, clock)
        items_keep()
        chat.answer(404)
        assert work(clock, hours=1) == 1
        assert "The chat channel ops did not take its last messages" in texts_in(good)
    assert work(clock, hours=2) == 1
    assert "did not take its last messages" not in texts_in(chat)
    items_keep()
    assert not Item.objects.filter(kind="channel_failing", ended_at=None).exists()


def test_whoever_hears_of_failing_webhooks_hears_of_failing_channels_after_the_upgrade(
    admin: User, allowed: None
) -> None:
    migration = importlib.import_module(
        "apps.notifications.migrations.0006_hear_of_failing_channels"
    )
    hears = add(admin, name="hears", kinds=["agent_silent", "webhook_failing"])
    deaf = add(admin, name="deaf", kinds=["agent_silent"])
    person = NotificationSettings.objects.create(person=admin, kinds=["webhook_failing"])
    migration.hear(apps, None)
    for row in (hears, deaf, person):
        row.refresh_from_db()
    assert hears.kinds == ["agent_silent", "channel_failing", "webhook_failing"]
    assert deaf.kinds == ["agent_silent"]
    assert person.kinds == ["channel_failing", "webhook_failing"]
    migration.forget(apps, None)
    hears.refresh_from_db()
    assert hears.kinds == ["agent_silent", "webhook_failing"]


def test_whoever_hears_of_lost_messages_hears_of_slos_that_burn_after_the_upgrade(
    admin: User, allowed: None
) -> None:
    migration = importlib.import_module("apps.notifications.migrations.0008_hear_of_slos_that_burn")
    hears = add(admin, name="hears", kinds=["messages_lost"])
    deaf = add(admin, name="deaf", kinds=["agent_silent"])
    migration.hear(apps, None)
    for row in (hears, deaf):
        row.refresh_from_db()
    assert hears.kinds == ["budget_spent", "messages_lost", "slo_burns", "slo_burns_fast"]
    assert deaf.kinds == ["agent_silent"]
    migration.forget(apps, None)
    hears.refresh_from_db()
    assert hears.kinds == ["messages_lost"]
