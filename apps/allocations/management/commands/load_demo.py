"""`manage.py load_demo`: people, two systems and a first run of each; safe to repeat."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.accounts.models import User
from apps.accounts.roles import Role
from apps.accounts.services import user_create
from apps.allocations.demo import base_workload, meridian
from apps.allocations.services import allocation_request
from apps.systems.models import System

PASSWORD = "weir-demo"
PEOPLE: dict[str, tuple[str, str, list[Role]]] = {
    "demo": ("Ines", "Moreau", list(Role)),
    "viewer": ("Vera", "Lind", [Role.VIEWER]),
    "editor": ("Tomas", "Rehak", [Role.VIEWER, Role.EDITOR]),
    "approver": ("Aiko", "Mori", [Role.VIEWER, Role.APPROVER]),
    "operator": ("Omar", "Haddad", [Role.VIEWER, Role.OPERATOR]),
}


class Command(BaseCommand):
    """Load what is missing of the demo; what people changed stays."""

    help = "Load the demo people and systems, and start a first run of each system."

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
        for demo in (base_workload, meridian):
            if System.objects.filter(name=demo.NAME).exists():
                continue
            system = demo.load()
            run = allocation_request(system=system, actor=asker)
            self.stdout.write(f"loaded {system}, started {run}")
