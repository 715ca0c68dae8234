"""Ask for a study, name it, end it, ask again, throw it away."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.allocations.models import Allocation
from apps.audit.services import record
from apps.common.errors import Conflict, PreconditionFailed
from apps.common.events import publish
from apps.runs.models import Run
from apps.runs.services import run_again, run_cancel, run_open, snapshot_freeze
from apps.studies.models import Study, StudyPoint
from apps.studies.selectors import study_estimate_s, study_news
from apps.studies.services.check import studied_problem, study_asked
from apps.studies.services.solve import TASK, take_run
from apps.systems.models import System
from weir.codec import canonical_bytes
from weir.lifecycle.runs import ENDED
from weir.scenarios import count_cases, study_to_dict
from weir.scenarios.spec import Study as Asked
from weir.scenarios.spec import Sweep

RUN_KIND = "study"
METHOD_LENGTH = Run._meta.get_field("method").max_length or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A study that fits its problem, with what it will need."""

    spec: dict[str, Any]
    points: int
    estimated_s: float | None


def study_check(*, system: System, spec: object, allocation: Allocation | None = None) -> Checked:
    """Say how large the study is and how long it may take, or what is wrong with it."""
    problem, _ = studied_problem(system, allocation)
    asked = study_asked(spec, problem)
    return Checked(
        spec=study_to_dict(asked),
        points=count_cases(asked),
        estimated_s=study_estimate_s(system=system, asked=asked),
    )


def _name(asked: Asked) -> str:
    if not isinstance(asked, Sweep):
        return f"Schedule of {len(asked.segments)} segments"
    parts = [axis.label for axis in asked.axes] or [row.label for row in asked.scenarios]
    return " x ".join(parts[:3]) if asked.axes else ", ".join(parts[:3])


@transaction.atomic
def study_start(
    *,
    system: System,
    actor: User | None,
    spec: object,
    name: str = "",
    allocation: Allocation | None = None,
) -> Study:
    """Freeze the model, or take the allocation's snapshot, and open a run on it."""
    locked = System.objects.select_for_update().get(pk=system.pk)
    problem, snapshot = studied_problem(locked, allocation)
    asked = study_asked(spec, problem)
    if snapshot is None:
        snapshot = snapshot_freeze(kind=RUN_KIND, payload=canonical_bytes(problem), system=locked)
    last = Study.objects.filter(system=locked).order_by("-number").first()
    plain = study_to_dict(asked)
    run = run_open(
        task=TASK,
        kind=RUN_KIND,
        snapshot=snapshot,
        method=", ".join(dict.fromkeys(c.method for c in asked.methods))[:METHOD_LENGTH],
        parameters={"study": plain},
        seed=asked.seed,
        time_limit_s=asked.time_limit_s,
        actor=actor,
    )
    study = Study.objects.create(
        system=locked,
        number=last.number + 1 if last else 1,
        name=(name.strip() or _name(asked))[:200],
        kind=plain["kind"],
        spec=plain,
        run=run,
        allocation=allocation,
        author=actor,
        points_total=count_cases(asked),
    )
    _audit(study, actor, "start", after={"name": study.name, "points": study.points_total})
    return study


def _audit(study: Study, actor: User | None, action: str, **values: Any) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="study",
        object_id=study.public_id,
        object_name=f"{study} {study.name}",
        system_id=study.system.public_id,
        model_version=study.run.snapshot.model_version,
        **values,
    )
    _tell(study)


def _tell(study: Study) -> None:
    done = StudyPoint.objects.filter(study=study).count()
    publish("study", **study_news(study, state=study.run.state, done=done))


def _locked(study: Study) -> Study:
    return (
        Study.objects.select_for_update(of=("self",))
        .select_related("system", "run__snapshot")
        .get(pk=study.pk)
    )


def _at_version(study: Study, expected: int) -> Study:
    row = _locked(study)
    if row.version != expected:
        raise PreconditionFailed(
            "version_mismatch",
            f"{row} is at version {row.version}, not {expected}: somebody changed it. Reload it.",
        )
    return row


@transaction.atomic
def study_rename(*, study: Study, actor: User, expected_version: int, name: str) -> Study:
    """Give it another name; what it asks never changes."""
    row = _at_version(study, expected_version)
    before, row.name, row.version = row.name, name, row.version + 1
    row.save(update_fields=["name", "version", "updated_at"])
    _audit(row, actor, "rename", before={"name": before}, after={"name": name})
    return row


@transaction.atomic
def study_cancel(*, study: Study, actor: User) -> Study:
    """Stop it; the answers so far stay."""
    row = _locked(study)
    run_cancel(run=row.run, actor=actor)
    _audit(row, actor, "cancel")
    return row


@transaction.atomic
def study_rerun(*, study: Study, actor: User) -> Study:
    """Solve the same study on the same snapshot again, from the first scenario on."""
    row = _locked(study)
    take_run(row, run_again(run=row.run, actor=actor))
    _audit(row, actor, "rerun")
    return row


@transaction.atomic
def study_delete(*, study: Study, actor: User, expected_version: int) -> None:
    """Throw away the study and its points; its runs stay in the record."""
    row = _at_version(study, expected_version)
    if row.run.state not in ENDED:
        raise Conflict("study_is_active", f"{row} is still {row.run.state}; cancel it first.")
    _audit(row, actor, "delete", before={"name": row.name, "spec": row.spec})
    row.delete()
