"""Check permissions with one class for every endpoint: a view says what each of its actions
needs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.accounts.domain.roles import Permission, granting, permissions_of
from apps.accounts.models import ApiToken, User

if TYPE_CHECKING:
    # At run time this module is imported while rest_framework.views is still being loaded.
    from rest_framework.views import APIView


def granted(request: Request) -> frozenset[Permission]:
    """Return the caller's permissions: the token's where there is one, else the person's."""
    if isinstance(request.auth, ApiToken):
        return request.auth.permissions
    return request.user.permissions if isinstance(request.user, User) else frozenset()


def actor_of(request: Request) -> User:
    """Return who acts. Every command needs a permission, so somebody is signed in."""
    assert isinstance(request.user, User)
    return request.user


def what_is_missing(request: Request, need: Permission) -> str:
    """Return the sentence that refuses a caller who lacks a permission: it names the roles that
    have it, and of a token whether its owner has it."""
    names = " or ".join(f'"{role}"' for role in granting(need))
    needs = f"This needs the role {names}"
    token = request.auth
    if not isinstance(token, ApiToken):
        return f"{needs}, which your account lacks."
    if need in token.owner.permissions:
        return f"{needs}, which this token lacks; its owner has it and can make a token with it."
    if need in permissions_of(token.roles):
        return f"{needs}, which the owner of this token has no more."
    return f"{needs}, which this token and its owner lack."


class RolePermission(BasePermission):
    """Require READ for reads and what the view's `needs` names for any other action, or refuse
    it."""

    message = "Nobody may do this."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        needs: Mapping[str, Permission] = getattr(view, "needs", {})
        method = (request.method or "").lower()
        name = getattr(view, "action", method)
        if name is None or not hasattr(view, method):
            # The view does not offer the action and answers 405 itself.
            return Permission.READ in granted(request)
        need = needs.get(name)
        if need is None:
            if request.method not in SAFE_METHODS:
                return False
            need = Permission.READ
        self.message = what_is_missing(request, need)
        return need in granted(request)
