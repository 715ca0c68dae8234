"""Create, change and end people and tokens, each with its audit entry in one transaction."""

import hashlib
import secrets
import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.domain.names import display_name_error, username_error
from apps.accounts.domain.roles import Role, held
from apps.accounts.models import AccountGrant, ApiToken, User
from apps.audit.services import record
from apps.common.errors import ApplicationError, Conflict, check_version
from apps.common.events import publish
from apps.common.models import IDEMPOTENCY_KEYS_KEPT, IdempotencyKey

TOKEN_PREFIX = "weir_"
NOBODY = uuid.UUID(int=0)
COMMAND_LINE = "the command line"


def token_digest(secret: str) -> str:
    """Return what is stored of a token: the secret has 256 random bits, so one plain hash is
    enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        message = " ".join(error.messages)
        raise ApplicationError.of_field(
            "password", message, code="invalid_password", detail=message
        ) from error


def _check_name_free(username: str, user: User | None = None) -> None:
    others = User.objects.filter(username__iexact=username)
    others = others.exclude(pk=user.pk if user and user.pk else 0)
    if others.exists():
        message = f'"{username}" is taken; choose another name.'
        raise Conflict.of_field("username", message, code="username_taken", detail=message)


def _check_names(user: User, changed: Collection[str]) -> None:
    """Check changed names; existing names stay valid, whatever rules were added since."""
    wrong: dict[str, str] = {}
    if "username" in changed:
        wrong["username"] = username_error(user.username)
    parts = [name for name in ("first_name", "last_name") if name in changed]
    wrong |= {name: display_name_error(getattr(user, name)) for name in parts}
    if parts and not any(wrong.values()):
        wrong[parts[0]] = display_name_error(user.display_name)
    for field, message in wrong.items():
        if message:
            raise ApplicationError.of_field(field, message, code="invalid_name")


def _grant(user: User, giver: User | None, *kinds: str) -> None:
    """Record who gave these roles or password; what people give themselves changes no giver."""
    if giver is not None and giver.pk == user.pk:
        return
    AccountGrant.objects.bulk_create(
        [AccountGrant(person=user, what=what, by=giver) for what in kinds],
        update_conflicts=True,
        unique_fields=["person", "what"],
        update_fields=["by", "at"],
    )


@transaction.atomic
def user_create(
    *, username: str, password: str, roles: list[str], actor: User | None = None, **names: Any
) -> User:
    """Add a person. Raises ApplicationError when the name is taken or the password is weak.

    `actor` None: the command line.
    """
    user = User(username=username, roles=sorted(set(roles)), **names)
    _check_names(user, ["username", "first_name", "last_name"])
    _check_name_free(username)
    _check_password(password, user)
    user.set_password(password)
    user.save()
    _grant(user, actor, AccountGrant.PASSWORD, *user.roles)
    record(
        actor=actor,
        actor_name="" if actor else COMMAND_LINE,
        action="create",
        object_kind="user",
        object_id=user.public_id,
        object_name=user.username,
        after={"username": username, "roles": user.roles, "password": "(set)", **names},
    )
    return user


def automatic_account(name: str) -> User:
    """Return the account that Weir itself acts as, such as `schedule`; it has no permissions of its
    own.

    The colon keeps its name apart from people's, which hold none.
    """
    account, _ = User.objects.get_or_create(
        username=f"weir:{name}",
        automatic=True,
        defaults={
            "first_name": name.capitalize(),
            "is_active": False,
            "password": make_password(None),
        },
    )
    return account


@transaction.atomic
def user_update(
    *, user: User, expected_version: int, values: dict[str, Any], actor: User | None
) -> User:
    """Change a person's names, roles, password or right to sign in; one administrator always
    remains.

    A new password ends every session and token of the account.
    """
    # Locked together, in one order: two admins who demote each other cannot both succeed, and an
    # execution that looks at its approvers meanwhile waits, or we for it.
    locked = {
        row.pk: row
        for row in User.objects.select_for_update()
        .filter(Q(pk=user.pk) | Q(is_active=True, roles__contains=[Role.ADMIN.value]))
        .order_by("pk")
    }
    row = locked[user.pk]
    others = [pk for pk, other in locked.items() if pk != row.pk and other.is_active]
    was_admin = row.is_active and Role.ADMIN.value in row.roles
    check_version(row, expected_version)
    changes = dict(values)
    password = changes.pop("password", None)
    if "roles" in changes:
        changes["roles"] = sorted(set(changes["roles"]))
    before = {name: getattr(row, name) for name in changes}
    changed = [name for name, value in changes.items() if before[name] != value]
    for name in changed:
        setattr(row, name, changes[name])
    _check_names(row, changed)
    _check_name_free(row.username, row)
    still_admin = row.is_active and Role.ADMIN.value in row.roles
    if was_admin and not still_admin and not others:
        raise Conflict("last_admin", f"{row} is the only admin; make another one first.")
    if password:
        _set_password(row, password)
        _grant(row, actor, AccountGrant.PASSWORD)
    gained = set(row.roles) - set(before.get("roles", row.roles))
    AccountGrant.objects.filter(person=row, what__in=set(Role) - set(row.roles)).delete()
    _grant(row, actor, *gained)
    row.version += 1
    row.save()
    publish("session")
    secret = {"password": "(changed)"} if password else {}
    record(
        actor=actor,
        action="update",
        object_kind="user",
        object_id=row.public_id,
        object_name=row.username,
        before={name: before[name] for name in changed},
        after={name: changes[name] for name in changed} | secret,
    )
    return row


def _set_password(row: User, password: str) -> None:
    """Give a locked account a new password, which signs out its people and machines."""
    _check_password(password, row)
    row.set_password(password)
    ApiToken.objects.filter(owner=row, revoked_at=None).update(revoked_at=timezone.now())


@transaction.atomic
def password_change(*, user: User, current: str, password: str) -> User:
    """Change the caller's own password, which ends every session and token of the account.

    Raises ApplicationError naming `current` when it is not the password.
    """
    row = User.objects.select_for_update().get(pk=user.pk)
    if not row.check_password(current):
        message = "This is not your password."
        raise ApplicationError.of_field("current", message, code="wrong_password", detail=message)
    _set_password(row, password)
    row.version += 1
    row.save()
    publish("session")
    record(
        actor=row,
        action="change_password",
        object_kind="user",
        object_id=row.public_id,
        object_name=row.username,
        after={"password": "(changed)"},
    )
    return row


def sign_in_record(*, user: User | None, username: str, address: str) -> None:
    """Record who signed in, or that somebody was refused. An unknown name is not stored: people
    type passwords into that field."""
    known = user or User.objects.filter(username=username, automatic=False).first()
    record(
        actor=user,
        actor_name="" if user else "somebody",
        action="sign_in" if user else "refuse_sign_in",
        object_kind="session",
        object_id=known.public_id if known else NOBODY,
        object_name=known.username if known else "an account that does not exist",
        after={"address": address},
    )


@transaction.atomic
def sign_out_record(*, user: User, address: str) -> None:
    """Record who signed out; open streams of the session check whether it is theirs."""
    publish("session")
    record(
        actor=user,
        action="sign_out",
        object_kind="session",
        object_id=user.public_id,
        object_name=user.username,
        after={"address": address},
    )


@transaction.atomic
def token_create(
    *, owner: User, name: str, roles: list[str], expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """Make a token; return the secret once and never store it."""
    excess = sorted(set(roles) - held(owner.roles))
    if excess:
        message = f"You do not have the role {excess[0]} yourself."
        raise ApplicationError.of_field("roles", message, code="roles_exceed_owner", detail=message)
    if expires_at is not None and expires_at <= timezone.now():
        message = "This time is in the past."
        raise ApplicationError.of_field("expires_at", message, detail=message)
    if ApiToken.objects.filter(owner=owner, name=name).exists():
        message = f'You already have a token "{name}".'
        raise Conflict.of_field("name", message, code="token_name_taken", detail=message)
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        roles=sorted(set(roles)),
        expires_at=expires_at,
        prefix=secret[:12],
        digest=token_digest(secret),
    )
    _record_token(token, "create", owner)
    return token, secret


@transaction.atomic
def token_revoke(*, token: ApiToken, actor: User) -> None:
    """End a token at once; revoking twice changes nothing."""
    live = ApiToken.objects.filter(pk=token.pk, revoked_at=None)
    if live.update(revoked_at=timezone.now()):
        _record_token(token, "revoke", actor)


def _record_token(token: ApiToken, action: str, actor: User) -> None:
    values = {"owner": token.owner.username, "roles": token.roles, "expires_at": token.expires_at}
    record(
        actor=actor,
        action=action,
        object_kind="token",
        object_id=token.public_id,
        object_name=token.name,
        before=values if action == "revoke" else None,
        after=values if action == "create" else None,
    )


def requests_forget() -> int:
    """Run one tick of the coordinator: delete sessions that are over, and what was answered to
    requests with an Idempotency-Key long ago. Returns how many rows."""
    now = timezone.now()
    sessions, _ = Session.objects.filter(expire_date__lt=now).delete()
    keys, _ = IdempotencyKey.objects.filter(created_at__lt=now - IDEMPOTENCY_KEYS_KEPT).delete()
    return sessions + keys
