"""Post messages to channels to the incoming webhooks of their chats.

One process at a time does it, to several channels side by side, so that one that hangs holds no
other up, and one message at a time to each.
"""

import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from apps.common.locks import lock_while
from apps.common.outgoing.addresses import check_address
from apps.common.outgoing.credentials import FIELD, check_server, credential_value
from apps.common.outgoing.masking import masked
from apps.common.outgoing.posting import WHOLE_S, Answer, post
from apps.notifications.domain.lines import cut, flat
from apps.notifications.models import Channel, ChannelTestOutcome, Message
from apps.notifications.services.attempts import attempt_begin, attempt_end, pause_after
from apps.notifications.services.channel_tests import EDITED, channel_test_end
from apps.notifications.services.messages import logged, messages_write
from apps.notifications.services.recipients import ChatChannel
from weir.errors import InvalidProblem

LONGEST_S = 20.0
"""How long one call works: it begins nothing that could last longer."""

SIDE_BY_SIDE = 8
"""Channels that are posted to at a time."""

LONGEST_WISH = timedelta(hours=1)
"""How long a chat that says so is left alone."""

OF_CHANNEL = (401, 403, 404, 407, 408, 410, 429)
"""Answers of 400 to 499 that concern no message: the same may be taken later. What is gone is
mended where the credential is, without an edit that could say so."""

ACCEPTED = 202
"""The answer of whoever has it and does the rest later, such as a workflow of Teams."""

SHOWN = 200
"""Characters that are shown of what a chat answers."""

DIED = "A worker ended while it posted the test; whether the chat took it is unknown."
HEADERS = {
    "Content-Type": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "Weir",
}


def chats_post() -> int:
    """Post to channels what is due. Returns how many messages were taken."""
    with lock_while("chatpost") as ours:
        if not ours:
            return 0
        messages_write("channel")
        return _post_all(time.monotonic() + LONGEST_S)


def _post_all(until: float) -> int:
    taken = 0
    tried: set[int] = set()
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="chat") as threads:
        while time.monotonic() + WHOLE_S <= until:
            messages = _due(tried)
            if not messages:
                break
            tried.update(message.pk for message in messages)
            taken += _post(messages, threads)
    return taken


def _due(tried: set[int]) -> Sequence[Message]:
    """Return what is posted next, one message to a channel, a test before others; the channels that
    were tried longest ago first."""
    now = timezone.now()
    rests = Q(channel__retry_at__gt=now, is_test=False)
    rows = (
        Message.objects.filter(
            channel__enabled=True, sent_at=None, given_up_at=None, next_at__lte=now
        )
        .exclude(rests)
        .exclude(pk__in=tried)
        .select_related("channel")
        .order_by(F("channel__tried_at").asc(nulls_first=True), "-is_test", "id")
    )
    first: dict[int | None, Message] = {}
    for message in rows:
        first.setdefault(message.channel_id, message)
    return list(first.values())[:SIDE_BY_SIDE]


def _post(messages: Sequence[Message], threads: ThreadPoolExecutor) -> int:
    """Post each of these once, and note what came of it as soon as it is known. Returns how many
    were taken."""
    taken = 0
    posted: dict[Future[Answer], tuple[Message, Channel]] = {}
    for message in messages:
        # A fault at one channel must not lose what others answer.
        with logged(f"no message to {message.channel}"):
            channel = _begin(message)
            if channel is None:
                continue
            try:
                address = _address_of(channel)
            except InvalidProblem as error:
                _note(message, channel, _failure(error.message))
                continue
            posted[threads.submit(_exchange, address, message.body)] = (message, channel)
    for future in as_completed(posted):
        with logged("the answer of a chat"):
            taken += _note(*posted[future], future.result())
    return taken


def _begin(message: Message) -> Channel | None:
    """Count an attempt. Returns the channel to post to; None: it is not posted now."""
    if message.is_test and message.attempts:
        _end_unknown(message)
        return None
    recipient = attempt_begin(message)
    if not isinstance(recipient, ChatChannel):
        return None
    Channel.objects.filter(pk=recipient.row.pk).update(tried_at=timezone.now())
    return recipient.row


@transaction.atomic
def _end_unknown(message: Message) -> None:
    """Give up a test whose worker died. Nothing came of it that the channel is to blame for, which
    may have been edited since."""
    row = Channel.objects.select_for_update(no_key=True).filter(messages=message).first()
    if row is not None and attempt_end(message, DIED, is_final=True):
        channel_test_end(row, message, ChannelTestOutcome.FAILED, DIED)


