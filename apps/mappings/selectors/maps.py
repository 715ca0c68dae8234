"""Read one of the maps that a run computed: who receives what, who filters what, which flows
move."""

import json
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, overload
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from apps.common.computing import Queue, turn
from apps.mappings.models import Mapping
from weir.clustering.cost import map_in_force
from weir.clustering.reception import Reception, heat_matrix, reception, unwanted_flows
from weir.codec.mapping import choices_from_answer, mapping_from_json
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem
from weir.reading import shown

IN_FORCE = "in_force"
MOST_DEAREST = 50
"""Flows that reach one receiver unwanted, as many as are listed."""
MOST_KEPT = 40_000_000
"""Numbers of eight bytes that stay in memory, of all mappings that are kept."""
NAME_SIZE = 12
"""What a name and its place in tables take, in numbers of eight bytes."""

_LOADS = Queue("Another mapping is being read. Try again in a few seconds.", wait_s=20.0)

Ints = NDArray[np.int64]


class NotOfMapping(Exception):
    """Signal that a mapping has no such map, or no such subscriber."""


class MapOf:
    """One map of a mapping, with the problem that it was computed for."""

    def __init__(self, problem: MappingProblem, flow_map: FlowMap, former: FlowMap | None) -> None:
        """Take the map, and the one that was in force."""
        self.problem, self.flow_map, self._former = problem, flow_map, former

    def heat(self, *, rows: int, columns: int) -> dict[str, Any]:
        """Return receivers over groups, both in an order that puts like beside like."""
        names, of = self.problem.users, self._reception
        matrix = heat_matrix(of, rows=rows, columns=columns)
        by_user = of.by_user(of.unwanted_per_s) + of.by_user(of.dropped_per_s)
        by_group = of.by_group(of.unwanted_per_s) + of.by_group(of.dropped_per_s)
        return {
            "groups": [
                {
                    "numbers": groups.tolist(),
                    "streams": int(of.group_streams[groups].sum()),
                    "flows": int(of.group_flows[groups].sum()),
                    "rate_per_s": float(of.group_rates_per_s[groups].sum()),
                    "users": int(of.group_users[groups].sum()),
                    "unwanted_per_s": float(by_group[groups].sum()),
                }
                for groups in matrix.groups
            ],
            "rows": [
                {
                    "first": names[users[0]],
                    "last": names[users[-1]],
                    "users": len(users),
                    "unwanted_per_s": float(by_user[users].sum()),
                }
                for users in matrix.users
            ],
            "joined": matrix.joined.tolist(),
            "wanted_per_s": matrix.wanted_per_s.tolist(),
            "unwanted_per_s": matrix.unwanted_per_s.tolist(),
            "dropped_per_s": matrix.dropped_per_s.tolist(),
        }

    def receivers(self, order: str, search: str) -> Sequence[dict[str, Any]]:
        """Return what each receiver gets and filters; of equal ones the first by name."""
        chosen = _matching(self.problem.users, search)
        name = order.removeprefix("-")
        if order == "-user":  # users are in the order of their names
            chosen = chosen[::-1]
        elif name != "user":
            values = getattr(self._received, name)[chosen]
            chosen = chosen[np.argsort(values if name == order else -values, kind="stable")]
        return _Rows(chosen, self._receiver)

    def receiver(self, user: str) -> dict[str, Any]:
        """Return one receiver with what it filters and why. Raises NotOfMapping."""
        problem, flow_map = self.problem, self.flow_map
        at = bisect_left(problem.users, user)
        if at == len(problem.users) or problem.users[at] != user:
            raise NotOfMapping(f"This mapping has no subscriber {shown(user)}.")
        unwanted = unwanted_flows(problem, flow_map, at)
        dearest = []
        for flow, dropped, cost, because in zip(
            *(
                column[:MOST_DEAREST].tolist()
                for column in (unwanted.flows, unwanted.dropped, unwanted.costs, unwanted.because)
            ),
            strict=True,
        ):
            stream = int(flow_map.stream_of[flow])
            dearest.append(
                {
                    "flow": problem.flows[flow],
                    "rate_per_s": float(problem.rates_per_s[flow]),
                    "stream": stream,
                    "group": int(flow_map.group_of[stream]),
                    "layer": "transport" if dropped else "messaging",
                    "cost": cost,
                    "because": problem.flows[because],
                }
            )
        return {
            **self._receiver(at),
            "unwanted_flows": len(unwanted.flows),
            "dearest": dearest,
        }

    def moves(self, search: str) -> Sequence[dict[str, Any]]:
        """Return the flows that change their stream or group, get one, or lose it, the busiest
        first, then by name; none where no map was in force."""
        former, flow_map = self._former, self.flow_map
        if former is None:
            return ()
        places = [(each.stream_of, _groups_of_flows(each)) for each in (former, flow_map)]
        differ = np.any([before != now for before, now in zip(*places, strict=True)], axis=0)
        chosen = _matching(self.problem.flows, search, np.flatnonzero(differ))
        chosen = chosen[np.argsort(-self.problem.rates_per_s[chosen], kind="stable")]

        def move(flow: int) -> dict[str, Any]:
            before, now = ([_number(column[flow]) for column in columns] for columns in places)
            return {
                "flow": self.problem.flows[flow],
                "rate_per_s": float(self.problem.rates_per_s[flow]),
                "users": int(self.problem.interests.audiences[flow]),
                "from_stream": before[0],
                "from_group": before[1],
                "to_stream": now[0],
                "to_group": now[1],
            }

        return _Rows(chosen, move)

    def _receiver(self, user: int) -> dict[str, Any]:
        of = self._received
        return {
            "user": self.problem.users[user],
            "flows": int(of.flows[user]),
            "wanted_per_s": float(of.wanted_per_s[user]),
            "streams": int(self._reception.streams_taken[user]),
            "groups": int(self._reception.groups_joined[user]),
            "unwanted_per_s": float(of.unwanted_per_s[user]),
            "dropped_per_s": float(of.dropped_per_s[user]),
            "cost": float(of.cost[user]),
        }

    @cached_property
    def _reception(self) -> Reception:
        return reception(self.problem, self.flow_map)

    @cached_property
    def _received(self) -> "_Received":
        return _Received.of(self.problem, self._reception)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Received:
    """What each receiver gets of all groups together."""

    flows: Ints
    wanted_per_s: NDArray[np.float64]
    """What it asked for, whether it has a stream or not."""
    unwanted_per_s: NDArray[np.float64]
    dropped_per_s: NDArray[np.float64]
    cost: NDArray[np.float64]

    @classmethod
    def of(cls, problem: MappingProblem, received: Reception) -> "_Received":
        """Return the sums of a reception."""
        interests, weights = problem.interests, problem.weights
        rates_per_s = np.repeat(problem.rates_per_s, interests.audiences)
        count = interests.user_count
        wanted_per_s = np.bincount(interests.users, weights=rates_per_s, minlength=count)
        unwanted_per_s = received.by_user(received.unwanted_per_s)
        dropped_per_s = received.by_user(received.dropped_per_s)
        return cls(
            flows=np.bincount(interests.users, minlength=count),
            wanted_per_s=wanted_per_s.astype(np.float64, copy=False),
            unwanted_per_s=unwanted_per_s,
            dropped_per_s=dropped_per_s,
            cost=weights.packet_share * dropped_per_s + weights.messaging * unwanted_per_s,
        )


