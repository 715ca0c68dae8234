"""Reset the corrections of costs that were replaced.

A factor is what the old costs lacked. Left in force beside costs that were just fitted, it would
count the same error twice until the smoothed ratio came down again.
"""

from collections.abc import Iterable

from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.calibration.selectors import corrections_of, settings_of
from apps.systems.models import System


def corrections_reset(
    *, system: System, places: Iterable[tuple[str, str]], actor: User | None, reason: str
) -> None:
    """Set ratio and factor to 1 at these (broker, resource); audited where snapshots used the
    factor."""
    in_force = settings_of(system).correct_errors
    wanted = set(places)
    for row in corrections_of(system).select_for_update(of=("self",)).order_by("pk"):
        if (row.broker.name, row.resource) not in wanted:
            continue
        before = row.factor
        row.ratio, row.factor, row.clamped, row.at = 1.0, 1.0, "", timezone.now()
        row.save()
        if in_force and before != row.factor:
            record(
                actor=actor,
                action="correct",
                object_kind="broker",
                object_id=row.broker.public_id,
                object_name=row.broker.name,
                system_id=system.public_id,
                model_version=system.model_version,
                before={"resource": row.resource, "factor": round(before, 4)},
                after={"resource": row.resource, "factor": 1.0},
                reason=reason,
            )
