"""Read the rounds of a placement: placed, measured, placed again by what was measured.

The rounds are one line: each placement is based on the one before, and where several are based on
one, the latest goes on. At most one of a line counts as in force, the latest whose parts and lists
are: to place again may come to the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models.fields.json import KeyTransform

from apps.catalog.models import Quantity
from apps.executions.models import Setting
from apps.placements.domain.sentences import not_in_force
from apps.placements.models import Placement
from apps.placements.selectors.lists import assignments_of, lists_in_force
from apps.placements.selectors.parts import parts_in_force, parts_of
from apps.placements.selectors.problem import targets_of
from apps.placements.selectors.profiles import PartInForce, Profile, profile_of
from weir.actions import SettingKey
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.placement import MeasuredDelays, Objectives
from weir.model.plan import Value
from weir.placement.handover import Names, Part, part_steps
from weir.placement.options import Delays
from weir.placement.profiling import delays_of, judged, meets_measured

COLUMNS = (
    *("round", "created_at", "brokers", "moved", "topic_name"),
    *("p99_s", "mean_s", "slo_p99_s", "slo_mean_s"),
)

FITTED = ("speed_before_per_s", "speed_per_s", "fitted")
"""What is known of a broker once a placement was made by what was measured there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Hold one placement of a line, without the large rest of its outcome."""

    id: UUID
    name: str
    round: int
    created_at: datetime
    brokers: int
    moved: int
    p99_s: float | None
    mean_s: float | None
    slo_p99_s: float | None
    slo_mean_s: float | None
    topic_name: str
    shares: Sequence[Mapping[str, Any]]
    measured: Mapping[str, Any] | None
    """What it was made by: measured of the one before, as the kernel judged it."""

    @property
    def serving(self) -> list[Mapping[str, Any]]:
        """Return the shares of brokers that serve publishers."""
        return [share for share in self.shares if share["publishers"]]

    @property
    def objectives(self) -> Objectives:
        """Return what the topic was promised then."""
        return Objectives(p99_s=self.slo_p99_s, mean_s=self.slo_mean_s)


class Rounds:
    """Read the line of one placement, and what of it is in force and measured; each part when it
    is first needed."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._read: dict[tuple[str, str], dict[SettingKey, Value]] = {}

    @cached_property
    def line(self) -> list[Round]:
        """Return the placements before, this one, and those that were made of it, oldest first."""
        placement = self._placement
        edges = Placement.objects.filter(system=placement.system_id, based_on__isnull=False)
        former = dict(edges.order_by("pk").values_list("pk", "based_on"))
        latest = {before: after for after, before in former.items()}
        line = [placement.pk]
        for following in (former, latest):
            at = following.get(placement.pk)
            while at is not None:
                line.append(at)
                at = following.get(at)
        rows = Placement.objects.filter(pk__in=line).order_by("pk")
        return [
            Round(id=row.pop("public_id"), name=f"{Placement.LETTER}-{row.pop('number')}", **row)
            for row in rows.values(
                *("public_id", "number", *COLUMNS),
                shares=KeyTransform("shares", "outcome"),
                measured=KeyTransform("measured", "outcome"),
            )
        ]

    @cached_property
    def own(self) -> Round:
        """Return the placement itself."""
        return next(each for each in self.line if each.id == self._placement.public_id)

    @cached_property
    def in_force(self) -> Round | None:
        """Return the placement of the line that is in force."""
        return next((each for each in reversed(self.line) if self._is_in_force(each)), None)

    @cached_property
    def profile(self) -> Profile:
        """Return what is measured now of the placement in force."""
        if self.in_force is None:
            return Profile()
        now = self.in_force
        lists = self._lists(now.topic_name)
        parts = {
            share["broker"]: PartInForce(
                rate_per_s=share["token_rate_per_s"],
                size=share["bucket"],
                publishers=len(lists[share["broker"]]) if share["broker"] in lists else None,
            )
            for share in now.serving
        }
        return profile_of(self._placement.system, now.topic_name, parts, self.objectives_now)

    @cached_property
    def objectives_now(self) -> Objectives:
        """Return what the topic is promised now; what it was promised where it was deleted."""
        topic = self._placement.topic
        if topic is None:
            return self.own.objectives
        targets = targets_of(topic)
        return Objectives(
            p99_s=targets.get(Quantity.DELAY_P99_S), mean_s=targets.get(Quantity.DELAY_MEAN_S)
        )

    def objectives_of(self, each: Round) -> Objectives:
        """Return what one placement of the line is judged by: what is promised now where it is in
        force, else what was promised when it was made."""
        return self.objectives_now if each is self.in_force else each.objectives

    @property
    def speeds_per_s(self) -> dict[str, float]:
        """Return what brokers process as the rounds up to this placement showed, msg/s; without
        those at which nothing was ever fitted."""
        return {
            row["broker"]: row["speed_per_s"]
            for each in self.line[: self.line.index(self.own) + 1]
            for row in (each.measured or {"brokers": ()})["brokers"]
            if row["fitted"]
        }

    @property
    def topic_is_gone(self) -> str:
        """Return a sentence where the topic was deleted; else nothing."""
        if self._placement.topic_id is not None:
            return ""
        return (
            f"{self.own.topic_name}, whose publishers {self.own.name} places, was deleted. Place "
            "another topic."
        )

    @property
    def why_not_in_force(self) -> str:
        """Return why the placement is not the one in force, in a sentence; empty: it is."""
        own, now = self.own, self.in_force
        if own is now:
            return ""
        parts = self._parts(own.topic_name)
        return not_in_force(
            own.name,
            flow=own.topic_name,
            counted_only=not part_steps(parts, parts_of(own.shares, count_only=True)),
            others=not part_steps(parts, parts_of(own.shares)),
            instead=None if now is None else now.name,
            is_stale=self._placement.run.snapshot.model_version
            != self._placement.system.model_version,
        )

    @property
    def because(self) -> str:
        """Return why the placement cannot be placed again, in a sentence; empty: it can."""
        return self.topic_is_gone or self.why_not_in_force or self.profile.because

    def measured_of(self, each: Round) -> Mapping[str, Any] | None:
        """Return what was measured of one placement of the line: now where it is in force, else
        what the next one was made by."""
        objectives = self.objectives_of(each)
        if each is self.in_force and self.profile.delays:
            return _judged(each, objectives, self.profile.delays)
        at = self.line.index(each) + 1
        after = self.line[at].measured if at < len(self.line) else None
        if after is None:
            return None
        # The next one may have been made for other objectives, and by another contract.
        frozen = {row["broker"]: row for row in after["brokers"]}
        delays = {broker: delays_of(row) for broker, row in frozen.items()}
        return _judged(each, objectives, delays, fits=frozen)

    def _is_in_force(self, each: Round) -> bool:
        """Return whether brokers enforce its parts and, where lists are in force, let in whom it
        places there; whom it does not place may be let in anywhere."""
        # Nothing is left of a plan for its parts; a part of nothing may stay elsewhere.
        if part_steps(self._parts(each.topic_name), parts_of(each.shares)):
            return False
        lists = self._lists(each.topic_name)
        brokers = {name: broker for broker, names in lists.items() for name in names}
        placed = assignments_of(each.id) if lists else {}
        return all(brokers.get(name) == broker for name, broker in placed.items())

    def _parts(self, flow: str) -> dict[str, Part]:
        return parts_in_force(flow, self._settings(flow, BUCKET))

    def _lists(self, flow: str) -> dict[str, Names]:
        return lists_in_force(flow, self._settings(flow, PUBLISHERS))

    def _settings(self, flow: str, kind: str) -> Mapping[SettingKey, Value]:
        """Return what is in force of one kind of the flow; read once."""
        if (flow, kind) not in self._read:
            rows = Setting.objects.filter(
                system=self._placement.system_id,
                kind=kind,
                target__flow=flow,
                in_force__isnull=False,
            )
            self._read[flow, kind] = {
                (kind, key): value for key, value in rows.values_list("target_key", "in_force")
            }
        return self._read[flow, kind]