class _Rows(Sequence[dict[str, Any]]):
    """Rows of which only those are made that are looked at."""

    def __init__(self, places: Ints, row: Callable[[int], dict[str, Any]]) -> None:
        self._places, self._row = places, row

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(at, slice):
            return [self._row(place) for place in self._places[at].tolist()]
        return self._row(int(self._places[at]))


def _matching(names: Sequence[str], search: str, among: Ints | None = None) -> Ints:
    """Return the places of names that hold every word, rising."""
    words = search.casefold().split()
    places = np.arange(len(names)) if among is None else among
    if not words:
        return places
    holds = (all(word in names[at].casefold() for word in words) for at in places.tolist())
    return places[np.fromiter(holds, dtype=np.bool_, count=len(places))]


def _groups_of_flows(flow_map: FlowMap) -> Ints:
    mapped = flow_map.stream_of != NOWHERE
    return np.where(mapped, flow_map.group_of[flow_map.stream_of], NOWHERE)


def _number(place: np.int64) -> int | None:
    return None if place == NOWHERE else int(place)


class _Parsed:
    """The problem of a mapping with its maps, and the two that were looked at last."""

    def __init__(self, mapping: Mapping) -> None:
        """Read what was frozen and answered."""
        self.problem = mapping_from_json(bytes(mapping.run.snapshot.payload))
        answer = json.loads(bytes(mapping.run.result.payload))
        self._choices = choices_from_answer(self.problem, answer)
        self._former = map_in_force(self.problem)
        maps, streams = len(self._choices.maps) + 1, self.problem.max_streams
        # A user joins a group for each interest at most; each of two receptions has six columns.
        self.size = 14 * len(self.problem.interests.users)
        self.size += maps * (len(self.problem.flows) + streams)
        self.size += NAME_SIZE * (len(self.problem.flows) + len(self.problem.users))
        # A page reads the map that is chosen, and beside it the one that was in force.
        self._latest: tuple[MapOf, ...] = ()

    def map_of(self, name: str) -> MapOf:
        """Return the map of this name. Raises NotOfMapping."""
        flow_map, latest = self._flow_map(name), self._latest
        chosen = next((each for each in latest if each.flow_map is flow_map), None)
        if chosen is None:
            chosen = MapOf(self.problem, flow_map, self._former)
            self._latest = (chosen, *latest[:1])
        return chosen

    def _flow_map(self, name: str) -> FlowMap:
        maps = self._choices.maps
        if name == "":
            return maps[self._choices.proposed]
        if name == IN_FORCE:
            if self._former is None:
                raise NotOfMapping("No map was in force when this one was computed; leave it out.")
            return self._former
        if name.isascii() and name.isdecimal() and len(name) < 10 and int(name) < len(maps):
            return maps[int(name)]
        places = "0" if len(maps) == 1 else f"0 to {len(maps) - 1}"
        raise NotOfMapping(f"This mapping has no map {shown(name)}; give {IN_FORCE} or {places}.")


