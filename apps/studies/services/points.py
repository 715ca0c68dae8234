"""Convert a row of the kernel's engine to a StudyPoint, and back."""

from typing import Any

from apps.studies.models import Study, StudyPoint

FIELDS = tuple(field.name for field in StudyPoint._meta.fields if field.name not in ("id", "study"))
CHANGED = tuple(name for name in FIELDS if name != "index")
_COUNTS = ("admitted", "wanted", "moved")
_MOST = 2**63 - 1
BATCH = 500
LENGTHS = {
    name: getattr(StudyPoint._meta.get_field(name), "max_length", 0)
    for name in ("label", "method", "status")
}


def point_of(study: Study, row: dict[str, Any]) -> StudyPoint:
    """Return a point that is not saved yet. Raises KeyError, TypeError or ValueError for an invalid
    row."""
    values = {name: row[name] for name in FIELDS}
    if not 0 <= int(values["index"]) < study.points_total:
        raise ValueError(f"{study} has no point {values['index']}")
    for name in _COUNTS:
        if values[name] is not None:
            values[name] = min(int(values[name]), _MOST)
    for name in ("utility", "upper_bound", "gap", "rate_average_per_s", "runtime_s"):
        values[name] = None if values[name] is None else float(values[name])
    for name in LENGTHS:
        values[name] = str(values[name])[: LENGTHS[name]]
    return StudyPoint(study=study, **values)


def row_of(point: StudyPoint) -> dict[str, Any]:
    """Return the row that `point_of` was given."""
    return {name: getattr(point, name) for name in FIELDS}


def keep_points(study: Study, rows: list[dict[str, Any]]) -> None:
    """Write the rows; the same answer replaces a row that is there already."""
    StudyPoint.objects.bulk_create(
        [point_of(study, row) for row in rows],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["study", "index"],
        update_fields=list(CHANGED),
    )
