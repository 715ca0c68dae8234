"""A switched network of this machine's kernel: a bridge that snoops on IGMP, and three hosts.

    unshare --user --map-root-user --net --pid --fork --kill-child \
        python -m tests.agent.multicast_network DIRECTORY

Each host is a process in a network namespace of its own, at a port of the bridge: `agent` with a
broker and its agent's parts, and the subscribers `one` and `two`. These count at their interfaces
the datagrams of multicast groups that the network brought them, whether they wanted them or not.
The output is what they report, as JSON; the end is 77 where the kernel refuses.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from agent.drivers.nats.multicast import MulticastOptions
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.planes import until
from tests.agent.publishing import log_in
from tests.agent.test_mapped_streams import FLOWS, Desk, Publisher, Site, complete, desk
from weir.coordination.wire import StreamPlace
from weir_client.multicast import GroupAddresses

REFUSED = 77
NETWORK = IPv4Network("239.192.0.0/16")
PORT = 7424
HOSTS = {"agent": "10.77.0.1", "one": "10.77.0.2", "two": "10.77.0.3"}
WANTED = {"one": FLOWS[:4], "two": FLOWS[4:8]}
GROUPS = {"one": (1, 3), "two": (2, 4)}
"""Subscriber -> the groups between which its flows are handed over."""
PHASES = ("snooping", "flooding", "deaf")
MOVES = 12
ANSWER_S = 0.5
"""How long hosts may take to say of which groups they are members."""
_ETH_P_IP = 0x0800
_IP_OFFSET, _UDP = 14, 17


def ip(*words: str) -> None:
    """Change the network of this namespace. Raises CalledProcessError with the kernel's reason."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


# --- the switch


