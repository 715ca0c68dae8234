"""Make, change and end people and tokens."""

import hashlib
import secrets
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.roles import Role
from apps.common.errors import ApplicationError, Conflict, FieldError, PreconditionFailed

TOKEN_PREFIX = "weir_"


def token_digest(secret: str) -> str:
    """What is stored of a token: the secret has 256 random bits, so one plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ApplicationError(
            "invalid_password",
            " ".join(error.messages),
            errors=[FieldError(field="password", message=" ".join(error.messages))],
        ) from error


def _check_name_free(username: str, user: User | None = None) -> None:
    others = User.objects.filter(username=username).exclude(pk=user.pk if user and user.pk else 0)
    if others.exists():
        message = f'"{username}" is taken; choose another name.'
        raise Conflict(
            "username_taken", message, errors=[FieldError(field="username", message=message)]
        )


@transaction.atomic
def user_create(*, username: str, password: str, roles: list[str], **names: Any) -> User:
    """Add a person. Raises ApplicationError when the name is taken or the password is weak."""
    _check_name_free(username)
    user = User(username=username, roles=sorted(set(roles)), **names)
    _check_password(password, user)
    user.set_password(password)
    user.save()
    return user


def automatic_account(name: str) -> User:
    """The account in whose name Weir itself acts, such as `schedule`; it may do nothing itself.

    The colon keeps its name apart from people's, which hold none.
    """
    account, _ = User.objects.get_or_create(
        username=f"weir:{name}",
        defaults={
            "first_name": name.capitalize(),
            "is_active": False,
            "automatic": True,
            "password": make_password(None),
        },
    )
    return account


@transaction.atomic
def user_update(*, user: User, expected_version: int, values: dict[str, Any]) -> User:
    """Change a person's names, roles, password or right to sign in; one admin always remains."""
    # Locked in one order, so that two admins who demote each other cannot both succeed.
    active = list(
        User.objects.select_for_update()
        .filter(is_active=True, roles__contains=[Role.ADMIN.value])
        .order_by("pk")
    )
    row = User.objects.select_for_update().get(pk=user.pk)
    if row.version != expected_version:
        raise PreconditionFailed(
            "version_mismatch", f"{row} was changed meanwhile (version {row.version}). Reload."
        )
    password = values.pop("password", None)
    for name, value in values.items():
        setattr(row, name, value)
    _check_name_free(row.username, row)
    row.roles = sorted(set(row.roles))
    still_admin = row.is_active and Role.ADMIN.value in row.roles
    if not still_admin and [a.pk for a in active] == [row.pk]:
        raise Conflict("last_admin", f"{row} is the only admin; make another one first.")
    if password:
        _check_password(password, row)
        row.set_password(password)
    row.version += 1
    row.save()
    return row


@transaction.atomic
def token_create(
    *, owner: User, name: str, roles: list[str], expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """Make a token; the secret is returned once and never stored."""
    excess = sorted(set(roles) - set(owner.roles))
    if excess:
        message = f"You do not have the role {excess[0]} yourself."
        raise ApplicationError(
            "roles_exceed_owner", message, errors=[FieldError(field="roles", message=message)]
        )
    if expires_at is not None and expires_at <= timezone.now():
        message = "Lies in the past."
        raise ApplicationError(
            "invalid", message, errors=[FieldError(field="expires_at", message=message)]
        )
    if ApiToken.objects.filter(owner=owner, name=name).exists():
        message = f'You already have a token "{name}".'
        raise Conflict(
            "token_name_taken", message, errors=[FieldError(field="name", message=message)]
        )
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        roles=sorted(set(roles)),
        expires_at=expires_at,
        prefix=secret[:12],
        digest=token_digest(secret),
    )
    return token, secret


def token_revoke(*, token: ApiToken) -> None:
    """End a token at once; revoking twice changes nothing."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
