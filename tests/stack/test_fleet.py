"""The demo's brokers as parts of the stack: what starts, with which configuration, and again."""

import asyncio
import subprocess
from pathlib import Path

import nats
import pytest

from apps.demo.services import harbour
from config.stack import PartError, Stack, StackError
from config.stack.parts import PARTS, brokers, default_parts, fleet
from config.stack.site import Site
from tests.stack.support import MakeStack
from tests.stack.test_stack_kills import eventually

pytestmark = pytest.mark.stack


def test_stack_starts_the_brokers_of_the_demo() -> None:
    assert tuple(name for name, *_ in harbour.BROKERS) == brokers.NAMES
    assert fleet.SYSTEM == harbour.NAME


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ({}, True),
        ({"WEIR_FLEET": "on", "NATS_URL": "nats://mine:4222"}, True),
        ({"WEIR_FLEET": "off"}, False),
        ({"NATS_URL": "nats://mine:4222"}, False),
    ],
)
def test_fleet_may_be_left_out(given: dict[str, str], there: bool) -> None:
    parts = default_parts(given)
    assert ("broker-rot-1" in parts, "agent-rot-1" in parts, "traffic" in parts) == (there,) * 3
    assert {"web", "coordinator", "postgres"} <= set(parts)


def test_unknown_wish_for_the_fleet_is_refused() -> None:
    with pytest.raises(StackError, match="WEIR_FLEET='perhaps': write on or off"):
        default_parts({"WEIR_FLEET": "perhaps"})


def test_fleet_is_told_in_one_line_and_does_not_restart(make_stack: MakeStack) -> None:
    stack = make_stack("broker-rot-1", "broker-ham-1")
    stack.up()
    assert [line.split()[:2] for line in stack.console.lines] == [["brokers", "ready"]]
    before = stack.pid("broker-rot-1"), stack.pid("broker-ham-1")
    stack.up()
    assert (stack.pid("broker-rot-1"), stack.pid("broker-ham-1")) == before


def test_broker_takes_up_a_changed_configuration(make_stack: MakeStack) -> None:
    stack = make_stack("broker-rot-1", "broker-ham-1")
    stack.up()
    before = stack.pid("broker-rot-1"), stack.pid("broker-ham-1")
    brokers.secrets_file(stack.site, "rot-1").unlink()  # its next configuration holds other ones
    stack.up()
    assert stack.pid("broker-rot-1") != before[0]
    assert stack.pid("broker-ham-1") == before[1]


def test_secrets_are_shared_where_the_fleet_shares_them(make_stack: MakeStack) -> None:
    site = make_stack("broker-rot-1").site
    site.make()
    rot, ham = (brokers.secrets_of(site, name) for name in ("rot-1", "ham-1"))
    assert rot.client_key == ham.client_key
    assert rot.link_seed != ham.link_seed
    assert rot.agent_password != ham.agent_password
    assert rot.issuer_seed != ham.issuer_seed
    assert brokers.secrets_of(site, "rot-1") == rot


async def _keep(stack: Stack, broker: str, payload: bytes | None) -> list[bytes]:
    """As the agent: append to a stream if there is something, and read the whole of it."""
    secrets = brokers.secrets_of(stack.site, broker)
    client = await nats.connect(
        brokers.address_of(stack.site, broker), user="agent", password=secrets.agent_password
    )
    try:
        stream = client.jetstream()
        if payload is not None:
            await stream.add_stream(name="KEPT", subjects=["kept"])
            await stream.publish("kept", payload)
        last = (await stream.stream_info("KEPT")).state.messages
        return [(await stream.get_msg("KEPT", n)).data or b"" for n in range(1, last + 1)]
    finally:
        await client.close()


def test_killed_broker_keeps_what_it_acknowledged(make_stack: MakeStack) -> None:
    stack = make_stack("broker-rot-1")
    stack.up()
    assert asyncio.run(_keep(stack, "rot-1", b"seven")) == [b"seven"]
    killed = stack.kill("broker-rot-1")
    assert eventually(lambda: stack.pid("broker-rot-1") not in (None, killed))
    stack.wait_ready("broker-rot-1", 15.0)
    assert asyncio.run(_keep(stack, "rot-1", None)) == [b"seven"]


def test_agent_that_is_not_enrolled_does_not_start(make_stack: MakeStack) -> None:
    stack = make_stack("agent-rot-1")
    with pytest.raises(PartError, match=r"rot-1\.credential is missing: `make up`"):
        stack.up()


def test_server_accepts_every_configuration(tmp_path: Path) -> None:
    site = Site.open(tmp_path / "state")
    site.make()
    numbers = iter(range(41000, 41100))
    site.ports = {name: next(numbers) for part in PARTS.values() for name in part.ports}
    for part in brokers.BROKERS:
        part.prepare(site)
        arguments = part.command(site).arguments
        done = subprocess.run([*arguments, "-t"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
