"""Store people and the hashed tokens of machines."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from apps.accounts.domain.roles import Permission, Role, held, permissions_of
from apps.common.models import BaseModel

ROLE_NAMES = [role.value for role in Role]


def role_choices() -> list[tuple[str, str]]:
    """Return the choices of roles; as a callable, so that a new role makes no migration."""
    return [(role.value, role.value.capitalize()) for role in Role]


class User(AbstractUser, BaseModel):
    """Store a person who signs in with a password."""

    roles: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=16, choices=role_choices), default=list, blank=True
    )
    automatic = models.BooleanField(
        default=False, editable=False, help_text="An account of Weir's own; nobody signs in as it."
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(roles__contained_by=ROLE_NAMES), name="user_roles_known"
            ),
            models.CheckConstraint(
                condition=Q(automatic=False) | Q(is_active=False, roles=[]),
                name="automatic_account_may_nothing",
            ),
            models.UniqueConstraint(Lower("username"), name="username_once_whatever_its_case"),
        ]

    def __str__(self) -> str:
        return self.username

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the row; what the framework writes of it alone, the last sign-in, is a change."""
        if kwargs.get("update_fields") is not None:
            kwargs["update_fields"] = {*kwargs["update_fields"], "updated_at"}
        super().save(*args, **kwargs)

    @property
    def display_name(self) -> str:
        """Return the full name, or the sign-in name where none is given."""
        return self.get_full_name() or self.username

    @property
    def permissions(self) -> frozenset[Permission]:
        """Return what this person may do."""
        return permissions_of(self.roles)


class AccountGrant(models.Model):
    """Record who gave an account its password or one of its roles.

    Only the latest giver is kept. `by` None: the command line, which whoever owns the machine has.
    """

    PASSWORD = "password"

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="grants")
    what = models.CharField(max_length=16, help_text="`password`, or the name of a role.")
    by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["person", "what"], name="one_giver_of_each_grant"),
            models.CheckConstraint(
                condition=Q(what__in=["password", *ROLE_NAMES]), name="grant_known"
            ),
            models.CheckConstraint(
                condition=Q(by=None) | ~Q(by=models.F("person")), name="nobody_grants_to_themselves"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.what} of {self.person}"


class ApiToken(BaseModel):
    """Store a machine's credential: only its SHA-256, with roles that never exceed its owner's."""

    name = models.CharField(max_length=100)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    roles: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=16, choices=role_choices), default=list, blank=True
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(roles__contained_by=ROLE_NAMES), name="token_roles_known"
            ),
            models.UniqueConstraint(fields=["owner", "name"], name="token_name_once_per_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def usable(self) -> bool:
        """Return whether it is neither revoked nor expired, and its owner may still sign in."""
        expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not expired and self.owner.is_active

    @property
    def permissions(self) -> frozenset[Permission]:
        """Return what the token may do: its roles, limited to those its owner has now."""
        return permissions_of(held(self.owner.roles) & set(self.roles))
