"""Add the first person of an installation, or any other: `manage.py add_person NAME --role
admin`."""

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.domain.roles import Role
from apps.accounts.services import user_create
from apps.common.errors import ApplicationError


class Command(BaseCommand):
    """Add a person; the command asks for the password, or reads it from standard input."""

    help = "Add a person with the given roles."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", action="append", default=[], choices=[r.value for r in Role])

    def handle(self, *args: Any, **options: Any) -> None:
        if sys.stdin.isatty():
            password = getpass.getpass("Password: ")
        else:
            password = sys.stdin.readline().rstrip("\n")
        try:
            user_create(username=options["username"], password=password, roles=options["role"])
        except ApplicationError as error:
            raise CommandError(error.message) from error
        roles = ", ".join(options["role"]) or "no role: may only read"
        self.stdout.write(f"{options['username']} added ({roles})")
