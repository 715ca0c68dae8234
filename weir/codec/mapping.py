"""Mapping problems as plain dicts and JSON bytes: the only parser of the format.

    {"flows": [{"id": "t1", "rate": 10.0}], "users": [{"id": "u1", "flows": ["t1"]}],
     "max_streams": 1000, "max_groups": 100,
     "costs": {"transport": 1.0, "messaging": 1.0, "aggregation": 8.0},
     "pins": {"flow_to_stream": {"t1": 0}, "stream_to_group": {"0": 3}},
     "previous": {"stream_of": {"t1": 0}, "group_of": {"0": 3}},
     "move_cost": 0.0, "stream_move_cost": 0.0,
     "moving": {"flow_work": 0.0, "stream_work": 0.0, "horizon_s": 3600.0, "flows_per_s": 40.0}}

`pins` and either of its members, `previous`, `move_cost` (0), `stream_move_cost` (as much as
`move_cost`) and `moving` may be left out. `previous` is a former result: the rest of its members is
not read, and what it names that is no longer there counts as not mapped before.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.clustering.cost import filtering_cost, moved, moved_streams, pin_prices, random_cost
from weir.codec.gc_pause import paused
from weir.codec.json_text import object_from_json
from weir.errors import InvalidProblem
from weir.model.mapping import (
    NOWHERE,
    FlowMap,
    FormerMap,
    Interests,
    MappingProblem,
    Moving,
    Weights,
)
from weir.reading import (
    LARGEST_NUMBER,
    SMALLEST_NUMBER,
    amount,
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
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from weir.clustering.adaptive import Point

MOST_STREAMS = 1_000_000
MOST_GROUPS = 1_000_000

_RESULT = (
    *("status", "cost", "transport_cost", "messaging_cost", "random_cost"),
    *("moved", "moved_streams", "pin_prices", "curve", "random", "flat"),
)
"""Members of a result that a former one may bring along."""


def mapping_from_json(raw: bytes) -> MappingProblem:
    """Return the checked problem that the bytes hold. Raises InvalidProblem."""
    with paused():
        return mapping_from_dict(object_from_json(raw))


def mapping_from_dict(obj: object) -> MappingProblem:
    """Return the checked problem, flows and users in the order of their ids.

    Raises InvalidProblem naming entry and field.
    """
    top = members(
        obj,
        "",
        ("flows", "users", "max_streams", "max_groups", "costs"),
        ("pins", "previous", "move_cost", "stream_move_cost", "moving"),
    )
    flows, rates_per_s = _flows(top["flows"])
    place = {name: at for at, name in enumerate(flows)}
    users, interests = _users(top["users"], place)
    max_streams = whole(top["max_streams"], "max_streams", least=1, most=MOST_STREAMS)
    max_groups = whole(top["max_groups"], "max_groups", least=1, most=MOST_GROUPS)
    pins = members(top.get("pins", {}), "pins", (), ("flow_to_stream", "stream_to_group"))
    move_cost = amount(top.get("move_cost", 0.0), "move_cost")
    return MappingProblem(
        flows=flows,
        rates_per_s=rates_per_s,
        users=users,
        interests=interests,
        max_streams=max_streams,
        max_groups=max_groups,
        weights=_weights(top["costs"]),
        pinned_stream=_pinned_streams(pins.get("flow_to_stream", {}), place, max_streams),
        pinned_group=_pinned_groups(pins.get("stream_to_group", {}), max_streams, max_groups),
        former=_former(top["previous"], place, max_streams, max_groups)
        if "previous" in top
        else None,
        move_cost=move_cost,
        stream_move_cost=amount(top.get("stream_move_cost", move_cost), "stream_move_cost"),
        moving=_moving(top["moving"]) if "moving" in top else None,
    )


def mapping_bytes(problem: MappingProblem) -> bytes:
    """Return the canonical JSON of the problem: equal problems give equal bytes."""
    flows, weights, former = problem.flows, problem.weights, problem.former
    starts, wanted = (column.tolist() for column in problem.interests.by_user)
    plain: dict[str, Any] = {
        "flows": [
            {"id": name, "rate": rate}
            for name, rate in zip(flows, problem.rates_per_s.tolist(), strict=True)
        ],
        "users": [
            {"id": name, "flows": [flows[flow] for flow in wanted[starts[at] : starts[at + 1]]]}
            for at, name in enumerate(problem.users)
        ],
        "max_streams": problem.max_streams,
        "max_groups": problem.max_groups,
        "costs": {
            "transport": weights.transport,
            "messaging": weights.messaging,
            "aggregation": weights.aggregation,
        },
        "pins": {
            "flow_to_stream": _streams_by_flow(flows, problem.pinned_stream),
            "stream_to_group": _groups_by_stream(problem.pinned_group),
        },
        "move_cost": problem.move_cost,
        "stream_move_cost": problem.stream_move_cost,
    }
    if former is not None:
        plain["previous"] = {
            "stream_of": _streams_by_flow(flows, former.stream_of),
            "group_of": _groups_by_stream(former.group_of),
        }
    if problem.moving is not None:
        plain["moving"] = asdict(problem.moving)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def mapping_result_to_dict(problem: MappingProblem, flow_map: FlowMap) -> dict[str, Any]:
    """Return the published form of an answer (docs/formats.md, Mapping)."""
    cost = filtering_cost(problem, flow_map.stream_of, flow_map.group_of)
    prices = pin_prices(problem, flow_map)
    return {
        "status": "solved" if flow_map.complete else "time_limit",
        "stream_of": _streams_by_flow(problem.flows, flow_map.stream_of),
        "group_of": _groups_by_stream(flow_map.group_of),
        "cost": cost.total,
        "transport_cost": cost.transport,
        "messaging_cost": cost.messaging,
        "random_cost": random_cost(problem),
        "moved": moved(problem, flow_map),
        "moved_streams": moved_streams(problem, flow_map),
        "pin_prices": {
            "flow_to_stream": {problem.flows[at]: price for at, price in prices.flows.items()},
            "stream_to_group": {str(stream): price for stream, price in prices.streams.items()},
        },
    }


def curve_to_list(problem: MappingProblem, points: Iterable[Point]) -> list[dict[str, Any]]:
    """Return the published form of a curve of cost against moves (docs/formats.md, Mapping).

    Of each map only what differs from the former one is given. Raises ValueError without one.
    """
    former = problem.former
    if former is None:
        raise ValueError("moves are counted from a former map, and there is none")
    plain = []
    for point in points:
        stream_of, group_of = point.flow_map.stream_of, point.flow_map.group_of
        cost = filtering_cost(problem, stream_of, group_of)
        fresh = np.where(stream_of != former.stream_of, stream_of, NOWHERE)
        regrouped = np.where(group_of != former.group_of, group_of, NOWHERE)
        plain.append(
            {
                "move_cost": point.move_cost if np.isfinite(point.move_cost) else None,
                "cost": cost.total,
                "transport_cost": cost.transport,
                "messaging_cost": cost.messaging,
                "moved": moved(problem, point.flow_map),
                "moved_streams": moved_streams(problem, point.flow_map),
                "stream_of": _streams_by_flow(problem.flows, fresh),
                "group_of": _groups_by_stream(regrouped),
            }
        )
    return plain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choices:
    """Maps among which a person may choose."""

    maps: tuple[FlowMap, ...]
    """By rising moves of flows and streams; where there is a curve its first map, which keeps the
    former one as far as it can, stands before all others."""
    proposed: int
    """Which of them the method gave."""


def choices_from_answer(problem: MappingProblem, plain: Mapping[str, Any]) -> Choices:
    """Return the maps that an answer of `weir.clustering.answer` holds: its own, the first of its
    curve, and those of the curve that are cheaper than all with as few moves.

    Costs and moves are those that the answer states. Raises InvalidProblem naming the member that
    does not belong to the problem.
    """
    place = {name: at for at, name in enumerate(problem.flows)}
    nowhere = FormerMap(
        stream_of=np.full(len(place), NOWHERE, dtype=np.int64),
        group_of=np.full(problem.max_streams, NOWHERE, dtype=np.int64),
    )
    own = _map_from_answer(problem, plain, nowhere, place, "")
    points = items(plain.get("curve", ()), "curve")
    if not points:
        return Choices(maps=(own,), proposed=0)
    if problem.former is None:
        raise InvalidProblem("curve", "begins at the former map, and the problem has none")
    chosen = (*_rank(plain, ""), False, own)
    first, *others = (
        (
            *_rank(point, f"curve[{at}]."),
            True,
            _map_from_answer(problem, point, problem.former, place, f"curve[{at}]."),
        )
        for at, point in enumerate(points)
    )
    if _equal(first[-1], own):
        first = chosen
    else:
        others.append(chosen)
    kept, lowest = [first[-1]], first[1]
    # Of two that come to the same, the method's own is the one to keep.
    for _, cost, of_curve, flow_map in sorted(others, key=lambda each: each[:3]):
        if cost < lowest or not of_curve:
            kept.append(flow_map)
            lowest = min(lowest, cost)
    return Choices(maps=tuple(kept), proposed=next(n for n, each in enumerate(kept) if each is own))


def _rank(plain: Mapping[str, Any], path: str) -> tuple[int, float]:
    """Return the moves of a map, of flows and of streams, and its cost, as they are stated."""
    moves = [whole(_stated(plain, name, path), path + name) for name in ("moved", "moved_streams")]
    cost = _stated(plain, "cost", path)
    # A cost may be larger than any number of a problem.
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < np.inf:
        raise InvalidProblem(f"{path}cost", f"must be a cost in work/s, not {shown(cost)}")
    return sum(moves), cost


def _stated(plain: Mapping[str, Any], name: str, path: str) -> Any:
    """Return a member of an answer, or of a point of its curve."""
    if name not in plain:
        raise InvalidProblem(f"{path}{name}", "is missing from the answer")
    return plain[name]


def _equal(one: FlowMap, other: FlowMap) -> bool:
    """Return whether two maps put everything in the same place."""
    return np.array_equal(one.stream_of, other.stream_of) and np.array_equal(
        one.group_of, other.group_of
    )


def _map_from_answer(
    problem: MappingProblem,
    plain: Mapping[str, Any],
    base: FormerMap,
    place: Mapping[str, int],
    path: str,
) -> FlowMap:
    """Return the map that differs from `base` in what the answer names."""
    wanted = problem.interests.audiences > 0
    stream_of, group_of = np.where(wanted, base.stream_of, NOWHERE), base.group_of.copy()
    streams_path, groups_path = f"{path}stream_of", f"{path}group_of"
    for name, stream in mapping(_stated(plain, "stream_of", path), streams_path).items():
        at = place.get(name)
        if at is None:
            raise InvalidProblem(member_path(streams_path, name), f"no flow {shown(name)}")
        stream_of[at] = _one_named(stream, streams_path, name, "stream", problem.max_streams)
    groups = mapping(_stated(plain, "group_of", path), groups_path)
    for name, group in groups.items():
        stream = _stream_key(name, groups_path)
        if stream >= problem.max_streams:
            raise InvalidProblem(member_path(groups_path, name), f"no stream {shown(stream)}")
        group_of[stream] = _one_named(group, groups_path, name, "group", problem.max_groups)
    mapped = stream_of != NOWHERE
    for at in np.flatnonzero(mapped != wanted)[:1].tolist():
        wrong = "is in no stream" if wanted[at] else "is in a stream, and nobody wants it"
        raise InvalidProblem(streams_path, f"flow {shown(problem.flows[at])} {wrong}")
    used = np.zeros(problem.max_streams, dtype=np.bool_)
    used[stream_of[mapped]] = True
    for stream in np.flatnonzero(used & (group_of == NOWHERE))[:1].tolist():
        raise InvalidProblem(groups_path, f"stream {stream} carries flows and is in no group")
    for name in groups:
        if not used[int(name)]:
            raise InvalidProblem(member_path(groups_path, name), "the stream carries nothing")
    return FlowMap(stream_of=stream_of, group_of=np.where(used, group_of, NOWHERE))


def _streams_by_flow(flows: Sequence[str], stream_of: NDArray[np.int64]) -> dict[str, int]:
    mapped = np.flatnonzero(stream_of != NOWHERE)
    streams = stream_of[mapped].tolist()
    return {flows[flow]: stream for flow, stream in zip(mapped.tolist(), streams, strict=True)}


def _groups_by_stream(group_of: NDArray[np.int64]) -> dict[str, int]:
    used = np.flatnonzero(group_of != NOWHERE)
    groups = group_of[used].tolist()
    return {str(stream): group for stream, group in zip(used.tolist(), groups, strict=True)}


def _weights(obj: object) -> Weights:
    given = members(obj, "costs", ("transport", "messaging", "aggregation"))
    aggregation = number(given["aggregation"], "costs.aggregation")
    if aggregation < 1:
        message = f"must be at least 1 message in a packet, but is {aggregation:g}"
        raise InvalidProblem("costs.aggregation", message)
    return Weights(
        transport=amount(given["transport"], "costs.transport"),
        messaging=amount(given["messaging"], "costs.messaging"),
        aggregation=aggregation,
    )


def _moving(obj: object) -> Moving:
    given = members(obj, "moving", ("flow_work", "stream_work", "horizon_s", "flows_per_s"))
    read = {name: amount(value, f"moving.{name}") for name, value in given.items()}
    for name in ("horizon_s", "flows_per_s"):
        if not read[name]:
            raise InvalidProblem(f"moving.{name}", "must be more than 0")
    return Moving(**read)


def _flows(obj: object) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return names in order and their rates."""
    names: list[str] = []
    rates: list[float] = []
    for at, entry in enumerate(items(obj, "flows")):
        # Of a million almost every entry is plain: only what is not is looked at again.
        if (
            type(entry) is dict
            and len(entry) == 2
            and type(name := entry.get("id")) is str
            and name
            and (type(rate := entry.get("rate")) is float or type(rate) is int)
            and (rate == 0 or SMALLEST_NUMBER <= rate <= LARGEST_NUMBER)
        ):
            names.append(name)
            rates.append(rate)
            continue
        given = members(entry, f"flows[{at}]", ("id", "rate"))
        names.append(identifier(given["id"], f"flows[{at}].id"))
        rates.append(amount(given["rate"], f"flows[{at}].rate"))
    if not names:
        raise InvalidProblem("flows", "must hold at least one flow")
    _check_names(names, "flows", "flow")
    order = sorted(range(len(names)), key=names.__getitem__)
    return tuple(names[at] for at in order), np.array(rates, dtype=np.float64)[order] + 0.0


