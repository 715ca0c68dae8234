"""Close the connections that an earlier process of this broker's agent left open at the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from agent.drivers.base import Retryable
from agent.drivers.nats.server_config import ADMISSION_USER, AGENT_USER, SYSTEM_USER
from agent.drivers.nats.system_account import SystemAccount

log = logging.getLogger("weir.agent.fence")

LEAVE_S = 5.0
"""How long the server may take to close a connection."""
_LOOK_S = 0.02
_ORDER = (SYSTEM_USER, AGENT_USER, ADMISSION_USER)
"""Close the system connections first: an agent that does not see the server admits nobody."""


async def cut_off_predecessors(system: SystemAccount, life: str) -> None:
    """Close every connection of the agent's users whose name does not end in `life`.

    Returns when none is left, so that nothing a predecessor wrote can arrive any more. What it
    opens from now on begins with the record of the fence. Raises Retryable.
    """
    async with asyncio.timeout(LEAVE_S) as limit:
        try:
            while others := _others(await system.connections(), life):
                for other in others:
                    log.warning(
                        "disconnecting another agent of this broker: %s", other.get("name", "")
                    )
                    await system.kick(other["cid"])
                await asyncio.sleep(_LOOK_S)
        except asyncio.CancelledError:
            if limit.expired():
                raise Retryable(f"{len(others)} connections of another agent stay open") from None
            raise


def _others(connections: list[dict[str, Any]], life: str) -> list[Mapping[str, Any]]:
    others = [
        connection
        for connection in connections
        if connection.get("authorized_user") in _ORDER
        and "issuer_key" not in connection
        and not str(connection.get("name", "")).endswith(life)
    ]
    return sorted(others, key=lambda other: _ORDER.index(other["authorized_user"]))
