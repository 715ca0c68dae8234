"""Create and change policies, each change with a version and an entry in the audit; stop what Weir
does by itself, and let it go on."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from django.apps import apps
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, check_version
from apps.common.events import publish
from apps.policies.domain.terms import (
    DEFAULT_TERMS,
    ApprovalRule,
    AutoExecute,
    Effect,
    Terms,
    Window,
)
from apps.policies.domain.windows import cron_error, timezone_error
from apps.policies.models import AutomaticStop, Policy, PolicyRule, PolicyWindow
from apps.policies.selectors import policy_rows, stop_now, terms_of
from apps.systems.models import System

LISTS = ("approval_rules", "windows")
AUTO_APPROVAL = tuple(
    spec.name for spec in fields(Terms) if spec.name.startswith(("auto_approve_", "auto_execute"))
)


@transaction.atomic
def policy_for(system: System | None) -> Policy:
    """Return the system's policy row, or the installation's default; made on demand."""
    row = policy_rows().filter(system=system).first()
    if row is not None:
        return row
    # A twin request may have made it meanwhile: the constraint keeps one, both get that one.
    created, is_new = Policy.objects.get_or_create(
        system=system, defaults={"inherits": system is not None}
    )
    if is_new:
        _write(created, DEFAULT_TERMS)
    return policy_rows().get(pk=created.pk)


@transaction.atomic
def policy_update(
    *,
    policy: Policy,
    actor: User | None,
    expected_version: int,
    values: Mapping[str, Any],
    reason: str = "",
) -> Policy:
    """Change the given members; lists are replaced as a whole.

    A policy that inherited starts from the default's terms and no longer inherits; `inherits` true
    gives its own terms up. Raises PreconditionFailed when somebody else changed it meanwhile,
    ApplicationError naming the field.
    """
    row = Policy.objects.select_for_update(of=("self",)).get(pk=policy.pk)
    check_version(row, expected_version, f"The {row}")
    changes = dict(values)
    inherits = changes.pop("inherits", False)
    if inherits and row.system_id is None:
        raise ApplicationError.of_field(
            "inherits", "The installation's default has nothing to inherit from."
        )
    if inherits and changes:
        raise ApplicationError.of_field(
            "inherits", "Either inherit the default, or give values of its own."
        )
    before = _plain(row.inherits, terms_of(row))
    terms = terms_of(row) if not inherits else row.own_terms
    terms = replace(terms, **{name: _typed(name, value) for name, value in changes.items()})
    _check(terms)
    row.inherits = bool(inherits)
    row.version += 1
    effective = terms_of(row) if inherits else terms
    if any(getattr(effective, name) != before[name] for name in AUTO_APPROVAL):
        row.auto_approval_by = actor
    elif before["inherits"] and not inherits:
        row.auto_approval_by = _takes_over(row, actor)
    _write(row, terms)
    fresh = policy_rows().get(pk=row.pk)
    after = _plain(fresh.inherits, terms_of(fresh))
    moved = [name for name in after if after[name] != before[name]]
    record(
        actor=actor,
        action="update",
        object_kind="policy",
        object_id=row.public_id,
        object_name=str(row),
        system_id=row.system.public_id if row.system else None,
        model_version=row.system.model_version if row.system else None,
        before={name: before[name] for name in moved},
        after={name: after[name] for name in moved},
        reason=reason,
    )
    publish("policy", id=row.public_id, system=row.system.public_id if row.system else None)
    _followed()
    return fresh


@transaction.atomic
def automatic_stop(*, actor: User, reason: str) -> AutomaticStop:
    """Stop everything that Weir does by itself, in all systems: what runs stops at a safe point.

    Raises ApplicationError without a reason, Conflict `already_stopped`.
    """
    if not reason.strip():
        raise ApplicationError.of_field("reason", "Say why, for those who find it stopped.")
    try:
        with transaction.atomic():
            row = AutomaticStop.objects.create(stopped_by=actor, reason=reason.strip())
    except IntegrityError as error:
        stop = stop_now()
        who = f" by {stop.stopped_by.display_name}" if stop else ""
        raise Conflict("already_stopped", f"Automatic action is stopped already{who}.") from error
    _stop_changed(row, actor, "stop", row.reason)
    return row


@transaction.atomic
def automatic_resume(*, stop: AutomaticStop, actor: User, reason: str = "") -> AutomaticStop:
    """Let Weir do again by itself what policies, schedules and triggers say.

    Raises Conflict `not_in_this_state` where this stop has ended.
    """
    row = AutomaticStop.objects.select_for_update(of=("self",)).get(pk=stop.pk)
    if row.ended_at is not None:
        raise Conflict("not_in_this_state", f"The {row} has ended already.")
    row.ended_at, row.ended_by, row.end_reason = timezone.now(), actor, reason.strip()
    row.save()
    _stop_changed(row, actor, "resume", row.end_reason)
    return row


def _stop_changed(row: AutomaticStop, actor: User, action: str, reason: str) -> None:
    record(
        actor=actor,
        action=action,
        object_kind="automatic_stop",
        object_id=row.public_id,
        object_name="everything automatic",
        reason=reason,
    )
    publish("automatic_stop", id=row.public_id)
    _followed()


def _followed() -> None:
    for path in followers():
        transaction.on_commit(import_string(path), robust=True)


def followers() -> Iterator[str]:
    """Return what acts at once on a changed policy or stop: apps above this one name it.

    An `AppConfig` does so as `follows_policies = ("apps.plans.services.windows_hold",)`.
    """
    for config in apps.get_app_configs():
        yield from getattr(config, "follows_policies", ())


def _takes_over(row: Policy, actor: User | None) -> User | None:
    """Return who has decided what is approved without a person, where the default's bounds become
    the system's own unchanged: the person who wrote them, or who let the system follow them."""
    default = Policy.objects.filter(system=None).select_related("auto_approval_by").first()
    deciders = [default.auto_approval_by if default else None, row.auto_approval_by]
    if actor is not None and actor in deciders:
        return actor
    return next((person for person in deciders if person is not None), None)


