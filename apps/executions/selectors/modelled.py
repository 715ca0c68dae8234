"""Read what the model asks of the agents, as settings: flows to carry, classes to serve.

Agents do not hear of it. It is compared with what is in force, and a plan brings the difference
to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.catalog.models import ConsumerClass, Topic
from apps.systems.models import System
from weir.actions import SettingKey, target_key
from weir.model.plan import Value

FLOW, CLASS = "carry_flow", "serve_class"
STRUCTURE = frozenset({FLOW, CLASS})
"""The kinds of settings that say what there is, beside those that say how much of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Hold one setting that the model asks for."""

    kind: str
    target: Mapping[str, str]
    value: Value

    @property
    def key(self) -> SettingKey:
        """Return the key of the setting."""
        return self.kind, target_key(self.target)


def asked_by_model(system: System) -> dict[SettingKey, Asked]:
    """Return every flow and class of the model; two queries."""
    topics = Topic.objects.filter(system=system).values_list("name", "delivery", "source__name")
    asked = [
        Asked(
            kind=FLOW,
            target={"flow": name},
            value={"delivery": delivery, "broker": source or ""},
        )
        for name, delivery, source in topics.order_by("name")
    ]
    rows = ConsumerClass.objects.filter(system=system)
    asked += [
        Asked(kind=CLASS, target={"class": name, "broker": broker}, value={"flow": flow})
        for name, flow, broker in rows.order_by("name").values_list(
            "name", "topic__name", "broker__name"
        )
    ]
    return {row.key: row for row in asked}