@dataclass(frozen=True, slots=True, eq=False)
class _Cache:
    """Mappings that were looked at last. What was frozen and answered never changes."""

    entries: "OrderedDict[UUID, _Parsed]" = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)

    def get(self, key: UUID) -> _Parsed | None:
        with self.lock:
            if key in self.entries:
                self.entries.move_to_end(key)
            return self.entries.get(key)

    def put(self, key: UUID, parsed: _Parsed) -> None:
        """Keep this one, whatever its size, and drop those that it leaves no room for."""
        with self.lock:
            self.entries[key] = parsed
            while len(self.entries) > 1 and self.size > MOST_KEPT:
                self.entries.popitem(last=False)

    @property
    def size(self) -> int:
        return sum(each.size for each in self.entries.values())


_CACHE = _Cache()


def map_of(mapping: Mapping, name: str) -> MapOf:
    """Return the map of this name: `in_force`, a place in the curve, or, empty, the proposed one.
    Raises NotOfMapping, and ApplicationError where others are read before it."""
    parsed = _CACHE.get(mapping.public_id)
    if parsed is None:
        # A page reads several things at once: the first request reads the mapping for all.
        with turn(_LOADS):
            parsed = _CACHE.get(mapping.public_id)
            if parsed is None:
                parsed = _Parsed(mapping)
                _CACHE.put(mapping.public_id, parsed)
    return parsed.map_of(name)
