"""Define studies as a kind of computation: what is frozen, sent to the job and stored."""

import json
from typing import Any

from django.conf import settings

from apps.allocations.models import Allocation
from apps.common.formatting import counted
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.studies.models import Study, StudyPoint
from apps.studies.selectors import study_news, study_points_in_order
from apps.studies.services.check import studied_problem, study_asked
from apps.studies.services.points import keep_points, row_of
from apps.systems.models import System
from weir import __version__
from weir.codec import canonical_bytes
from weir.scenarios import count_cases, repeatable, study_to_dict
from weir.scenarios.spec import Study as Asked
from weir.scenarios.spec import Sweep

KIND = "study"


def freeze(
    system: System,
    *,
    spec: object,
    name: str = "",
    allocation: Allocation | None = None,
) -> Question:
    """Freeze the present model, or take the allocation's snapshot, with the question."""
    problem, snapshot = studied_problem(system, allocation)
    study = study_asked(spec, problem)
    plain = study_to_dict(study)
    called, points = (name.strip() or _name(study))[:200], count_cases(study)
    return Question(
        payload=snapshot or canonical_bytes(problem),
        method=", ".join(dict.fromkeys(choice.method for choice in study.methods)),
        parameters={"study": plain},
        seed=study.seed,
        time_limit_s=study.time_limit_s,
        row={
            "name": called,
            "kind": plain["kind"],
            "spec": plain,
            "allocation": allocation,
            "points_total": points,
        },
        audited={"name": called, "points": points},
    )


def _name(study: Asked) -> str:
    if not isinstance(study, Sweep):
        return f"Schedule of {len(study.segments)} segments"
    parts = [axis.label for axis in study.axes] or [row.label for row in study.scenarios]
    return " x ".join(parts[:3]) if study.axes else ", ".join(parts[:3])


def job_inputs(run: Run, study: Study) -> dict[str, Any]:
    """Return where the job sends its points, and which of them a lost attempt left behind."""
    done: list[int] = []
    if run.attempt > 1 and not study.spec["keep_rates"]:  # rates are sent only at the end
        done = list(study_points_in_order(study).values_list("index", flat=True))
    return {"points_url": f"{settings.WEIR_WEB_URL}/internal/studies/points", "done": done}


def clear(study: Study) -> None:
    """Delete the points of the last run."""
    StudyPoint.objects.filter(study=study).delete()
    study.version += 1


def store(run: Run, study: Study, answer: bytes) -> Answer:
    """Store every row and check that none is missing."""
    keep_points(study, json.loads(answer)["points"])
    points = list(study_points_in_order(study))
    if len(points) != study.points_total:
        raise ValueError(f"{study}: {len(points)} of {study.points_total} points came")
    payload = {"points": list(repeatable(row_of(point) for point in points))}
    return Answer(
        payload=json.dumps(payload, sort_keys=True).encode(),
        kernel_version=__version__,
        progress={"done": len(points), "total": study.points_total},
        row=study,
    )


def news(study: Study) -> dict[str, Any]:
    """Return what a browser needs at once."""
    done = StudyPoint.objects.filter(study=study).count()
    return study_news(study, state=study.run.state, done=done)


def describe(study: Study) -> str:
    """Describe the study in a sentence."""
    return f"{study} {study.name} has {counted(study.points_total, 'point')}."


STUDY = Computation(
    kind=KIND,
    title="What-if studies",
    noun="study",
    address="/api/v1/studies",
    job="sweep",
    model=Study,
    row_first=True,
    freeze=freeze,
    job_inputs=job_inputs,
    store=store,
    clear=clear,
    news=news,
    topic="study",
    describe=describe,
    audited_as="study",
    named=lambda study: f"{study} {study.name}",
)
