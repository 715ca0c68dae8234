"""Take records of files: `manage.py import_records SYSTEM FOLDER`."""

import contextlib
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db.models import Q

from apps.common.command_files import ANSWER, INFEASIBLE, NO_ANSWER, Refused, folder_uri
from apps.common.errors import ApplicationError
from apps.common.formatting import counted
from apps.records.models import RecordTable
from apps.records.services import Imported, records_import
from apps.runs.management.command_status import exit_with_status
from apps.systems.models import System

NAME = "import_records"


class Command(BaseCommand):
    """Take Parquet, JSON lines and CSV of a folder as batches of records, each once."""

    help = "Take the records of files as batches of a system, each once (docs/formats.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("system", metavar="SYSTEM", help="name, external id or id")
        parser.add_argument(
            "folder",
            metavar="FOLDER",
            help="folder, or address of one (s3://, gs://), with a folder for each table",
        )
        parser.add_argument(
            "--table", default="", choices=RecordTable.values, help="which all files are of"
        )
        parser.add_argument(
            "--prefix",
            default="",
            metavar="TEXT",
            help="what names of batches begin with, for files that are called as others were",
        )
        parser.add_argument(
            "--late-after",
            type=int,
            metavar="S",
            help="set records aside that are older than so many seconds; without it none is late",
        )
        parser.add_argument("--reason", default="", help="for the history")

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(lambda: self._run(options), name=NAME, stderr=self.stderr)

    def _run(self, options: dict[str, Any]) -> int:
        late_after_s = options["late_after"]
        if late_after_s is not None and late_after_s < 1:
            raise Refused("--late-after: must be 1 second or more")
        try:
            imported = self._import(options)
        except ApplicationError as error:
            self.stderr.write(f"{NAME}: no answer: {error.message}")
            return NO_ANSWER
        return self._summary(imported)

    def _import(self, options: dict[str, Any]) -> Imported:
        folder = options["folder"]
        try:
            return records_import(
                system=_system(options["system"]),
                uri=folder if "://" in folder else folder_uri(folder),
                table=options["table"],
                prefix=options["prefix"],
                late_after_s=options["late_after"],
                actor=None,
                reason=options["reason"],
                report=self._report,
            )
        finally:
            # The line of the progress is left to what is printed next.
            self._progress("")

    def _progress(self, text: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r\x1b[K{text}", ending="")

    def _report(self, imported: Imported, name: str) -> None:
        rows = imported.taken + imported.set_aside + imported.repeated
        done = f"{imported.done:,} of {counted(imported.files, 'file')}"
        self._progress(f"{done}, {counted(rows, 'row')}: {name[-40:]!a}")

    def _summary(self, imported: Imported) -> int:
        """Print what became of the files, and return the exit status."""
        for each in imported.failed:
            before = f" ({counted(each.taken, 'row')} before that)" if each.taken else ""
            self.stderr.write(f"{NAME}: {each.name!a}: {each.reason}{before}")
        if imported.left_out:
            what = counted(imported.left_out, "other file")
            self.stderr.write(f"{NAME}: {what} left alone: no records by name or folder")
        parts = (
            f"{counted(imported.files - len(imported.failed), 'file')}",
            f"{counted(imported.batches, 'new batch', 'new batches')}",
            f"{counted(imported.taken, 'row')} taken",
            f"{imported.set_aside:,} set aside",
            f"{imported.repeated:,} here before",
            f"{counted(len(imported.failed), 'file')} refused",
        )
        self.stdout.write(", ".join(parts))
        return INFEASIBLE if imported.failed or imported.set_aside else ANSWER


def _system(name: str) -> System:
    """Return the system of this name, external id or id. Raises Refused."""
    wanted = Q(name=name) | Q(external_id=name)
    with contextlib.suppress(ValueError):
        wanted |= Q(public_id=uuid.UUID(name))
    system = System.objects.filter(wanted).first()
    if system is None or not name:
        known = ", ".join(System.objects.order_by("name").values_list("name", flat=True)) or "none"
        raise Refused(f'no system "{name}"; there are: {known}')
    return system
