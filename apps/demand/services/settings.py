"""Create and change how a system's measured demand is used; each change is audited."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.demand.models import DemandSettings
from apps.demand.services.estimate import estimate_anew
from apps.systems.models import System
from apps.systems.services import row_for, row_update


def settings_for(system: System) -> DemandSettings:
    """Return the system's row; made on demand."""
    return row_for(DemandSettings, system)


@transaction.atomic
def settings_update(*, settings: DemandSettings, **change: Any) -> DemandSettings:
    """Change the given members, as `row_update` does; what is used changes with them, at once."""
    # An estimate is numbered under the lock of its system, which edits take first.
    System.objects.select_for_update(no_key=True).get(pk=settings.system_id)
    row = row_update(settings=settings, topic="demand", **change)
    estimate_anew(row.system, timezone.now())
    return row
