"""Evaluation problems as plain dicts and JSON bytes: the only parser of the format.

    {"brokers": [{"id": "a", "capacity_per_s": 5000, "degree_max": 4, "x": 0.1, "y": 0.7}],
     "links": [{"a": "a", "b": "b", "latency_s": 0.004, "capacity_per_s": null}],
     "missing_links": {"latency_s": 0.001, "latency_s_per_unit": 0.09},
     "traffic": [{"topic": "t", "published": {"a": 120}, "interested": {"b": 120}}],
     "today": [["a", "b"]], "horizon_s": 3600, "weights": {}, "disruption": {}, "options": {}}

Only `brokers` and `today` must be there. `options` are those of `weir.codec.transformation`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from weir.codec.json_text import object_from_json
from weir.codec.transformation_options import options_from_dict, options_to_dict
from weir.errors import InvalidProblem
from weir.model.evaluation import (
    Disruption,
    EvaluationProblem,
    LinkOption,
    MissingLinks,
    Site,
    Traffic,
    Weights,
)
from weir.model.transformation import Transformation
from weir.reading import amount, each, encodable, mapping, members, number, shown, unique
from weir.transformation.trees import check_tree

if TYPE_CHECKING:
    from weir.model.transformation import Edge

    T = TypeVar("T")

_KEYS = tuple(spec.name for spec in fields(EvaluationProblem))


def evaluation_from_json(raw: bytes) -> EvaluationProblem:
    """The checked problem that the bytes hold. Raises InvalidProblem."""
    return evaluation_from_dict(object_from_json(raw))


def evaluation_from_dict(obj: object) -> EvaluationProblem:
    """The checked problem. Raises InvalidProblem naming entry and field."""
    top = members(obj, "", ("brokers", "today"), _KEYS)
    sites = each(top["brokers"], "brokers", _site)
    if not sites:
        raise InvalidProblem("brokers", "must hold at least one broker")
    unique((site.broker for site in sites), "brokers", "broker")
    names = {site.broker for site in sites}
    today = _tree(top["today"], "today")
    if not today and len(names) > 1:
        message = "must be the tree in force; without one there is nothing to transform"
        raise InvalidProblem("today", message)
    known = names | {broker for pair in today for broker in pair}
    links = each(top.get("links", []), "links", _link)
    for index, link in enumerate(links):
        for end in (link.a, link.b):
            if end not in known:
                raise InvalidProblem(f"links[{index}]", f"no broker {shown(end)}")
    unique((f"{link.a}-{link.b}" for link in links), "links", "link")
    traffic = each(top.get("traffic", []), "traffic", _traffic)
    unique((row.topic for row in traffic), "traffic", "topic")
    for index, row in enumerate(traffic):
        for key, brokers in (("published", row.published), ("interested", row.interested)):
            for broker in brokers:
                if broker not in known:
                    raise InvalidProblem(f"traffic[{index}].{key}", f"no broker {shown(broker)}")
    missing = top.get("missing_links")
    problem = EvaluationProblem(
        brokers=tuple(sorted(sites, key=lambda site: site.broker)),
        links=tuple(sorted(links, key=lambda link: (link.a, link.b))),
        missing_links=None if missing is None else _numbers(MissingLinks, missing, "missing_links"),
        traffic=tuple(sorted(traffic, key=lambda row: row.topic)),
        today=today,
        weights=_numbers(Weights, top.get("weights", {}), "weights"),
        disruption=_numbers(Disruption, top.get("disruption", {}), "disruption"),
        horizon_s=amount(top.get("horizon_s", 3600.0), "horizon_s"),
        options=options_from_dict(top.get("options", {}), _unchanged(today, names)),
    )
    _check_today(problem)
    return problem


def evaluation_to_dict(problem: EvaluationProblem) -> dict[str, Any]:
    """The plain form that `evaluation_from_dict` reads, in canonical order."""
    missing = problem.missing_links
    return {
        "brokers": [
            {
                "id": site.broker,
                "capacity_per_s": site.capacity_per_s,
                "degree_max": site.degree_max,
                "x": site.x,
                "y": site.y,
            }
            for site in sorted(problem.brokers, key=lambda site: site.broker)
        ],
        "links": [_plain(link) for link in sorted(problem.links, key=lambda x: (x.a, x.b))],
        "missing_links": None if missing is None else _plain(missing),
        "traffic": [
            {
                "topic": row.topic,
                "published": {name: float(x) for name, x in sorted(row.published.items())},
                "interested": {name: float(x) for name, x in sorted(row.interested.items())},
            }
            for row in sorted(problem.traffic, key=lambda row: row.topic)
        ],
        "today": [list(pair) for pair in sorted(problem.today)],
        "weights": _plain(problem.weights),
        "disruption": _plain(problem.disruption),
        "horizon_s": float(problem.horizon_s),
        "options": options_to_dict(problem.options),
    }


def evaluation_bytes(problem: EvaluationProblem) -> bytes:
    """The problem as compact UTF-8 JSON; equal problems give equal bytes."""
    text = json.dumps(
        evaluation_to_dict(problem),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return text.encode()


def evaluation_hash(problem: EvaluationProblem) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(evaluation_bytes(problem)).hexdigest()


def _site(obj: object, path: str) -> Site:
    row = members(obj, path, ("id",), ("id", "capacity_per_s", "degree_max", "x", "y"))
    degree = row.get("degree_max")
    if degree is not None:
        degree = amount(degree, f"{path}.degree_max")
        if degree != int(degree) or degree < 1:
            message = f"must be a whole number of at least 1, not {shown(row['degree_max'])}"
            raise InvalidProblem(f"{path}.degree_max", message)
    return Site(
        broker=_name(row["id"], f"{path}.id"),
        capacity_per_s=_maybe(row.get("capacity_per_s"), f"{path}.capacity_per_s"),
        degree_max=None if degree is None else int(degree),
        x=None if row.get("x") is None else number(row["x"], f"{path}.x"),
        y=None if row.get("y") is None else number(row["y"], f"{path}.y"),
    )


def _link(obj: object, path: str) -> LinkOption:
    row = members(obj, path, ("a", "b"), ("a", "b", "latency_s", "capacity_per_s"))
    a, b = _pair((row["a"], row["b"]), path)
    return LinkOption(
        a=a,
        b=b,
        latency_s=amount(row.get("latency_s", 0.0), f"{path}.latency_s"),
        capacity_per_s=_maybe(row.get("capacity_per_s"), f"{path}.capacity_per_s"),
    )


def _traffic(obj: object, path: str) -> Traffic:
    row = members(obj, path, ("topic",), ("topic", "published", "interested"))
    return Traffic(
        topic=_name(row["topic"], f"{path}.topic"),
        published=_rates(row.get("published", {}), f"{path}.published"),
        interested=_rates(row.get("interested", {}), f"{path}.interested"),
    )


def _rates(obj: object, path: str) -> dict[str, float]:
    return {
        _name(broker, path): amount(rate, f"{path}.{broker}")
        for broker, rate in sorted(mapping(obj, path).items())
    }


def _tree(obj: object, path: str) -> frozenset[Edge]:
    """Links that make one tree: no self-link, none twice, no cycle, connected."""
    pairs = each(obj, path, _pair)
    seen: dict[Edge, int] = {}
    for index, pair in enumerate(pairs):
        if seen.setdefault(pair, index) != index:
            raise InvalidProblem(f"{path}[{index}]", f"is {path}[{seen[pair]}] again; keep one")
    check_tree(seen, path)
    return frozenset(pairs)


def _unchanged(today: frozenset[Edge], names: set[str]) -> Transformation:
    """What the options are held against before there is a goal."""
    standing = frozenset(broker for pair in today for broker in pair)
    return Transformation(
        brokers=tuple(sorted(names | standing)),
        initial=today,
        goal=today,
        goal_brokers=frozenset(names),
    )


def _check_today(problem: EvaluationProblem) -> None:
    """What is frozen must be able to stay."""
    names = set(problem.names)
    for pair in sorted(problem.options.frozen_links):
        if not names.issuperset(pair):
            message = f"{'-'.join(pair)} joins a broker that leaves; leave it out"
            raise InvalidProblem("options.frozen", message)
    for broker in sorted(problem.options.frozen_brokers):
        if broker not in names or broker not in problem.today_brokers:
            message = f"{broker} comes or goes and takes part in actions; leave it out"
            raise InvalidProblem("options.frozen", message)


def _pair(obj: object, path: str) -> Edge:
    if not isinstance(obj, list | tuple) or len(obj) != 2:
        raise InvalidProblem(path, f"must be a pair of brokers, not {shown(obj)}")
    a, b = (_name(name, path) for name in obj)
    if a == b:
        raise InvalidProblem(path, f"joins {shown(a)} with itself; name two brokers")
    return (a, b) if a < b else (b, a)


def _plain(row: Any) -> dict[str, Any]:
    """A flat dataclass of names and numbers."""
    values = {spec.name: getattr(row, spec.name) for spec in fields(row)}
    return {k: float(v) if isinstance(v, int) else v for k, v in values.items()}


def _numbers(cls: type[T], obj: object, path: str) -> T:
    """A flat dataclass of numbers that are not negative; members may be left out."""
    names = tuple(spec.name for spec in fields(cls))  # type: ignore[arg-type]
    row = members(obj, path, (), names)
    read = {}
    for name, value in row.items():
        unknown = value is None and name.startswith("capacity")
        read[name] = None if unknown else amount(value, f"{path}.{name}")
    return cls(**read)


def _name(value: object, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidProblem(path, f"must be a name, not {shown(value)}")
    return encodable(value, path)


def _maybe(value: object, path: str) -> float | None:
    return None if value is None else amount(value, path)