def _typed(name: str, value: Any) -> Any:
    if name == "approval_rules":
        return tuple(
            rule if isinstance(rule, ApprovalRule) else ApprovalRule(**rule) for rule in value
        )
    if name == "windows":
        return tuple(
            window
            if isinstance(window, Window)
            else Window(**{**window, "effect": Effect(window["effect"])})
            for window in value
        )
    if name == "auto_execute":
        return AutoExecute(value)
    return value


def _check(terms: Terms) -> None:
    """Check what no constraint of the database can say."""
    if not terms.approval_rules:
        raise ApplicationError.of_field(
            "approval_rules", "At least one rule; it decides what needs approval."
        )
    for index, window in enumerate(terms.windows):
        for name, message in (
            ("cron", cron_error(window.cron)),
            ("timezone", timezone_error(window.timezone)),
        ):
            if message:
                raise ApplicationError.of_field(f"windows[{index}].{name}", message)


def _write(row: Policy, terms: Terms) -> None:
    for spec in fields(terms):
        if spec.name not in LISTS:
            setattr(row, spec.name, getattr(terms, spec.name))
    row.save()
    PolicyRule.objects.filter(policy=row).delete()
    PolicyWindow.objects.filter(policy=row).delete()
    PolicyRule.objects.bulk_create(
        PolicyRule(policy=row, position=position, **asdict(rule))
        for position, rule in enumerate(terms.approval_rules)
    )
    PolicyWindow.objects.bulk_create(
        PolicyWindow(policy=row, position=position, **asdict(window))
        for position, window in enumerate(terms.windows)
    )


def _plain(inherits: bool, terms: Terms) -> dict[str, Any]:
    return {"inherits": inherits, **asdict(terms)}
