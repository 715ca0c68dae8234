"""Run publishers and consumers for a demo or a trial in one process: `python -m agent.traffic`.

Publishers send numbered messages at a steady rate, whatever the gates do with them. Consumers
connect as their class, are admitted or refused, and ask again; those of a reliable flow read its
stream and check that no number is missing, repeated or out of order. Everything survives the death
of brokers and agents: whoever is cut off comes back after a moment.

`--traffic FILE` says who sends and who wants what, `--access FILE` where and with which key:

    {"flows": {FLOW: {"broker", "delivery", "rate_per_s"}},
     "classes": {CLASS: {"flow", "broker", "delivery", "consumers"}}}
    {"brokers": {BROKER: URL}, "publisher": USER, "client_key": PASSWORD}
"""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

import uvloop

from agent.tasks import end
from agent.traffic.clients import Clients
from agent.traffic.files import (
    Access,
    BadTraffic,
    ClassTraffic,
    FlowTraffic,
    read_access,
    read_traffic,
)

log = logging.getLogger("weir.traffic")


async def run_traffic(
    flows: list[FlowTraffic], classes: list[ClassTraffic], access: Access
) -> None:
    """Run all publishers and consumers until SIGTERM or SIGINT."""
    clients = Clients(access)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    consumers = [(row, number) for row in classes for number in range(1, row.consumers + 1)]
    log.info("%d flows, %d consumers", len(flows), len(consumers))
    work = [
        *(clients.publish(flow) for flow in flows if flow.rate_per_s > 0),
        *(clients.consume(row, number) for row, number in consumers),
        clients.log_counts(),
    ]
    tasks = [asyncio.ensure_future(one) for one in work]
    await stop.wait()
    await end(*tasks)
    log.info("%s", clients.tally.line())


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 when asked to stop, 2 for a wrong command line or file."""
    parser = argparse.ArgumentParser(prog="agent.traffic", description=__doc__.split("\n")[0])
    parser.add_argument("--traffic", type=Path, required=True, help="who sends, who wants what")
    parser.add_argument("--access", type=Path, required=True, help="brokers and the client key")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("nats").setLevel(logging.CRITICAL)
    try:
        flows, classes = read_traffic(options.traffic)
        access = read_access(options.access)
        brokers = {flow.broker for flow in flows} | {row.broker for row in classes}
        for broker in sorted(brokers - set(access.brokers)):
            raise BadTraffic(f"{options.access}: brokers.{broker} is missing")
    except BadTraffic as error:
        print(f"traffic: {error}", file=sys.stderr)
        return 2
    uvloop.run(run_traffic(flows, classes, access))
    return 0


if __name__ == "__main__":
    sys.exit(main())
