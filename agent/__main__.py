"""The agent beside a broker: `python -m agent run | check | decide | fleet`; see docs/agent.md."""

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

import nats.errors

from agent import config, decide, fleet
from agent.client import ControlPlane, transport
from agent.drivers.base import Unsupported
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.keys import LinkKey
from agent.drivers.nats.probe import probe
from agent.drivers.simulated.clock import HurriedLoop
from agent.memory import MIB, Memory
from agent.runtime import Runtime
from agent.store import Store, StoreError

log = logging.getLogger("weir.agent")


def main(arguments: list[str] | None = None) -> int:
    """Run one command. 0: done, or asked to end; 1: it failed; 2: wrong command line."""
    parser = argparse.ArgumentParser(prog="weir-agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="be the agent of one broker until asked to end")
    config.add_arguments(run)
    check = commands.add_parser("check", help="connect to a broker and describe it")
    check.add_argument("url", help="nats://user:password@host:port, or tls://")
    check.add_argument("--broker-ca-file", help="certificates (PEM) to verify a tls:// broker by")
    many = commands.add_parser("fleet", help="be the agents of many simulated brokers")
    config.add_fleet_arguments(many)
    hand = commands.add_parser("decide", help="end an attempt whose outcome no agent knows")
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

    async def live(stop: asyncio.Event) -> None:
        async with transport(options.ca_file) as http:
            await Runtime(
                control=ControlPlane(options.control_plane, options.credential, http),
                store=store,
                driver=lambda broker: NatsDriver(
                    url=options.broker,
                    broker=broker,
                    secrets=options.secrets,
                    lease_s=options.admission_lease_s,
                    memory=memory,
                    tls=_verifying(options.broker_ca_file),
                ),
                product="nats",
                address=options.address,
                key=LinkKey(options.secrets.link_seed).public if options.secrets else "",
                report_every_s=options.report_every_s,
                memory=memory,
            ).run(stop)

    if options.secrets is None:
        log.warning("no --secrets-file: whoever connects to the broker is in, limits do not hold")
    try:
        return _until_asked(live, _fastest_loop())
    finally:
        store.close()


def _verifying(ca_file: Path | None) -> ssl.SSLContext | None:
    return None if ca_file is None else ssl.create_default_context(cafile=str(ca_file))


def _fleet(options: fleet.FleetOptions) -> int:
    _log_lines()

    async def live(stop: asyncio.Event) -> None:
        async with transport(options.ca_file) as http:
            await fleet.run(options, http, stop)

    return _until_asked(live, lambda: HurriedLoop(options.speed))


def _until_asked(
    live: Callable[[asyncio.Event], Coroutine[Any, Any, None]],
    loop: Callable[[], asyncio.AbstractEventLoop] | None,
) -> int:
    """Run until SIGTERM or SIGINT."""

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
    # Reconnecting is told by whoever needs the connection.
    logging.getLogger("nats").setLevel(logging.CRITICAL)


def _check(url: str, ca_file: str | None = None) -> int:
    try:
        tls = _verifying(Path(ca_file) if ca_file else None)
        facts = asyncio.run(probe(url, tls=tls))
    except (OSError, nats.errors.Error, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        print(f"agent: the broker does not answer: {reason}", file=sys.stderr)
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
