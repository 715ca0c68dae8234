"""Refuse edits of the model that would contradict the settings of agents, and name those settings.

What agents carry, serve and limit is identified by name, because brokers and clients know it by
name. An edit may add to the model and remove from it: the next plan carries that out. It may not
rename what is in force, nor delete a broker beside which an agent runs.
"""

from django.apps import apps
from django.db.models import Q
from django.utils.module_loading import import_string

from apps.common.errors import Conflict
from apps.common.formatting import counted
from apps.systems.models import Entity, System
from weir.lifecycle.executions import ACTIVE
from weir.lifecycle.plans import PlanState

KINDS = {
    "adapt_parts": "parts of the bucket of {flow} follow its traffic",
    "assign_publishers": "publishers of {flow} are let in at {broker} by a list",
    "carry_flow": "{flow} is carried",
    "serve_class": "{class} is served at {broker}",
    "set_bucket": "{flow} has a part of its bucket at {broker}",
    "set_flow_rate": "{flow} is limited at {broker}",
    "set_population": "{class} is limited at {broker}",
}
NEXT = {
    "flow": "Add a topic with the new name, carry out its plan and move the clients; then delete "
    "this one.",
    "class": "Add a class with the new name, carry out its plan and move the clients; then delete "
    "this one.",
    "publisher": "Add a publisher with the new name, place its topic, carry out that plan and move "
    "the client; then delete this one.",
    "broker": "Revoke its agent, move its topics and classes, and carry out the plan of the model "
    "first.",
}
LISTED = "{flow} takes it at {broker}"
UNDER_WAY = frozenset({PlanState.PENDING_REVIEW, PlanState.APPROVED, PlanState.EXECUTING})
SHOWN = 3


def refuse_rename(row: Entity, name: str) -> None:
    """Raise Conflict `in_force` where agents know the object by its present name."""
    if row.enforced_as and name != row.name:
        what = _in_force(row)
        if what:
            message = f"{row} keeps its name: {what}. {NEXT[row.enforced_as]}"
            raise Conflict.of_field("name", message, code="in_force", detail=message)


def refuse_delete(row: Entity) -> None:
    """Raise Conflict `in_force` for a broker that has an agent or enforces something.

    Topics, classes and publishers may go: what agents carry, serve and let in of them ends with the
    next plan.
    """
    if row.enforced_as == "broker":
        what = _in_force(row)
        if what:
            raise Conflict("in_force", f"{row} cannot be deleted: {what}. {NEXT['broker']}")


def _in_force(row: Entity) -> str:
    """Return the settings of agents that name the object, such as `tides is carried`; empty where
    the system has no enrolled agent."""
    member, name = row.enforced_as, row.name
    sentences: list[str] = []
    agents = row.system.agents.filter(revoked_at=None)
    if not agents.exists():
        return ""
    if member == "broker" and agents.filter(broker=row.pk).exists():
        sentences.append("an agent is enrolled for it")
    if member == "broker":
        tree = row.system.overlay_set.filter(in_force=True)
        if tree.filter(Q(edges__a=row.pk) | Q(edges__b=row.pk)).exists():
            sentences.append("the agents of its neighbours know it by this name")
    if member == "publisher":
        named = Q(in_force__publishers__contains=[name]) | Q(desired__publishers__contains=[name])
        lists = row.system.settings.filter(named).order_by("id")
        return ", ".join(
            LISTED.format(**target) for target in lists.values_list("target", flat=True)
        )
    for setting in row.system.settings.exclude(in_force=None, desired=None).order_by("kind", "id"):
        values = (setting.target, setting.in_force or {}, setting.desired or {})
        if any(value.get(member) == name for value in values):
            sentences.append(KINDS[setting.kind].format(**setting.target))
    if len(sentences) > SHOWN:
        sentences[SHOWN:] = [
            f"{counted(len(sentences) - SHOWN, 'more setting is', 'more settings are')} in force"
        ]
    return ", ".join(sentences)


def refuse_system_rename(system: System, name: str) -> None:
    """Raise Conflict `agents_are_enrolled` where agents know the system by its name."""
    count = system.agents.filter(revoked_at=None).count()
    if name != system.name and count:
        message = f"{_agents(count)} {system} by this name. Revoke {_them(count)} first."
        raise Conflict.of_field("name", message, code="agents_are_enrolled", detail=message)


def refuse_system_delete(system: System) -> None:
    """Raise Conflict where agents, an execution or a plan still depend on the system, or what an
    app above says: its `AppConfig` names a function as `checks_deleting_systems`, which takes the
    system and returns a sentence."""
    count = system.agents.filter(revoked_at=None).count()
    if count:
        raise Conflict(
            "agents_are_enrolled",
            f"{_agents(count)} {system}, and would be cut off. Revoke {_them(count)} first.",
        )
    execution = system.executions.filter(state__in=sorted(ACTIVE)).first()
    if execution is not None:
        raise Conflict("system_is_busy", f"{execution} still changes {system}. Stop it first.")
    plan = system.plans.filter(state__in=sorted(UNDER_WAY)).first()
    if plan is not None:
        raise Conflict(
            "plans_under_way",
            f"{plan} of {system} is {plan.state.replace('_', ' ')}. Discard it first.",
        )
    for config in apps.get_app_configs():
        path = getattr(config, "checks_deleting_systems", "")
        sentence: str = import_string(path)(system) if path else ""
        if sentence:
            raise Conflict("still_in_use", sentence)


def _agents(count: int) -> str:
    return counted(count, "agent is enrolled and knows", "agents are enrolled and know")


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
