"""Messages in chats fit what each chat takes, and others' words in them do nothing."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.notifications.domain.lines import Line, Missed
from apps.notifications.domain.slack import slack_message
from apps.notifications.domain.teams import teams_message

WEB = "https://weir.example.org"
EVIL = "<!channel> @here *bold* _a_ `x` [Confirm](https://evil.test) <https://evil.test|me> & co"
SINCE = datetime.fromisoformat("2026-03-18T14:02:00Z")


def line(**values: Any) -> Line:
    return Line(
        **{
            "title": "1 agent is silent",
            "detail": "rot-1.",
            "system": "harbour",
            "page": "/systems/1",
            "since": SINCE,
            "waits": False,
            "worse": False,
            **values,
        }
    )


def slack(*lines: Line, timezone: str = "UTC") -> dict[str, Any]:
    return slack_message(lines, web_url=WEB, timezone=timezone)


def teams(*lines: Line, timezone: str = "UTC") -> dict[str, Any]:
    return teams_message(lines, web_url=WEB, timezone=timezone)


def parts(message: Any, kind: str) -> Iterator[Any]:
    """Every part of a message of this type."""
    if isinstance(message, dict):
        if message.get("type") == kind:
            yield message
        message = list(message.values())
    if isinstance(message, list):
        for one in message:
            yield from parts(one, kind)


def texts(message: Any, kind: str) -> list[str]:
    return [str(part["text"]) for part in parts(message, kind)]


def test_slack_says_what_waits_first_with_its_link() -> None:
    message = slack(
        line(title="P-1 waits for review", waits=True, page="/plans/1"), line(worse=True)
    )
    assert [block["type"] for block in message["blocks"]] == [
        *("header", "section", "context", "header", "section", "context", "context"),
    ]
    assert texts(message, "plain_text") == [
        "Waits for somebody",
        "P-1 waits for review\nrot-1.",
        "harbour, since Wednesday 18 March, 14:02 UTC",
        "To know",
        "1 agent is silent\nrot-1.",
        "harbour, since Wednesday 18 March, 14:02 UTC, and it got worse",
    ]
    assert texts(message, "mrkdwn") == [
        f"<{WEB}/plans/1|Open>",
        f"<{WEB}/systems/1|Open>",
        f"<{WEB}/inbox|Inbox>",
    ]
    assert message["text"] == "[Weir] harbour: P-1 waits for review and 1 more"


def test_teams_says_what_waits_first_with_its_link() -> None:
    message = teams(
        line(title="P-1 waits for review", waits=True, page="/plans/1"), line(worse=True)
    )
    (attachment,) = message["attachments"]
    assert message["type"] == "message"
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert (attachment["content"]["type"], attachment["content"]["version"]) == (
        "AdaptiveCard",
        "1.4",
    )
    assert texts(message, "TextRun") == [
        "Waits for somebody",
        "P-1 waits for review",
        "rot-1.",
        "harbour, since Wednesday 18 March, 14:02 UTC",
        "To know",
        "1 agent is silent",
        "rot-1.",
        "harbour, since Wednesday 18 March, 14:02 UTC, and it got worse",
    ]
    assert [(one["title"], one["url"]) for one in parts(message, "Action.OpenUrl")] == [
        ("Open", f"{WEB}/plans/1"),
        ("Open", f"{WEB}/systems/1"),
        ("Inbox", f"{WEB}/inbox"),
    ]


@pytest.mark.parametrize("write", [slack, teams])
def test_times_are_those_of_the_channel(write: Any) -> None:
    text = json.dumps(write(line(), timezone="Asia/Kolkata"))
    assert "since Wednesday 18 March, 19:32 IST" in text


def test_others_words_do_nothing_in_slack() -> None:
    message = slack(line(title=EVIL, detail=EVIL, system=EVIL))
    assert texts(message, "mrkdwn") == [f"<{WEB}/systems/1|Open>", f"<{WEB}/inbox|Inbox>"]
    for text in (*texts(message, "plain_text"), message["text"]):
        assert "<" not in text
        assert ">" not in text
        assert "@here" not in text
    assert message["mrkdwn"] is False
    assert "&lt;!channel&gt;" in message["text"]
    assert "&amp; co" in texts(message, "plain_text")[1]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (
            1,
            "1 message to this channel was given up, on Wednesday 18 March, 19:32 IST. "
            "What still stands of it is in the inbox.",
        ),
        (
            3,
            "3 messages to this channel were given up since Wednesday 18 March, 19:32 IST. "
            "What still stands of them is in the inbox.",
        ),
    ],
)
def test_what_was_missed_is_said_first(count: int, text: str) -> None:
    values: Any = {
        "web_url": WEB,
        "timezone": "Asia/Kolkata",
        "missed": Missed(count=count, since=SINCE),
    }
    many = [line() for _ in range(30)]
    chat = slack_message(many, **values)
    assert texts(chat, "plain_text")[0] == text
    assert [one["text"] for one in chat["blocks"][0]["elements"]][1] == f"<{WEB}/inbox|Inbox>"
    assert len(chat["blocks"]) <= 50
    assert texts(teams_message(many, **values), "TextRun")[0] == text


def test_addresses_of_people_stay_what_they_are() -> None:
    message = slack(line(detail="ines@example.org made it."))
    assert "ines@example.org made it." in texts(message, "plain_text")[1]


def test_others_words_do_nothing_in_teams() -> None:
    message = teams(line(title=EVIL, detail=EVIL, system=EVIL))
    # Markdown acts in blocks of text, a mention needs its list.
    assert list(parts(message, "TextBlock")) == []
    assert "entities" not in json.dumps(message)
    assert EVIL in texts(message, "TextRun")
    assert all(one["url"].startswith(WEB) for one in parts(message, "Action.OpenUrl"))


def test_names_of_several_lines_stay_in_one() -> None:
    title = "bay\n\nWaits for somebody\nConfirm your password"
    assert texts(slack(line(title=title)), "plain_text")[1].count("\n") == 1
    assert "bay Waits for somebody Confirm your password" in texts(
        teams(line(title=title)), "TextRun"
    )


@pytest.mark.parametrize("write", [slack, teams])
def test_of_many_items_the_first_are_named_and_the_others_counted(write: Any) -> None:
    message = write(*(line(title=f"item {number}") for number in range(120)))
    text = json.dumps(message)
    assert "item 0" in text
    assert "item 19" in text
    assert "item 20" not in text
    assert '"and 100 more"' in text
    assert len(message.get("blocks", [])) <= 50


LINES = st.lists(
    st.builds(
        line,
        title=st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
        | st.sampled_from(["&" * 300, "\U0001f40b" * 300]),
        detail=st.text(st.characters(exclude_categories=["Cs"]), max_size=600)
        | st.sampled_from(["<" * 3000, "\U0001f40b" * 3000, '"' * 3000]),
        system=st.text(st.characters(exclude_categories=["Cs"]), max_size=100),
        waits=st.booleans(),
    ),
    min_size=1,
    max_size=60,
)


@given(LINES)
def test_every_message_is_one_that_slack_takes(lines: list[Line]) -> None:
    message = slack(*lines)
    assert len(message["blocks"]) <= 50
    for text in (*texts(message, "plain_text"), *texts(message, "mrkdwn")):
        assert 1 <= len(text) <= 3_000
        # No escape is cut in half.
        assert "&" not in text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")


def test_a_card_that_would_be_too_large_names_fewer_and_counts_the_others() -> None:
    message = teams(*(line(title=f"item {number}", detail="x" * 500) for number in range(20)))
    named = len(list(parts(message, "ActionSet")))
    assert 5 < named < 20
    assert texts(message, "TextRun")[-1] == f"and {20 - named} more"


@given(LINES)
def test_every_message_is_one_that_teams_takes(lines: list[Line]) -> None:
    message = teams(*lines)
    sent = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    assert max(len(sent.encode()), len(sent.encode("utf-16-le"))) < 28_000
    named = len(list(parts(message, "ActionSet")))
    more = f"and {len(lines) - named} more"
    assert (more in texts(message, "TextRun")) == (named < len(lines))
