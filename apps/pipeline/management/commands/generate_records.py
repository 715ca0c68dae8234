"""Make a lifelike log of any size: `manage.py generate_records OUT --kind market --records N`."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.management.base import BaseCommand

from apps.common.command_files import ANSWER, Refused, check_limits, new_folder
from apps.runs.management.command_status import exit_with_status
from weir.records import kind, kinds
from weir.records.slices import Slice, first_records

MOST_RECORDS = 10**12
"""More fit on no disk: a million million take some ten terabytes."""


class Command(BaseCommand):
    """Write a seeded log of one kind as Parquet files, a folder for each table."""

    help = (
        "Records of a market's day (6.5 hours), of sensors (24 hours) or of requests (1 hour), as "
        "in docs/formats.md. N rows of all tables together span the natural duration of the kind: "
        "rates follow N."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("out", metavar="OUT", help="folder to make; it may be there, empty")
        parser.add_argument("--kind", required=True, help=", ".join(kinds()))
        parser.add_argument(
            "--records",
            type=int,
            required=True,
            metavar="N",
            help="rows of all tables together, exactly",
        )
        parser.add_argument("--seed", type=int, default=0, help="the same seed, the same rows")

    def handle(self, *args: Any, **options: Any) -> None:
        exit_with_status(
            lambda: self._generate(options), name="generate_records", stderr=self.stderr
        )

    def _generate(self, options: dict[str, Any]) -> int:
        records = options["records"]
        if not 1 <= records <= MOST_RECORDS:
            raise Refused(f"--records: must be 1 to {MOST_RECORDS:,}")
        check_limits(seed=options["seed"])
        made = kind(options["kind"])
        # Only who writes a log waits for pyarrow.
        from apps.pipeline.services.record_files import write_records

        log = first_records(
            made.slices(made.Shape(), records=records, seed=options["seed"]), records
        )
        with new_folder(options["out"]) as folder:
            rows = write_records(folder, made.TABLES, self._watched(log, records))
        for table, count in rows.items():
            self.stdout.write(f"{table}: {count:,}")
        return ANSWER

    def _watched(self, log: Iterable[Slice], records: int) -> Iterator[Slice]:
        written = 0
        for each in log:
            yield each
            written += each.records
            if self.stderr.isatty():
                self.stderr.write(f"\r{written:,} of {records:,} records", ending="")
