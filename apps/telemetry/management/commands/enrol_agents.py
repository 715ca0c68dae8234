"""`manage.py enrol_agents`: one credential file per broker of a system; safe to repeat."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.systems.models import System
from apps.telemetry.services import agent_by_secret, agent_enrol
from apps.topology.models import Broker


class Command(BaseCommand):
    """Write `<broker>.credential` (name URL-encoded, mode 0600); files that still work stay."""

    help = "Enrol an agent for every broker of a system and write its credential to a file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--system", required=True, help="name of the system")
        parser.add_argument("--out", required=True, type=Path, help="folder of the files")

    def handle(self, *args: Any, **options: Any) -> None:
        system = System.objects.filter(name=options["system"]).first()
        if system is None:
            known = ", ".join(System.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f'--system: no system "{options["system"]}"; there are: {known}')
        folder: Path = options["out"]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = 0
        for broker in Broker.objects.filter(system=system).select_related("system"):
            path = folder / f"{quote(broker.name, safe='')}.credential"
            if not _works(path, broker):
                _, secret = agent_enrol(broker=broker, actor=None)
                _write(path, secret)
                made += 1
        self.stdout.write(f"{system}: {made} agents enrolled, credentials in {folder}")


def _works(path: Path, broker: Broker) -> bool:
    if not path.is_file():
        return False
    agent = agent_by_secret(path.read_text(encoding="utf-8").strip())
    return agent is not None and agent.broker_id == broker.pk


def _write(path: Path, secret: str) -> None:
    """Never readable by others, not even while it is being written; whole or not at all."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")
    fresh.replace(path)
