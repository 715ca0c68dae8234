"""Placement problems as plain dicts and JSON bytes: the only parser of the format.

    {"topic": {"id": "t", "rate": 10000, "token_rate": 11000, "bucket": 120, "batch": 1,
               "slo_p99_s": 0.001},
     "brokers": [{"id": "b1", "max_rate": 80000, "allocated_rate": 10000, "drained": false}],
     "publishers": [{"id": "p1", "rate": 10, "group": "g1"}],
     "pins": {"p1": "b1"}, "previous": {"p1": "b2"},
     "measured_of": "L-3",
     "measured": {"b2": {"messages": 41000, "seconds": 60,
                         "delay": {"p99_s": 0.002, "low_s": 0.0018, "high_s": 0.0021},
                         "processing": {"p99_s": 0.001, "low_s": 0.0009, "high_s": null}}}}

`topic.id`, `topic.batch`, `topic.slo_p99_s`, `topic.slo_mean_s`, `topic.recorded_bucket` (of the
smallest bucket that a recording asks for), `allocated_rate`, `drained`,
`speed` of a broker, `group`, `pins`, `previous`, `measured_of` and `measured` may be left out, and
of what was measured `"mean": {"mean_s": 0.0005, "low_s": 0.0004, "high_s": 0.0006}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.codec.json_text import object_from_json
from weir.errors import InvalidProblem
from weir.model.placement import (
    NOWHERE,
    BrokerRoom,
    Contract,
    MeasuredDelays,
    Percentile,
    PlacementProblem,
    Publishers,
)
from weir.reading import (
    amount,
    boolean,
    each,
    encodable,
    identifier,
    items,
    mapping,
    member_path,
    members,
    number,
    shown,
    unique,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from weir.model.placement import Placement

MOST_BATCH = 10_000
MOST_MESSAGES = 10**15


def placement_from_json(raw: bytes) -> PlacementProblem:
    """Return the checked problem that the bytes hold. Raises InvalidProblem."""
    return placement_from_dict(object_from_json(raw))


def placement_from_dict(obj: object) -> PlacementProblem:
    """Return the checked problem. Raises InvalidProblem naming entry and field."""
    top = members(
        obj,
        "",
        ("topic", "brokers", "publishers"),
        ("pins", "previous", "measured", "measured_of"),
    )
    contract = _contract(top["topic"])
    brokers = tuple(
        sorted(each(top["brokers"], "brokers", _broker), key=lambda broker: broker.broker)
    )
    unique((_text(entry, "id") for entry in items(top["brokers"], "brokers")), "brokers", "broker")
    index = {broker.broker: at for at, broker in enumerate(brokers)}
    publishers = _publishers(top["publishers"], index, top)
    for at, broker in enumerate(brokers):
        pinned = np.flatnonzero(publishers.pinned == at)
        if broker.drained and len(pinned):
            name = publishers.names[int(pinned[0])]
            raise InvalidProblem(
                member_path("pins", name),
                f"{shown(broker.broker)} is drained; pin it elsewhere, or unpin it",
            )
    measured_of = top.get("measured_of")
    return PlacementProblem(
        contract=contract,
        brokers=brokers,
        publishers=publishers,
        measured=_measured(top.get("measured", {}), index),
        measured_of=None if measured_of is None else identifier(measured_of, "measured_of"),
    )


def placement_bytes(problem: PlacementProblem) -> bytes:
    """Return the canonical JSON of the problem: equal problems give equal bytes."""
    contract, publishers = problem.contract, problem.publishers
    names = [broker.broker for broker in problem.brokers]
    plain: dict[str, Any] = {
        "topic": {
            "id": contract.topic,
            "rate": contract.messages_per_s,
            "token_rate": contract.token_rate_per_s,
            "bucket": contract.bucket,
            "batch": contract.batch,
            "slo_p99_s": contract.slo_p99_s,
            **({} if contract.slo_mean_s is None else {"slo_mean_s": contract.slo_mean_s}),
            **_recorded(contract),
        },
        "brokers": [
            {
                "id": broker.broker,
                "max_rate": broker.max_rate_per_s,
                "allocated_rate": broker.allocated_rate_per_s,
                "drained": broker.drained,
                **({} if broker.speed_per_s is None else {"speed": broker.speed_per_s}),
            }
            for broker in problem.brokers
        ],
        "publishers": [
            {"id": name, "rate": rate, "group": None if at < 0 else publishers.group_names[at]}
            for name, rate, at in zip(
                publishers.names,
                publishers.rates_per_s.tolist(),
                publishers.groups.tolist(),
                strict=True,
            )
        ],
        "pins": _named(publishers.names, publishers.pinned, names),
        "previous": _named(publishers.names, publishers.today, names),
        **_measured_plain(problem),
    }
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _recorded(contract: Contract) -> dict[str, float]:
    if contract.recorded_bucket is None:
        return {}
    return {"recorded_bucket": contract.recorded_bucket}


def delays_to_dict(delays: MeasuredDelays) -> dict[str, Any]:
    """Return the published form of what was measured at one broker."""

    def percentile(measured: Percentile) -> dict[str, float | None]:
        return {"p99_s": measured.value_s, "low_s": measured.low_s, "high_s": measured.high_s}

    plain: dict[str, Any] = {
        "messages": delays.messages,
        "seconds": delays.seconds,
        "delay": percentile(delays.delay),
        "processing": percentile(delays.processing),
    }
    if delays.mean_s is not None:
        plain["mean"] = {
            "mean_s": delays.mean_s,
            "low_s": delays.mean_low_s,
            "high_s": delays.mean_high_s,
        }
    return plain


def _measured_plain(problem: PlacementProblem) -> dict[str, Any]:
    """Return what was measured; nothing where nothing was."""
    if not problem.measured:
        return {}
    return {
        "measured_of": problem.measured_of,
        "measured": {
            problem.brokers[at].broker: delays_to_dict(delays)
            for at, delays in problem.measured.items()
        },
    }


def placement_result_to_dict(problem: PlacementProblem, placement: Placement) -> dict[str, Any]:
    """Return the published form of an answer (docs/formats.md, Placement)."""
    names = [broker.broker for broker in problem.brokers]
    publishers = problem.publishers.names
    nowhere = np.flatnonzero(placement.broker_of == NOWHERE).tolist()
    return {
        "status": "solved" if placement.complete else "infeasible",
        "assignments": _named(publishers, placement.broker_of, names),
        "unassigned": [publishers[at] for at in nowhere],
        "buckets": {
            names[at]: {"rate": share.token_rate_per_s, "size": share.bucket}
            for at, share in placement.shares.items()
        },
        "predicted": {
            names[at]: {
                "p99_s": share.p99_s,
                **({} if problem.contract.slo_mean_s is None else {"mean_s": share.mean_s}),
            }
            for at, share in placement.shares.items()
        },
        "need_brokers": placement.need_brokers,
    }


def _named(names: Sequence[str], at: NDArray[np.int64], brokers: Sequence[str]) -> dict[str, str]:
    return {
        name: brokers[index] for name, index in zip(names, at.tolist(), strict=True) if index >= 0
    }


def _text(entry: object, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    return value if isinstance(value, str) else ""


def _positive(value: object, path: str) -> float:
    given = number(value, path)
    if given <= 0:
        raise InvalidProblem(path, f"must be above 0, but is {given:g}")
    return given


def _contract(obj: object) -> Contract:
    given = members(
        obj,
        "topic",
        ("rate", "token_rate", "bucket"),
        ("id", "batch", "slo_p99_s", "slo_mean_s", "recorded_bucket"),
    )
    bucket = number(given["bucket"], "topic.bucket")
    if bucket < 1:
        message = f"must be at least 1 message, but is {bucket:g}: nothing would ever pass"
        raise InvalidProblem("topic.bucket", message)
    recorded = given.get("recorded_bucket")
    if recorded is not None and number(recorded, "topic.recorded_bucket") < 1:
        message = f"must be at least 1 message, but is {recorded:g}: a message takes a token"
        raise InvalidProblem("topic.recorded_bucket", message)
    slo, slo_mean = given.get("slo_p99_s"), given.get("slo_mean_s")
    return Contract(
        topic=identifier(given.get("id", "topic"), "topic.id"),
        messages_per_s=amount(given["rate"], "topic.rate"),
        token_rate_per_s=_positive(given["token_rate"], "topic.token_rate"),
        bucket=bucket,
        batch=whole(given.get("batch", 1), "topic.batch", least=1, most=MOST_BATCH),
        slo_p99_s=None if slo is None else _positive(slo, "topic.slo_p99_s"),
        slo_mean_s=None if slo_mean is None else _positive(slo_mean, "topic.slo_mean_s"),
        recorded_bucket=None if recorded is None else float(recorded),
    )


def _broker(obj: object, path: str) -> BrokerRoom:
    given = members(obj, path, ("id", "max_rate"), ("allocated_rate", "drained", "speed"))
    speed = given.get("speed")
    return BrokerRoom(
        broker=identifier(given["id"], f"{path}.id"),
        max_rate_per_s=amount(given["max_rate"], f"{path}.max_rate"),
        allocated_rate_per_s=amount(given.get("allocated_rate", 0.0), f"{path}.allocated_rate"),
        drained=boolean(given.get("drained", False), f"{path}.drained"),
        speed_per_s=None if speed is None else _positive(speed, f"{path}.speed"),
    )


def _measured(obj: object, brokers: Mapping[str, int]) -> dict[int, MeasuredDelays]:
    """Return what was measured by index of the broker; brokers that are gone are left out."""
    measured: dict[int, MeasuredDelays] = {}
    for name, entry in mapping(obj, "measured").items():
        path = member_path("measured", name)
        given = members(entry, path, ("messages", "seconds", "delay", "processing"), ("mean",))
        mean = given.get("mean")
        mean_s, mean_low_s, mean_high_s = (
            (None, None, None) if mean is None else _interval(mean, f"{path}.mean", "mean_s")
        )
        delays = MeasuredDelays(
            messages=whole(given["messages"], f"{path}.messages", least=1, most=MOST_MESSAGES),
            seconds=_positive(given["seconds"], f"{path}.seconds"),
            delay=_percentile(given["delay"], f"{path}.delay"),
            processing=_percentile(given["processing"], f"{path}.processing"),
            mean_s=mean_s,
            mean_low_s=mean_low_s,
            mean_high_s=mean_high_s,
        )
        if name in brokers:
            measured[brokers[name]] = delays
    return dict(sorted(measured.items()))


def _percentile(obj: object, path: str) -> Percentile:
    value_s, low_s, high_s = _interval(obj, path, "p99_s")
    return Percentile(value_s=value_s, low_s=low_s, high_s=high_s)


def _interval(obj: object, path: str, key: str) -> tuple[float, float, float | None]:
    """Return what was measured, by its key, with the ends of its interval."""
    given = members(obj, path, (key, "low_s"), ("high_s",))
    value, low = (amount(given[name], f"{path}.{name}") for name in (key, "low_s"))
    high = given.get("high_s")
    high_s = None if high is None else amount(high, f"{path}.high_s")
    if low > value or (high_s is not None and high_s < value):
        raise InvalidProblem(path, f"must have low_s <= {key} <= high_s, with {value:g} between")
    return value, low, high_s


_KEYS = {"id", "rate", "group"}


def _publishers(obj: object, brokers: Mapping[str, int], top: Mapping[str, Any]) -> Publishers:
    rows: list[tuple[str, float, str | None]] = []
    for at, entry in enumerate(items(obj, "publishers")):
        # Of a million almost every entry is plain: only what is not is looked at again.
        if (
            type(entry) is dict
            and entry.keys() <= _KEYS
            and type(name := entry.get("id")) is str
            and name
            and type(rate := entry.get("rate")) is float
            and 1e-30 < rate < 1e30
            and (type(group := entry.get("group")) is str or group is None)
            and group != ""
        ):
            rows.append((name, rate, group))
            continue
        rows.append(_publisher(entry, f"publishers[{at}]"))
    if not rows:
        raise InvalidProblem("publishers", "must hold at least one publisher")
    unique((name for name, _, _ in rows), "publishers", "publisher")
    for at, (name, _, group) in enumerate(rows):
        if not name.isascii():
            encodable(name, f"publishers[{at}].id")
        if group is not None and not group.isascii():
            encodable(group, f"publishers[{at}].group")
    rows.sort()
    names = tuple(name for name, _, _ in rows)
    place = {name: at for at, name in enumerate(names)}
    group_names = tuple(sorted({group for _, _, group in rows if group is not None}))
    group_at = {group: at for at, group in enumerate(group_names)}
    groups = [NOWHERE if group is None else group_at[group] for _, _, group in rows]
    return Publishers(
        names=names,
        rates_per_s=np.array([rate for _, rate, _ in rows]),
        groups=np.array(groups, dtype=np.int64),
        group_names=group_names,
        pinned=_brokers_of(top.get("pins", {}), "pins", place, brokers, unknown=None),
        today=_brokers_of(top.get("previous", {}), "previous", place, brokers, unknown=NOWHERE),
    )


def _publisher(obj: object, path: str) -> tuple[str, float, str | None]:
    given = members(obj, path, ("id", "rate"), ("group",))
    group = given.get("group")
    return (
        identifier(given["id"], f"{path}.id"),
        _positive(given["rate"], f"{path}.rate"),
        None if group is None else identifier(group, f"{path}.group"),
    )


def _brokers_of(
    obj: object,
    path: str,
    publishers: Mapping[str, int],
    brokers: Mapping[str, int],
    *,
    unknown: int | None,
) -> NDArray[np.int64]:
    """Return the broker of each publisher; `unknown`: what stands for a broker that is gone, None
    where none may be."""
    out = np.full(len(publishers), NOWHERE, dtype=np.int64)
    for name, broker in mapping(obj, path).items():
        if name not in publishers:
            raise InvalidProblem(member_path(path, name), f"no publisher {shown(name)}")
        index = brokers.get(broker, unknown) if isinstance(broker, str) else None
        if index is None:
            raise InvalidProblem(member_path(path, name), f"no broker {shown(broker)}")
        out[publishers[name]] = index
    return out
