"""Load people, four systems and their first runs: `manage.py load_demo`; safe to repeat."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import user_create
from apps.allocations.services import allocation_request
from apps.demo.services import base_workload, harbour, meridian, quarry
from apps.demo.services.traffic import traffic_of
from apps.mappings.services import mapping_request
from apps.runs.models import Run
from apps.systems.models import System

PASSWORD = "weir-demo"
PEOPLE: dict[str, tuple[str, str, list[Role]]] = {
    "demo": ("Ines", "Moreau", list(Role)),
    "viewer": ("Vera", "Lind", [Role.VIEWER]),
    "editor": ("Tomas", "Rehak", [Role.VIEWER, Role.EDITOR]),
    "approver": ("Aiko", "Mori", [Role.VIEWER, Role.APPROVER]),
    "operator": ("Omar", "Haddad", [Role.VIEWER, Role.OPERATOR]),
}
DEMOS: tuple[tuple[Any, tuple[Callable[..., Run], ...]], ...] = (
    (base_workload, (allocation_request,)),
    (meridian, (allocation_request,)),
    (harbour, (allocation_request, mapping_request)),
    (quarry, (mapping_request,)),
)
"""Each system with what its first runs compute."""


class Command(BaseCommand):
    """Load what is missing of the demo; what people changed stays."""

    help = "Load the demo people and systems, and start the first runs of each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--traffic",
            type=Path,
            metavar="FILE",
            help=f"write there what clients of {harbour.NAME} do",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for username, (first, last, roles) in PEOPLE.items():
            if not User.objects.filter(username=username).exists():
                user_create(
                    username=username,
                    password=PASSWORD,
                    roles=[role.value for role in roles],
                    first_name=first,
                    last_name=last,
                )
        asker = User.objects.get(username="demo")
        for demo, requests in DEMOS:
            if System.objects.filter(name=demo.NAME).exists():
                continue
            # Load all or nothing: half a system would count as loaded the next time.
            with transaction.atomic():
                system = demo.load()
                runs = [request(system=system, actor=asker) for request in requests]
            self.stdout.write(f"loaded {system}, started {', '.join(map(str, runs))}")
        if options["traffic"]:
            self._write_traffic(options["traffic"])

    def _write_traffic(self, path: Path) -> None:
        system = System.objects.get(name=harbour.NAME)
        fresh = path.with_name(f"{path.name}.new")
        fresh.write_text(json.dumps(traffic_of(system), indent=1, sort_keys=True) + "\n")
        os.replace(fresh, path)
        self.stdout.write(f"wrote the traffic of {system} to {path}")
