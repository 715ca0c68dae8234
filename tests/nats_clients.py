"""What tests need of the public client library."""

from __future__ import annotations

from nats.aio.client import Client


async def processed(client: Client) -> None:
    """Return when the server has processed all that the client wrote.

    One `flush` is too little: servers since 2.15 say INFO before they answer the first PING, the
    library then takes the late answer for that of the next one, and each flush returns one early.
    """
    await client.flush()
    await client.flush()
