"""What an agent makes of a broker that does not let it in."""

import asyncio
import json
import socket
import struct

import pytest

from agent.drivers.base import Unsupported
from agent.drivers.nats.system_account import connect

INFO = json.dumps({"server_id": "S", "version": "2.14.0", "max_payload": 1, "auth_required": True})


@pytest.mark.asyncio
async def test_refusal_is_told_even_where_later_tries_are_cut_off() -> None:
    """A real server closes after its refusal, and the reset may overtake the words."""
    tries = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tries
        tries += 1
        writer.write(f"INFO {INFO}\r\n".encode())
        await reader.readline()
        if tries == 1:
            writer.write(b"-ERR 'Authorization Violation'\r\n")
            await writer.drain()
            writer.close()
        else:
            # Closed with a reset, as by a server whose words are still on their way.
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(Unsupported, match="refuses user weir"):
            await connect(f"nats://127.0.0.1:{port}", user="weir", password="wrong")
    finally:
        server.close()
    assert tries > 1
