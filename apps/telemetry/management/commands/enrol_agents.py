"""Write one credential file per broker of a system: `manage.py enrol_agents`; safe to repeat.

    manage.py enrol_agents --system Harbour --out DIR --address rot-1=nats://10.1.2.3:4222 ...

The address is where the neighbours' agents reach the broker. It is needed once; given again it
replaces the one that is fixed. Simulated brokers need none.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.common.errors import ApplicationError
from apps.common.formatting import counted
from apps.systems.models import Product, System
from apps.telemetry.models import Agent
from apps.telemetry.services import agent_address_set, agent_by_secret, agent_enrol
from apps.topology.models import Broker


class Command(BaseCommand):
    """Write `<broker>.credential` (name URL-encoded, mode 0600); files that still work stay."""

    help = "Enrol an agent for every broker of a system and write its credential to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--system", required=True, help="name of the system")
        parser.add_argument("--out", required=True, type=Path, help="folder of the files")
        parser.add_argument(
            "--address",
            action="append",
            default=[],
            metavar="BROKER=URL",
            help="where neighbours' agents reach a broker; once for each",
        )
        parser.add_argument(
            "--broker",
            action="append",
            default=[],
            metavar="BROKER",
            help="only this broker (again for more); without it all of the system",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        system = System.objects.filter(name=options["system"]).first()
        if system is None:
            known = ", ".join(System.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f'--system: no system "{options["system"]}"; there are: {known}')
        brokers = list(Broker.objects.filter(system=system).select_related("system"))
        given = _addresses(options["address"])
        chosen = set(options["broker"]) or {broker.name for broker in brokers}
        _check_known(system, brokers, {*given, *chosen})
        folder: Path = options["out"]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = 0
        for broker in brokers:
            if broker.name not in chosen:
                continue
            path = folder / f"{quote(broker.name, safe='')}.credential"
            address = given.get(broker.name)
            agent = _works(path, broker)
            try:
                if agent is None:
                    _check_address(broker, address)
                    _, secret = agent_enrol(broker=broker, actor=None, address=address)
                    _write(path, secret)
                    made += 1
                elif address is not None:
                    agent_address_set(agent=agent, actor=None, address=address)
            except ApplicationError as error:
                raise CommandError(f"--address {broker.name}={address}: {error.message}") from error
        self.stdout.write(f"{system}: {counted(made, 'agent')} enrolled, credentials in {folder}")


def _addresses(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = next((text for text, _, address in pairs if not address), None)
    if wrong is not None:
        raise CommandError(f"--address: write BROKER=URL, not {wrong!r}")
    return {broker: address for broker, _, address in pairs}


def _check_known(system: System, brokers: list[Broker], named: set[str]) -> None:
    known = {broker.name for broker in brokers}
    strange = sorted(named - known)
    if strange:
        there = ", ".join(sorted(known)) or "none"
        raise CommandError(f'{system} has no broker "{strange[0]}"; there are: {there}')


def _check_address(broker: Broker, address: str | None) -> None:
    """Require an address at the first enrolment."""
    fixed = Agent.objects.filter(broker=broker).exclude(address="").exists()
    if address is None and not fixed and broker.system.product != Product.SIMULATED:
        raise CommandError(
            f"--address: say where neighbours' agents reach {broker}, such as "
            f"--address {broker}=nats://10.1.2.3:4222"
        )


def _works(path: Path, broker: Broker) -> Agent | None:
    """Return the agent whose credential the file holds, if it is this broker's and still
    accepted."""
    if not path.is_file():
        return None
    agent = agent_by_secret(path.read_text(encoding="utf-8").strip())
    return agent if agent is not None and agent.broker_id == broker.pk else None


def _write(path: Path, secret: str) -> None:
    """Write the file as a whole, at no time readable by others."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")
    fresh.replace(path)
