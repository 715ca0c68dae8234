"""Share one connection to a broker among the flows of a publisher that belong there.

A connection is given up as a whole: rights are those of a login, so that all flows have to leave it
when one of them needs another login. A new one is made when the last flow has left.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Protocol

from nats.aio.client import Client

from weir_client import following, subjects
from weir_client.following import FAILURES

PUBLISHER_USER = "publisher"


class User(Protocol):
    """A flow that uses a connection."""

    flow: str

    def look_up(self) -> None:
        """Leave, or find out whether to leave, when nothing is on the way any more."""

    def denied(self) -> None:
        """Take note that the broker does not let the publisher publish the flow."""

    def answered(self, answer: Any) -> None:
        """Take an answer to what was sent."""


class Link:
    """One connection to a broker, for the flows that belong there."""

    def __init__(self) -> None:
        self.client: Client
        self.inbox = ""
        self.users: set[User] = set()
        self.closed = asyncio.Event()
        self.ended = asyncio.Event()
        """Set when it is closed and nobody uses it any more."""
        self.is_retired = False
        """Whether another login is due."""
        self._asked: dict[str, User] = {}
        """Inbox -> who awaits an answer there."""
        self._count = 0

    @property
    def is_good(self) -> bool:
        return not self.is_retired and not self.closed.is_set() and self.client.is_connected

    async def open(self, url: str, *, name: str, key: str, options: dict[str, Any]) -> None:
        """Connect. Raises one of FAILURES."""
        # It is tried twice; where to try next is decided here.
        options = {"max_reconnect_attempts": 1, "reconnect_time_wait": 0.1, **options}
        self.client = await following.connect(
            url,
            user=PUBLISHER_USER,
            password=key,
            name=name,
            inbox=subjects.PUBLISHER_INBOX,
            closed=self.closed,
            on_error=self._on_error,
            **options,
        )
        try:
            self.inbox = self.client.new_inbox()
            await self.client.subscribe(f"{subjects.MOVED}.*", cb=self._on_moved)
            await self.client.subscribe(
                f"{self.inbox}.*", cb=self._on_answer, pending_msgs_limit=-1
            )
        except BaseException:
            await following.leave(self.client)
            raise

    def expect(self, user: User) -> str:
        """Return an inbox for one answer to a user."""
        self._count += 1
        inbox = f"{self.inbox}.{self._count}"
        self._asked[inbox] = user
        return inbox

    def forget(self, inbox: str) -> None:
        """Await no answer there any more."""
        self._asked.pop(inbox, None)

    def retire(self) -> None:
        """Have all flows leave, each when nothing of it is on its way."""
        self.is_retired = True
        self._wake()

    def drop(self) -> None:
        """Have all flows leave at once."""
        self.is_retired = True
        self.closed.set()

    def _wake(self) -> None:
        for user in self.users:
            user.look_up()

    async def _on_moved(self, _: Any) -> None:
        # Of every flow: the first list of another one may ask for a new login, too.
        self._wake()

    async def _on_answer(self, answer: Any) -> None:
        user = self._asked.pop(answer.subject, None)
        if user is not None:
            user.answered(answer)

    def _on_error(self, error: Exception) -> None:
        for user in self.users:
            if following.is_denied(error, user.flow):
                user.denied()
                self.drop()


class Links:
    """The connections of a publisher: one to each broker where flows of it belong."""

    def __init__(self, *, name: str, key: str, options: dict[str, Any]) -> None:
        self._name, self._key, self._options = name, key, options
        self._links: dict[str, Link] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    async def take(self, url: str, user: User | None = None) -> Link:
        """Return the connection to a broker; without a user it is kept until somebody has used it.
        Raises one of FAILURES."""
        async with self._opening.setdefault(url, asyncio.Lock()):
            link = self._links.get(url)
            if link is not None and not link.is_good:
                # Two connections of one name would be disconnected together.
                await self._close_unused(link)
                await link.ended.wait()
                link = None
            if link is None:
                link = Link()
                await link.open(url, name=self._name, key=self._key, options=self._options)
                self._links[url] = link
            if user is not None:
                link.users.add(user)
        return link

    async def leave(self, link: Link, user: User) -> None:
        """Use a connection no longer; the last one closes it."""
        link.users.discard(user)
        await self._close_unused(link)

    async def _close_unused(self, link: Link) -> None:
        """Close a connection that no flow uses."""
        if link.users or link.ended.is_set():
            return
        link.is_retired = True
        try:
            if not link.closed.is_set():
                with suppress(*FAILURES):
                    await following.settle(link.client)
        finally:
            await following.leave(link.client)
            link.ended.set()

    async def close(self) -> None:
        """Close what nobody has used."""
        for link in self._links.values():
            await self._close_unused(link)
