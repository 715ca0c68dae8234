"""Rename studies, and delete them."""

from django.db import transaction

from apps.accounts.models import User
from apps.common.errors import Conflict, check_version
from apps.runs.services.computations import audited
from apps.studies.models import Study
from apps.studies.services.computation import STUDY
from weir.lifecycle.runs import ENDED


def _locked(study: Study) -> Study:
    return (
        Study.objects.select_for_update(of=("self",))
        .select_related("system", "run__snapshot")
        .get(pk=study.pk)
    )


def _at_version(study: Study, expected: int) -> Study:
    row = _locked(study)
    check_version(row, expected)
    return row


@transaction.atomic
def study_rename(*, study: Study, actor: User, expected_version: int, name: str) -> Study:
    """Rename the study; its question never changes."""
    row = _at_version(study, expected_version)
    before, row.name, row.version = row.name, name, row.version + 1
    row.save(update_fields=["name", "version", "updated_at"])
    audited(STUDY, row, actor, "rename", before={"name": before}, after={"name": name})
    return row


@transaction.atomic
def study_delete(*, study: Study, actor: User, expected_version: int) -> None:
    """Delete the study and its points; its runs stay in the record."""
    row = _at_version(study, expected_version)
    if row.run.state not in ENDED:
        raise Conflict("study_is_active", f"{row} is still {row.run.state}; cancel it first.")
    audited(STUDY, row, actor, "delete", before={"name": row.name, "spec": row.spec})
    row.delete()
