"""Find out which broker answers at an address, and how fast."""

import asyncio
import ssl
import time

import nats

from agent.drivers.base import BrokerFacts, Unsupported
from agent.drivers.nats.system_account import cluster_problem


async def probe(
    url: str, *, tls: ssl.SSLContext | None = None, timeout_s: float = 2.0
) -> BrokerFacts:
    """Connect, read the server's INFO, and time one round trip.

    Raises OSError, nats.errors.Error, Unsupported (no agent may stand beside this server).
    """

    async def remember(error: Exception) -> None:
        problems.append(error)

    problems: list[Exception] = []
    try:
        # The client retries for ever by itself; a probe needs an answer.
        client = await asyncio.wait_for(
            nats.connect(url, tls=tls, connect_timeout=timeout_s, error_cb=remember), timeout_s
        )
    except TimeoutError as error:
        raise (problems or [error])[-1] from error
    try:
        start = time.perf_counter()
        await asyncio.wait_for(client.flush(), timeout_s)
        round_trip_s = time.perf_counter() - start
        info = client._server_info
        if reason := cluster_problem(info):
            raise Unsupported(reason)
        return BrokerFacts(
            name=str(info.get("server_name", "")),
            version=str(info.get("version", "")),
            jetstream=bool(info.get("jetstream", False)),
            max_payload_bytes=int(info.get("max_payload", 0)),
            round_trip_s=round_trip_s,
        )
    finally:
        await client.close()