def rounds_of(placement: Placement) -> dict[str, Any]:
    """Return the line of the placement with what was predicted and measured of each, and whether
    it can be placed again."""
    rounds = Rounds(placement)
    rows = [
        {
            "placement": each.id,
            "name": each.name,
            "round": each.round,
            "created_at": each.created_at,
            "brokers": each.brokers,
            "moved": each.moved,
            "predicted_p99_s": each.p99_s,
            "predicted_mean_s": each.mean_s,
            "slo_p99_s": rounds.objectives_of(each).p99_s,
            "slo_mean_s": rounds.objectives_of(each).mean_s,
            "is_in_force": each is rounds.in_force,
            "measured": rounds.measured_of(each),
        }
        for each in rounds.line
    ]
    # Whoever places again and comes to the same has put nothing else in force to be measured.
    others = [
        before is None or _differ(before, each)
        for before, each in zip([None, *rounds.line], rounds.line, strict=False)
    ]
    fits = [each.measured for each in rounds.line if each.measured is not None]
    return {
        "results": rows,
        "can_place_again": not rounds.because,
        "because": rounds.because,
        "measured_rounds": sum(
            other and row["measured"] is not None for row, other in zip(rows, others, strict=True)
        ),
        "search_rounds": fits[-1]["search_rounds"] if fits else None,
    }


def _differ(before: Round, after: Round) -> bool:
    """Return whether the second placement changes what the first put in force."""
    return after.moved > 0 or parts_of(before.shares) != parts_of(after.shares)


def _judged(
    each: Round,
    objectives: Objectives,
    delays: Mapping[str, MeasuredDelays],
    fits: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return what was measured of a placement, judged as the kernel judges it; `fits`: what was
    fitted to that by broker, None while it is still measured."""
    if objectives.mean_s is None:
        # As it is frozen where it is placed again.
        delays = {name: row.without_mean() for name, row in delays.items()}
    rows = []
    for share in each.serving:
        broker = share["broker"]
        if broker not in delays:
            continue
        row = judged(
            broker,
            delays[broker],
            objectives,
            publishers=share["publishers"],
            expected_rate_per_s=share["rate_per_s"],
            token_rate_per_s=share["token_rate_per_s"],
            # Placements that are older than the mean have none.
            predicted=Delays(p99_s=share["p99_s"], mean_s=share.get("mean_s")),
        )
        if fits is not None:
            row |= {name: fits[broker][name] for name in FITTED}
        rows.append(row)
    all_measured = len(rows) == len(each.serving)
    return {
        "of": str(each.id),
        "meets": meets_measured([row["verdict"] for row in rows], all_measured=all_measured),
        "brokers": rows,
    }