def _address_of(channel: Channel) -> str:
    """Return the address of a channel's incoming webhook. Raises InvalidProblem, whose sentence
    holds nothing of it."""
    address = credential_value(
        channel.credential,
        prefix=settings.WEIR_CREDENTIAL_PREFIX,
        folder=settings.WEIR_CREDENTIALS_DIR,
        environ=os.environ,
    )
    try:
        check_address(address, plain_http=settings.WEIR_PLAIN_HTTP, field=FIELD, may_query=True)
    except InvalidProblem as error:
        # A sentence with a cause quotes what it could not read.
        detail = "" if error.__cause__ is not None else f" {error.message}"
        raise InvalidProblem(
            FIELD, f"{channel.credential} holds no address of an incoming webhook.{detail}"
        ) from None
    try:
        check_server(channel.credential, address, environ=os.environ)
    except InvalidProblem as error:
        raise InvalidProblem(FIELD, _without_server(error.message, address)) from None
    return address


def _exchange(address: str, body: str) -> Answer:
    """Post a body. Its answer names no part of the address, its server included, as that of a
    webhook may."""
    answer = post(address, body.encode(), HEADERS)
    return replace(
        answer,
        response=_without_server(answer.response, address),
        failure=_without_server(answer.failure, address),
    )


def _without_server(text: str, address: str) -> str:
    host = urlsplit(address).hostname or ""
    return masked(re.sub(re.escape(host), host, text, flags=re.IGNORECASE), [host])


def _failure(problem: str) -> Answer:
    """Return the answer of nobody: nothing was posted."""
    return Answer(status=None, response="", failure=problem, retry_after_s=None, seconds=0.0)


@transaction.atomic
def _note(message: Message, channel: Channel, answer: Answer) -> bool:
    """Note what came of an attempt, at the message and at its channel. Returns whether it was
    taken."""
    row = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
    if row is None:
        return False  # it was deleted meanwhile, with all its messages
    # What was posted to what was edited since says nothing about what it is now.
    counts = (row.credential, row.shape, row.enabled) == (
        channel.credential,
        channel.shape,
        channel.enabled,
    )
    now = timezone.now()
    wait = max(pause_after(row.failures + 1), _wish(answer))
    problem = "" if answer.taken else _problem(answer)
    is_final = _is_final(answer)
    ends = attempt_end(message, problem, is_final=is_final or message.is_test, wait=wait)
    if message.is_test and ends:
        # One that was given up meanwhile has its outcome.
        channel_test_end(
            row, message, *(_outcome(answer) if counts else (ChannelTestOutcome.FAILED, EDITED))
        )
    if answer.taken:
        if counts:
            _works(row)
            if not message.is_test:
                _missed_is_known(row, message)
        return ends
    if not counts:
        return False
    row.problem, row.failing_since = problem, row.failing_since or now
    if message.is_test:
        if answer.retry_after_s is not None:
            row.retry_at = max(row.retry_at or now, now + _wish(answer))
    elif is_final:
        row.failures, row.retry_at = 0, None
    else:
        row.failures, row.retry_at = row.failures + 1, now + wait
    row.save(update_fields=["problem", "failing_since", "failures", "retry_at", "updated_at"])
    return False


def _works(row: Channel) -> None:
    """Note that a channel takes messages, and let what waits for its next attempt go out now."""
    row.last_sent_at = timezone.now()
    row.problem, row.failures, row.failing_since, row.retry_at = "", 0, None, None
    row.save(
        update_fields=[
            *("last_sent_at", "problem", "failures", "failing_since", "retry_at"),
            "updated_at",
        ]
    )
    waiting = Message.objects.filter(channel=row, sent_at=None, given_up_at=None)
    waiting.filter(attempts__gt=0).update(next_at=row.last_sent_at)


def _missed_is_known(row: Channel, message: Message) -> None:
    """Forget what was given up before this message, which was taken, was written: it said so."""
    missed = Message.objects.filter(channel=row, is_missed=True)
    missed.filter(given_up_at__lte=message.created_at).update(is_missed=False)


def _wish(answer: Answer) -> timedelta:
    """Return how long a chat wants to be left alone."""
    return timedelta(seconds=min(answer.retry_after_s or 0.0, LONGEST_WISH.total_seconds()))


def _is_final(answer: Answer) -> bool:
    """Return whether the same message would never be taken: it is wrong itself."""
    status = answer.status
    return status is not None and 400 <= status < 500 and status not in OF_CHANNEL


def _outcome(answer: Answer) -> tuple[ChannelTestOutcome, str]:
    """Return what came of a test."""
    if not answer.taken:
        return ChannelTestOutcome.FAILED, _problem(answer)
    later = answer.status == ACCEPTED
    return (ChannelTestOutcome.ACCEPTED if later else ChannelTestOutcome.DELIVERED), ""


def _problem(answer: Answer) -> str:
    """Return why it was not taken, with the word by which a chat says so; pages say nothing."""
    word = flat(answer.response)
    if not word or word.startswith("<"):
        return answer.failure
    return f"{answer.failure.removesuffix('.')}: {cut(word, SHOWN).removesuffix('.')}."
