"""Run the agent of a broker: `python -m agent run | check | decide | fleet`; see docs/agent.md."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import ssl
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nats.errors

from agent import config, decide, fleet
from agent.client import ControlPlane, transport
from agent.drivers.base import Driver, Unsupported
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.link_access import LinkKey
from agent.drivers.nats.own_server import probe
from agent.memory import MIB, Memory
from agent.runtime import Runtime
from agent.store import Store, StoreError

log = logging.getLogger("weir.agent")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return 0 when it is done or was asked to end, 1 when it failed, 2 for a
    wrong command line."""
    parser = argparse.ArgumentParser(prog="weir-agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="act as the agent of one broker until stopped")
    config.add_arguments(run)
    check = commands.add_parser("check", help="connect to a broker and describe it")
    check.add_argument("url", help="nats://user:password@host:port, or tls://")
    check.add_argument("--broker-ca-file", help="certificates (PEM) to verify a tls:// broker by")
    many = commands.add_parser("fleet", help="act as the agents of many simulated brokers")
    config.add_fleet_arguments(many)
    hand = commands.add_parser(
        "decide", help="decide the outcome of an attempt when no agent knows it"
    )
    decide.add_arguments(hand)
    options = parser.parse_args(arguments)
    try:
        if options.command == "check":
            return _check(options.url, options.broker_ca_file)
        if options.command == "decide":
            return decide.run(options)
        if options.command == "fleet":
            return _fleet(config.fleet_options(options, os.environ))
        return _run(config.options(options, os.environ))
    except (config.ConfigError, StoreError) as error:
        print(f"agent: {error}", file=sys.stderr)
        return 2


def _run(options: config.Options) -> int:
    _log_lines()
    store = Store(options.state_dir)
    memory = Memory(options.memory_limit_mib * MIB)
    product, drivers = DRIVERS[urlsplit(options.broker).scheme]

    async def live(stop: asyncio.Event) -> None:
        async with transport(options.ca_file) as http:
            await Runtime(
                control=ControlPlane(options.control_plane, options.credential, http),
                store=store,
                driver=drivers(options, memory),
                product=product,
                address=options.address,
                key=LinkKey(options.secrets.link_seed).public if options.secrets else "",
                report_every_s=options.report_every_s,
                memory=memory,
            ).run(stop)

    if options.secrets is None:
        log.warning("without --secrets-file the broker admits every client and enforces no limit")
    try:
        return _until_asked(live, _fastest_loop())
    finally:
        store.close()


def _nats(options: config.Options, memory: Memory) -> Callable[[str], Driver]:
    return lambda broker: NatsDriver(
        url=options.broker,
        broker=broker,
        secrets=options.secrets,
        lease_s=options.admission_lease_s,
        memory=memory,
        tls=_verifying(options.broker_ca_file),
        multicast=options.multicast,
    )


DRIVERS: dict[str, tuple[str, Callable[[config.Options, Memory], Callable[[str], Driver]]]] = {
    "nats": ("nats", _nats),
    "tls": ("nats", _nats),
}
"""The scheme of a broker's URL -> its product, and the function that makes a driver for a
broker."""


def _verifying(ca_file: Path | None) -> ssl.SSLContext | None:
    return None if ca_file is None else ssl.create_default_context(cafile=str(ca_file))


def _fleet(options: fleet.FleetOptions) -> int:
    _log_lines()

    async def live(stop: asyncio.Event) -> None:
        async with transport(options.ca_file) as http:
            await fleet.run(options, http, stop)

    return _until_asked(live, lambda: fleet.HurriedLoop(options.speed))


def _until_asked(
    live: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    loop: Callable[[], asyncio.AbstractEventLoop] | None,
) -> int:
    """Run `live` until the process receives SIGTERM or SIGINT."""

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await live(stop)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())
    return 0


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _log_lines() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    # The session that needs the connection logs that it reconnects.
    logging.getLogger("nats").setLevel(logging.CRITICAL)


def _check(url: str, ca_file: str | None = None) -> int:
    try:
        tls = _verifying(Path(ca_file) if ca_file else None)
        facts = asyncio.run(probe(url, tls=tls))
    except (OSError, nats.errors.Error, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        print(f"agent: the broker did not answer: {reason}", file=sys.stderr)
        return 1
    except Unsupported as error:
        print(f"agent: {error}", file=sys.stderr)
        return 1
    stream = "with JetStream" if facts.jetstream else "without JetStream"
    print(
        f"NATS {facts.version} {facts.name} {stream}, "
        f"messages up to {facts.max_payload_bytes} bytes, "
        f"round trip {facts.round_trip_s * 1000:.2f} ms"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
