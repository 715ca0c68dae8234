"""What a study asks: a sweep of edits, or a schedule of populations through the day.

Plain form of a sweep, all but `kind` and `methods` with defaults:

    {"kind": "sweep",
     "methods": [{"method": "lrgp", "label": "LRGP", "parameters": {}}],
     "base": [edit, ...],                    applied first in every scenario but "As is"
     "axes": [{"label": "Capacity of S2", "edit": {"kind": "node_capacity", "nodes": ["S2"]},
               "field": "scale", "values": {"from": 0.5, "to": 1.5, "count": 21}}],
     "scenarios": [{"label": "Without f0", "edits": [edit, ...]}],
     "groups": [{"name": "Gold", "classes": ["c0", "c1"]}],
     "seed": 0, "time_limit_s": null, "keep_rates": false}

`axes` give the grid of all their combinations, `scenarios` a list; a sweep may have both. A
schedule has `segments` instead, whose populations are percent of the model's, by group:

    {"kind": "schedule", "groups": [...], "warm": true,
     "segments": [{"label": "Lunch", "duration_s": 3600, "percent": {"Gold": 0, "Silver": 5}}]}

A class in no group, and a group that a segment leaves out, stays at 100 percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem, UnknownMethod, join_path
from weir.optimizers import method as find_method
from weir.plugins import from_dict
from weir.reading import amount, boolean, members, number, shown, whole
from weir.scenarios._reading import entries, ids, text
from weir.scenarios.axes import Axis, axis_from_dict, axis_to_dict
from weir.scenarios.edits import Edit, edit_from_dict, edit_to_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_METHODS = 8
MAX_EDITS = 50
MAX_AXES = 3
MAX_SCENARIOS = 2000
MAX_SEGMENTS = 500
MAX_GROUPS = 50
MAX_POINTS = 5000
"""Answers of one study; more are more than a person can look at."""
MAX_SEED = 2**31 - 1
MAX_TIME_S = 86_400.0

_COMMON = ("groups", "base", "seed", "time_limit_s", "keep_rates")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodChoice:
    """An optimizer with its parameters, under the name that the study's tables use."""

    method: str
    label: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Classes that are counted together, such as all gold ones."""

    name: str
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Hold a labelled list of edits."""

    label: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of the day: percent of each group's consumers that want service."""

    label: str
    duration_s: float
    percent: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What both kinds of study have."""

    methods: tuple[MethodChoice, ...]
    base: tuple[Edit, ...] = ()
    groups: tuple[Group, ...] = ()
    seed: int = 0
    time_limit_s: float | None = None
    """Per answer."""
    keep_rates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep(Common):
    """Many scenarios side by side, each solved from cold."""

    axes: tuple[Axis, ...] = ()
    scenarios: tuple[Scenario, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Common):
    """The segments of a day, one after the other, each from where the one before left off."""

    segments: tuple[Segment, ...]
    warm: bool = True


Study = Sweep | Schedule


def study_from_dict(obj: object, path: str = "") -> Study:
    """A study from its plain form. InvalidProblem names the field."""
    if not isinstance(obj, dict):
        raise InvalidProblem(path, f"must be an object, not {shown(obj)}")
    kind = obj.get("kind")
    if kind == "sweep":
        members(obj, path, ("kind", "methods"), (*_COMMON, "axes", "scenarios"))
        return _sweep(obj, path)
    if kind == "schedule":
        members(obj, path, ("kind", "methods", "segments"), (*_COMMON, "warm"))
        return _schedule(obj, path)
    if "kind" not in obj:
        raise InvalidProblem(path, 'missing key "kind"; give sweep or schedule')
    raise InvalidProblem(join_path(path, "kind"), "must be sweep or schedule")


def study_to_dict(study: Study) -> dict[str, Any]:
    """The plain form with every default written out."""
    plain: dict[str, Any] = {
        "kind": "sweep" if isinstance(study, Sweep) else "schedule",
        "methods": [
            {"method": m.method, "label": m.label, "parameters": dict(m.parameters)}
            for m in study.methods
        ],
        "base": [edit_to_dict(edit) for edit in study.base],
        "groups": [{"name": g.name, "classes": list(g.classes)} for g in study.groups],
        "seed": study.seed,
        "time_limit_s": study.time_limit_s,
        "keep_rates": study.keep_rates,
    }
    if isinstance(study, Sweep):
        return plain | {
            "axes": [axis_to_dict(axis) for axis in study.axes],
            "scenarios": [
                {"label": s.label, "edits": [edit_to_dict(edit) for edit in s.edits]}
                for s in study.scenarios
            ],
        }
    return plain | {
        "warm": study.warm,
        "segments": [
            {"label": s.label, "duration_s": s.duration_s, "percent": dict(s.percent)}
            for s in study.segments
        ],
    }


def _sweep(obj: dict[str, Any], path: str) -> Sweep:
    at = join_path(path, "axes")
    axes = tuple(
        axis_from_dict(axis, f"{at}[{index}]")
        for index, axis in enumerate(entries(obj.get("axes", []), at, most=MAX_AXES))
    )
    at = join_path(path, "scenarios")
    scenarios = []
    for index, entry in enumerate(entries(obj.get("scenarios", []), at, most=MAX_SCENARIOS)):
        here = f"{at}[{index}]"
        members(entry, here, ("label", "edits"))
        scenarios.append(
            Scenario(
                label=text(entry["label"], f"{here}.label"),
                edits=_edits(entry["edits"], f"{here}.edits"),
            )
        )
    if not axes and not scenarios:
        raise InvalidProblem(join_path(path, "axes"), "nothing varies; give an axis or a scenario")
    study = Sweep(axes=axes, scenarios=tuple(scenarios), **_common(obj, path))
    combinations = 1
    for axis in axes:
        combinations *= len(axis.values)
    count = (1 + len(scenarios) + (combinations if axes else 0)) * len(study.methods)
    _refuse_too_many(count, join_path(path, "axes"))
    return study


def _schedule(obj: dict[str, Any], path: str) -> Schedule:
    common = _common(obj, path)
    groups = {group.name for group in common["groups"]}
    at = join_path(path, "segments")
    segments = []
    for index, entry in enumerate(entries(obj["segments"], at, most=MAX_SEGMENTS, least=1)):
        here = f"{at}[{index}]"
        members(entry, here, ("label", "percent"), ("duration_s",))
        percent = entry["percent"]
        if not isinstance(percent, dict):
            raise InvalidProblem(f"{here}.percent", f"must be an object, not {shown(percent)}")
        for name in percent:
            if name not in groups:
                known = ", ".join(sorted(groups)) or "none"
                raise InvalidProblem(
                    f"{here}.percent", f"no group {shown(name)}; known are {known}"
                )
        duration = number(entry.get("duration_s", 3600.0), f"{here}.duration_s")
        if duration <= 0:
            raise InvalidProblem(f"{here}.duration_s", "must be above 0 seconds")
        segments.append(
            Segment(
                label=text(entry["label"], f"{here}.label"),
                duration_s=duration,
                percent={
                    name: amount(value, f"{here}.percent.{name}") for name, value in percent.items()
                },
            )
        )
    study = Schedule(
        segments=tuple(segments),
        warm=boolean(obj.get("warm", True), join_path(path, "warm")),
        **common,
    )
    _refuse_too_many(len(segments) * len(study.methods), at)
    return study


def _refuse_too_many(count: int, path: str) -> None:
    if count > MAX_POINTS:
        raise InvalidProblem(
            path, f"{count:,} answers would be needed; a study has at most {MAX_POINTS:,}"
        )


def _edits(obj: object, path: str) -> tuple[Edit, ...]:
    return tuple(
        edit_from_dict(edit, f"{path}[{index}]")
        for index, edit in enumerate(entries(obj, path, most=MAX_EDITS))
    )


def _common(obj: dict[str, Any], path: str) -> dict[str, Any]:
    limit = obj.get("time_limit_s")
    at = join_path(path, "time_limit_s")
    if limit is not None:
        limit = number(limit, at)
        if not 0 < limit <= MAX_TIME_S:
            raise InvalidProblem(at, f"must be above 0 and at most {MAX_TIME_S:,.0f} seconds")
    return {
        "methods": _methods(obj["methods"], join_path(path, "methods")),
        "base": _edits(obj.get("base", []), join_path(path, "base")),
        "groups": _groups(obj.get("groups", []), join_path(path, "groups")),
        "seed": whole(obj.get("seed", 0), join_path(path, "seed"), least=0, most=MAX_SEED),
        "time_limit_s": limit,
        "keep_rates": boolean(obj.get("keep_rates", False), join_path(path, "keep_rates")),
    }


def _methods(obj: object, path: str) -> tuple[MethodChoice, ...]:
    methods: list[MethodChoice] = []
    for index, entry in enumerate(entries(obj, path, most=MAX_METHODS, least=1)):
        here = f"{path}[{index}]"
        members(entry, here, ("method",), ("label", "parameters"))
        name = text(entry["method"], f"{here}.method")
        try:
            optimizer = find_method(name)
        except UnknownMethod as error:
            raise InvalidProblem(f"{here}.method", str(error)) from None
        parameters = entry.get("parameters", {})
        from_dict(optimizer.Params, parameters, f"{here}.parameters")
        label = text(entry.get("label", name), f"{here}.label")
        if any(label == other.label for other in methods):
            raise InvalidProblem(
                f"{here}.label", f"{shown(label)} is given twice; label the methods differently"
            )
        methods.append(MethodChoice(method=name, label=label, parameters=dict(parameters)))
    return tuple(methods)


def _groups(obj: object, path: str) -> tuple[Group, ...]:
    groups: list[Group] = []
    owner: dict[str, str] = {}
    for index, entry in enumerate(entries(obj, path, most=MAX_GROUPS)):
        here = f"{path}[{index}]"
        members(entry, here, ("name", "classes"))
        name = text(entry["name"], f"{here}.name")
        if any(name == other.name for other in groups):
            raise InvalidProblem(f"{here}.name", f"{shown(name)} is given twice; rename one")
        classes = ids(entry["classes"], f"{here}.classes")
        for position, row in enumerate(classes):
            if row in owner:
                raise InvalidProblem(
                    f"{here}.classes[{position}]", f"{shown(row)} is in group {owner[row]} too"
                )
            owner[row] = name
        groups.append(Group(name=name, classes=classes))
    return tuple(groups)