def _check_names(names: Sequence[str], path: str, what: str) -> None:
    """Check that none is given twice, and that all can be written."""
    if len(set(names)) < len(names):
        unique(names, path, what)
    for at, name in enumerate(names):
        if not name.isascii():
            encodable(name, f"{path}[{at}].id")


def _users(obj: object, place: Mapping[str, int]) -> tuple[tuple[str, ...], Interests]:
    """Return names in order and who wants what."""
    names: list[str] = []
    counts: list[int] = []
    wanted: list[int] = []
    entries = items(obj, "users")
    for at, entry in enumerate(entries):
        if not (
            type(entry) is dict
            and len(entry) == 2
            and type(name := entry.get("id")) is str
            and name
            and type(flows := entry.get("flows")) is list
        ):
            given = members(entry, f"users[{at}]", ("id", "flows"))
            name = identifier(given["id"], f"users[{at}].id")
            flows = items(given["flows"], f"users[{at}].flows")
        names.append(name)
        counts.append(len(flows))
        try:
            wanted.extend([place[flow] for flow in flows])
        except (KeyError, TypeError):
            _refuse_unknown(flows, f"users[{at}].flows", place)
    if not names:
        raise InvalidProblem("users", "must hold at least one user")
    _check_names(names, "users", "user")
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    pairs = np.array(wanted, dtype=np.int64) * len(names) + np.repeat(rank, counts)
    pairs.sort()
    if np.any(pairs[1:] == pairs[:-1]):
        _refuse_repeated(entries)
    audiences = np.bincount(pairs // len(names), minlength=len(place))
    starts = np.concatenate([[0], np.cumsum(audiences)]).astype(np.int64)
    users = (pairs % len(names)).astype(np.int32)
    ordered = tuple(names[at] for at in order)
    return ordered, Interests(starts=starts, users=users, user_count=len(names))


def _refuse_unknown(flows: Sequence[object], path: str, place: Mapping[str, int]) -> None:
    """Raise InvalidProblem for the first of a user's flows that is none."""
    for at, flow in enumerate(flows):
        if not isinstance(flow, str):
            raise InvalidProblem(f"{path}[{at}]", f"must be the id of a flow, not {shown(flow)}")
        if flow not in place:
            raise InvalidProblem(f"{path}[{at}]", f"no flow {shown(flow)}")


def _refuse_repeated(entries: Sequence[Any]) -> None:
    """Raise InvalidProblem for the first flow that a user names twice."""
    for at, entry in enumerate(entries):
        unique(entry["flows"], f"users[{at}].flows", "flow")


def _pinned_streams(obj: object, place: Mapping[str, int], max_streams: int) -> NDArray[np.int64]:
    pinned = np.full(len(place), NOWHERE, dtype=np.int64)
    path = "pins.flow_to_stream"
    for name, stream in mapping(obj, path).items():
        at = place.get(name)
        if at is None:
            raise InvalidProblem(member_path(path, name), f"no flow {shown(name)}")
        pinned[at] = _one_of(stream, member_path(path, name), "stream", max_streams)
    return pinned


def _pinned_groups(obj: object, max_streams: int, max_groups: int) -> NDArray[np.int64]:
    pinned = np.full(max_streams, NOWHERE, dtype=np.int64)
    path = "pins.stream_to_group"
    for name, group in mapping(obj, path).items():
        stream = _stream_key(name, path)
        if stream >= max_streams:
            message = f"no stream {shown(stream)}; streams are 0 to {max_streams - 1}"
            raise InvalidProblem(member_path(path, name), message)
        pinned[stream] = _one_of(group, member_path(path, name), "group", max_groups)
    return pinned


def _former(obj: object, place: Mapping[str, int], max_streams: int, max_groups: int) -> FormerMap:
    """Return the map before; what is no longer there is not in it."""
    given = members(obj, "previous", ("stream_of", "group_of"), _RESULT)
    stream_of = np.full(len(place), NOWHERE, dtype=np.int64)
    path = "previous.stream_of"
    for name, value in mapping(given["stream_of"], path).items():
        stream = _index(value, path, name)
        if (at := place.get(name)) is not None and stream < max_streams:
            stream_of[at] = stream
    group_of = np.full(max_streams, NOWHERE, dtype=np.int64)
    path = "previous.group_of"
    for name, value in mapping(given["group_of"], path).items():
        stream, group = _stream_key(name, path), _index(value, path, name)
        if stream < max_streams and group < max_groups:
            group_of[stream] = group
    return FormerMap(stream_of=stream_of, group_of=group_of)


def _index(value: object, path: str, name: str) -> int:
    if type(value) is int and 0 <= value <= MOST_STREAMS:  # the plain case, a million times
        return value
    return whole(value, member_path(path, name))


def _stream_key(name: str, path: str) -> int:
    """Return the stream that a key names, however large."""
    if name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0") and len(name) < 400:
        return int(name)
    message = f"must be the number of a stream such as 0 or 12, not {shown(name)}"
    raise InvalidProblem(member_path(path, name), message)


def _one_named(value: object, path: str, name: str, what: str, count: int) -> int:
    """Return the number of a stream or group that a member gives."""
    if type(value) is int and 0 <= value < count:  # the plain case, a million times
        return value
    return _one_of(value, member_path(path, name), what, count)


def _one_of(value: object, path: str, what: str, count: int) -> int:
    """Return the number of a stream or group that there is."""
    at = whole(value, path)
    if at >= count:
        raise InvalidProblem(path, f"no {what} {shown(value)}; {what}s are 0 to {count - 1}")
    return at
