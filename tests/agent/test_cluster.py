"""Servers joined by routes, gateways or leaf nodes: no agent stands beside one, and it says why."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.__main__ import main
from agent.drivers.base import Retryable, Unsupported
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.server_config import BrokerSecrets
from agent.drivers.nats.system_account import cluster_problem
from tests.agent.brokers import Broker
from tests.agent.planes import until
from tests.nats_server import free_port
from weir.coordination.wire import ClassSpec

LIMIT_S = 60
JOINED = {
    "cluster": (
        "cluster {{ name: c1, listen: '127.0.0.1:{own}', routes: ['nats://127.0.0.1:{other}'] }}"
    ),
    "leafnodes": "leafnodes {{ listen: '127.0.0.1:{own}' }}",
    "gateway": "gateway {{ name: g1, listen: '127.0.0.1:{own}' }}",
}
ALONE = {
    "cluster": {},
    "gateway": {},
    "leaf": {},
    "leafnodes": 0,
    "jetstream": {"config": {"max_memory": 1}},
}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"cluster": "c1"}, "one of the cluster c1"),
        ({"cluster": {"name": "c1", "cluster_port": 6222}}, "one of the cluster c1"),
        ({"gateway": {"name": "g1"}}, "a gateway g1"),
        ({"leaf": {"port": 7422}}, "leaf nodes"),
        ({"leafnodes": 2}, "leaf nodes"),
        ({"domain": "hub"}, "the JetStream domain hub"),
        ({"jetstream": {"config": {"domain": "hub"}}}, "the JetStream domain hub"),
    ],
)
def test_company_is_named_with_the_next_move(said, why):
    assert not cluster_problem(ALONE)
    assert not cluster_problem({"server_id": "x", "jetstream": True})
    sentence = cluster_problem({**ALONE, **said})
    assert why in sentence
    assert "restart it" in sentence


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.parametrize("block", JOINED)
async def test_an_agent_beside_a_joined_server_opens_nothing_and_answers_nobody(tmp_path, block):
    shared = BrokerSecrets.generate()
    ports = free_port(), free_port()
    brokers = []
    for name, own, other in (("a", *ports), ("b", *reversed(ports))):
        broker = Broker(name, tmp_path / name, shared)
        text = JOINED[block].format(own=own, other=other)
        standalone = block == "cluster"
        config = broker._config.read_text()
        broker._config.write_text(
            (config if standalone else _without_jetstream(config)) + text + "\n"
        )
        broker.start()
        brokers.append(broker)
    try:
        async with asyncio.timeout(LIMIT_S):
            for broker in brokers:
                driver = NatsDriver(url=broker.url, broker=broker.name, secrets=broker.secrets)
                with pytest.raises(Unsupported, match="must be a server of its own"):
                    await driver.open()
                # Nobody is asked, so nobody is let in by the wrong agent, or turned away.
                assert not await _lets_in(broker)
                await driver.close()
    finally:
        for broker in brokers:
            broker.kill()


@pytest.mark.asyncio
@pytest.mark.slow
async def test_an_agent_whose_server_joins_others_later_answers_nobody_any_more(tmp_path):
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    driver = NatsDriver(url=broker.url, broker="a", secrets=broker.secrets)
    try:
        async with asyncio.timeout(LIMIT_S):
            await driver.open()
            await driver.fence(1)
            await driver.admit({"k": ClassSpec(flow="f")}, unmanaged="refuse")
            assert await _lets_in(broker)
            broker.kill()
            port = free_port()
            broker._config.write_text(
                broker._config.read_text()
                + JOINED["cluster"].format(own=port, other=free_port())
                + "\n"
            )
            broker.start()
            await until(lambda: "cluster" in driver._own.problem, "it is named")
            assert not await _lets_in(broker)
    finally:
        await driver.close()
        broker.kill()


def test_check_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    text = JOINED["cluster"].format(own=free_port(), other=free_port())
    broker._config.write_text(broker._config.read_text() + text + "\n")
    broker.start()
    try:
        password = broker.secrets.agent_password
        assert main(["check", broker.url.replace("//", f"//agent:{password}@")]) == 1
        assert "one of the cluster c1" in capsys.readouterr().err
    finally:
        broker.kill()


async def _lets_in(broker: Broker) -> bool:
    url = broker.url.replace("//", f"//k:{broker.secrets.client_key}@")
    try:
        (await Connection.open(url, name="somebody", timeout_s=10)).close()
    except Retryable:
        return False
    return True


def _without_jetstream(config: str) -> str:
    """Gateways and leaf nodes alone do not make a JetStream cluster, and the server says so."""
    start = config.index("jetstream {")
    config = config[:start] + config[config.index("}", start) + 1 :]
    return config.replace("    jetstream: enabled\n", "")
