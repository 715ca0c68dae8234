"""The rows of a study as one document, and as a table."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from weir import __version__
from weir.scenarios.spec import Study, Sweep, study_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NOT_REPEATED = ("runtime_s",)
"""Keys of a row that differ from one computation to the next."""


def study_document(
    study: Study, problem_hash: str, rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """What `manage.py study` writes: the study as it was read, and its rows by index."""
    return {
        "study": study_to_dict(study),
        "problem_hash": problem_hash,
        "kernel_version": __version__,
        "points": sorted((dict(row) for row in rows), key=lambda row: int(row["index"])),
    }


def repeatable(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without what a second computation would not give again, in order."""
    kept = ({k: v for k, v in row.items() if k not in NOT_REPEATED} for row in rows)
    return sorted(kept, key=lambda row: int(row["index"]))


def study_csv(study: Study, rows: Iterable[Mapping[str, Any]]) -> str:
    """One line per row (RFC 4180): coordinates and groups in columns of their own."""
    axes = [axis.label for axis in study.axes] if isinstance(study, Sweep) else ["segment"]
    groups = [group.name for group in study.groups]
    rows = list(rows)
    divided = list(dict.fromkeys(node for row in rows for node in row["division"]))
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(
        [
            "index",
            "scenario",
            "method",
            *axes,
            *(f"quantity of {axis}" for axis in axes),
            *(f"marginal value of {axis}" for axis in axes),
            "status",
            "reason",
            "utility",
            "upper_bound",
            "gap",
            "admitted",
            "wanted",
            "rate_average_per_s",
            "moved",
            *(f"{kind} {name}" for name in groups for kind in ("admitted", "wanted")),
            "scarcest",
            "price",
            *(f"budget gives {node}" for node in divided),
            "iterations",
            "runtime_s",
        ]
    )
    for row in rows:
        writer.writerow([_cell(value) for value in _line(row, len(axes), groups, divided)])
    return out.getvalue()


def _line(
    row: Mapping[str, Any], axes: int, groups: Sequence[str], divided: Sequence[str]
) -> list[Any]:
    by_group = {group["name"]: group for group in row["groups"]}
    first = row["prices"][0] if row["prices"] else None
    name = "" if first is None else ".".join(x for x in (first["id"], first["resource"]) if x)
    return [
        row["index"],
        row["label"],
        row["method"],
        *_padded(row["coordinates"], axes),
        *_padded(row["quantities"], axes),
        *_padded(row["marginals"], axes),
        row["status"],
        row["reason"],
        row["utility"],
        row["upper_bound"],
        row["gap"],
        row["admitted"],
        row["wanted"],
        row["rate_average_per_s"],
        row["moved"],
        *(by_group.get(group, {}).get(kind) for group in groups for kind in ("admitted", "wanted")),
        name,
        None if first is None else first["price"],
        *(row["division"].get(node) for node in divided),
        row["iterations"],
        row["runtime_s"],
    ]


def _padded(values: Sequence[Any], length: int) -> list[Any]:
    return [*values, *[None] * (length - len(values))]


def _cell(value: Any) -> Any:
    # A leading =, +, - or @ in a name would run as a formula in a spreadsheet.
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
