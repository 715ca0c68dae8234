"""Handle a restored database: how it shows, and how a person goes on from it.

An agent tells which document it has obeyed. If that one was never sent to it as far as this
database knows, the database was restored from a backup, or failed over to a copy that lagged
behind. Documents made of it could take back what is in force, so none are sent to any agent of the
system; agents go on by what they obeyed last. Either a newer backup is restored, or an operator
adopts the state as it is: documents then get numbers above every one that was obeyed.
"""

from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import Conflict
from apps.common.events import publish
from apps.executions.models import Revision
from apps.executions.services.adapted_parts import every_part_locked, parts_doubt
from apps.executions.services.documents import revision_bump
from apps.systems.models import System
from apps.telemetry.selectors import agents_ahead, agents_of
from apps.telemetry.services import agents_adopt


def restored_text(system: System) -> str:
    """Return why no documents are sent, and what to do; empty when they are."""
    ahead = list(agents_ahead(system.pk))
    if not ahead:
        return ""
    names = ", ".join(agent.broker.name for agent in ahead)
    largest = max(agent.obeyed_number for agent in ahead)
    sent = max(agent.served_number for agent in ahead)
    return (
        f"The control plane's database has gone back: the agents of {names} have obeyed documents "
        f"up to number {largest}, it knows of none after {sent}. It sends no documents, and agents "
        "go on unchanged. Restore a newer backup, or adopt the restored state on the page of "
        f"the system (POST /api/v1/systems/{system.public_id}/adopt-restored): agents then make "
        "true what this database says."
    )


@transaction.atomic
def restored_adopt(*, system: System, actor: User, reason: str) -> int:
    """Let agents obey this database again. Returns the number of the documents that say so.

    Raises Conflict when no agent has obeyed more than it knows.
    """
    # The system's row serialises this with the start of executions; without its key, as there.
    locked = System.objects.select_for_update(no_key=True).get(pk=system.pk)
    before = Revision.objects.filter(system=locked).values_list("number", flat=True).first() or 0
    largest = agents_adopt(system=locked)
    if not largest:
        raise Conflict(
            "nothing_restored",
            f"No agent of {locked} has obeyed a document that this database does not know; there "
            "is nothing to adopt.",
        )
    # Where no agent is enrolled, nobody would ever end the doubt.
    enrolled = set(agents_of(locked).values_list("broker__name", flat=True))
    parts = [row for row in every_part_locked(locked) if row.target["broker"] in enrolled]
    number = revision_bump(locked, above=largest)
    parts_doubt(parts, number)
    record(
        actor=actor,
        action="adopt_restored",
        object_kind="system",
        object_id=locked.public_id,
        object_name=locked.name,
        system_id=locked.public_id,
        before={"document_number": before},
        after={"document_number": number},
        reason=reason,
    )
    publish("document", system=locked.public_id)
    return number
