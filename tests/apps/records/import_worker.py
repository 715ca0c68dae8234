"""Import the records of a folder in a process of its own that dies where a test wants it to.

python -m tests.apps.records.import_worker SYSTEM URI between|within BATCHES
"""

import os
import signal
import sys
import uuid
from typing import Any

import django

django.setup()

from apps.records.services import Imported, records_import  # noqa: E402
from apps.runs.services.gateway import landing  # noqa: E402
from apps.systems.models import System  # noqa: E402


def main(system: str, uri: str, where: str, batches: int) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def report(imported: Imported, name: str) -> None:
        if where == "between" and imported.batches == batches:
            die()

    land = landing().land
    landed = 0

    def land_and_die(*arguments: Any) -> None:
        nonlocal landed
        land(*arguments)
        landed += 1
        if landed == batches:
            die()

    if where == "within":
        setattr(landing(), "land", land_and_die)  # noqa: B010
    records_import(
        system=System.objects.get(public_id=uuid.UUID(system)), uri=uri, actor=None, report=report
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