class Host:
    """A process in a namespace of its own, that does what it is told line by line."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        command = [sys.executable, "-m", "tests.agent.multicast_network", str(directory), name]
        self.process = subprocess.Popen(
            ["unshare", "--net", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def plug_in(self) -> None:
        """Connect it to the bridge."""
        self.hear()  # only now is it in its namespace
        ip(
            *("link", "add", f"port-{self.name}", "type", "veth"),
            *("peer", "name", "eth0", "netns", str(self.process.pid)),
        )
        ip("link", "set", f"port-{self.name}", "master", "switch", "up")

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"host {self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, line: str) -> Any:
        self.say(line)
        return self.hear()


def make_switch() -> None:
    """Make a bridge that sends groups to their members alone. Until hosts have had time to answer
    its first query it sends them to all, ten seconds unless it is given less before."""
    ip("link", "add", "switch", "type", "bridge")
    of_switch = ("link", "set", "switch", "type", "bridge")
    hundredths = str(round(ANSWER_S * 100))
    ip(*of_switch, "mcast_query_response_interval", hundredths, "mcast_last_member_interval", "20")
    ip(*of_switch, "mcast_snooping", "1", "mcast_querier", "1")
    ip("link", "set", "switch", "up")


def run(directory: Path) -> int:
    try:
        ip("link", "set", "lo", "up")
        make_switch()
    except subprocess.CalledProcessError as error:
        print(error.stderr.strip(), file=sys.stderr)
        return REFUSED
    hosts = {name: Host(name, directory) for name in HOSTS}
    try:
        for host in hosts.values():
            host.plug_in()
        print(json.dumps(play(hosts)))
    finally:
        for host in hosts.values():
            host.process.kill()
            host.process.wait()
    return 0


def play(hosts: dict[str, Host]) -> dict[str, Any]:
    """Let flows move while they are received: over a switch that snoops, over one that sends every
    group to everybody, and over one that sends none to the port of subscriber `one`."""
    subscribers = [hosts[name] for name in WANTED]
    for host in hosts.values():
        host.ask("up")
    time.sleep(2 * ANSWER_S)
    report: dict[str, Any] = {}
    for phase in PHASES:
        if phase == "flooding":
            ip("link", "set", "switch", "type", "bridge", "mcast_snooping", "0")
        if phase == "deaf":
            ip("link", "set", "port-one", "type", "bridge_slave", "mcast_flood", "off")
        hosts["agent"].ask("begin")
        for host in subscribers:
            host.ask("want")
        sent = hosts["agent"].ask("move")
        report[phase] = {
            "sent": sent,
            "received": {host.name: host.ask(f"finish {json.dumps(sent)}") for host in subscribers},
            "counts": {host.name: host.ask("counts") for host in subscribers},
        }
    return report


# --- the hosts


class Counts:
    """Datagrams of multicast groups that the network brought, by group, wanted or not."""

    def __init__(self) -> None:
        self.by_group: Counter[int] = Counter()
        self._socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(_ETH_P_IP)
        )
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind(("eth0", 0))
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def take(self) -> dict[int, int]:
        """Return what was counted since the last time."""
        self._read()
        taken, self.by_group = self.by_group, Counter()
        return dict(taken)

    def _read(self) -> None:
        while True:
            try:
                packet = self._socket.recv(2_048)
            except BlockingIOError:
                return
            if packet[_IP_OFFSET + 9] != _UDP:
                continue
            to = IPv4Address(struct.unpack_from("!I", packet, _IP_OFFSET + 16)[0])
            group = int(to) - int(NETWORK.network_address) - 1
            if to in NETWORK and group >= 0:
                self.by_group[group] += 1


async def lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    return reader


def answer(what: Any = None) -> None:
    print(json.dumps(what), flush=True)


def place(group: int) -> StreamPlace:
    return StreamPlace(group=group, stream=group)


async def serve_agent(directory: Path, secrets: BrokerSecrets) -> None:
    broker = Broker("a", directory, secrets, host=HOSTS["agent"])
    broker.start()
    (directory / "url").write_text(broker.url)
    addresses = GroupAddresses(NETWORK, PORT)
    site = await Site(
        broker, MulticastOptions(addresses=addresses, interface=HOSTS["agent"])
    ).open()
    answer()
    publisher: Publisher | None = None
    async for line in await lines():
        if line.strip() == b"begin":
            await site.map(
                {f: place(GROUPS[name][0]) for name, flows in WANTED.items() for f in flows}
            )
            await site.settle()
            publisher = Publisher(await log_in(broker, "p"))
            answer()
        else:
            assert publisher is not None
            unready = await move_flows(site)
            await asyncio.sleep(0.1)
            await publisher.stop()
            numbers = {flow: [int(p) for p in publisher.sent[flow]] for flow in site.places}
            problems = site.plane.driver._mapped.problems
            answer({"numbers": numbers, "unready": unready, "problems": problems})
    await site.close()
    broker.kill()


async def move_flows(site: Site) -> int:
    """Hand flows over from group to group; return how many subscribers were not waited for."""
    wants = site.plane.driver._mapped._flows._wants
    await until(lambda: all(wants.receivers(f) for f in site.places), "who wants is known")
    unready = 0
    for turn in range(1, MOVES + 1):
        # Half of each subscriber's flows at a time, so that it is in both of its groups.
        goals = {
            flow: place(GROUPS[name][turn // 2 % 2])
            for name, flows in WANTED.items()
            for flow in flows[turn % 2 :: 2]
        }
        await site.map({**site.places, **goals})
        await site.settle()
        unready += sum(each.unready for each in site.hand_overs().values())
    return unready


async def serve_subscriber(name: str, directory: Path, secrets: BrokerSecrets) -> None:
    counts = Counts()
    broker = Broker("a", directory / name, secrets)
    broker.url = (directory / "url").read_text()
    answer()
    own: Desk | None = None
    async for line in await lines():
        word, _, rest = line.decode().strip().partition(" ")
        if word == "want":
            own = await desk(broker, name, *WANTED[name], interface=HOSTS[name])
            received = own.payloads
            await until(lambda: all(received[f] for f in WANTED[name]), "the first of each flow")  # noqa: B023
            answer()
        elif word == "finish":
            assert own is not None
            sent = json.loads(rest)["numbers"]
            for flow in WANTED[name]:
                ends = [b"%d" % sent[flow][-1]]
                await until(lambda: complete(own, flow, ends), f"{flow}: {own.payloads[flow][-1:]}")  # noqa: B023
            answer(
                {
                    "numbers": {f: [int(p) for p in got] for f, got in own.payloads.items()},
                    "lost": len(own.lost),
                    "ways": sorted(
                        {type(each).__name__ for each in own.subscriber._subscriptions.values()}
                    ),
                }
            )
            await own.close()
        else:
            answer(counts.take())


async def host(name: str, directory: Path) -> None:
    answer()  # in its namespace
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    ip("link", "set", "lo", "up")
    ip("address", "add", f"{HOSTS[name]}/24", "dev", "eth0")
    ip("link", "set", "eth0", "up")
    secrets = BrokerSecrets.load(directory / "secrets.json")
    if name == "agent":
        await serve_agent(directory, secrets)
    else:
        await serve_subscriber(name, directory, secrets)


def main(directory: str, name: str = "") -> int:
    if name:
        asyncio.run(host(name, Path(directory)))
        return 0
    BrokerSecrets.generate().save(Path(directory) / "secrets.json")
    return run(Path(directory))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
    sys.exit(main(*sys.argv[1:]))
