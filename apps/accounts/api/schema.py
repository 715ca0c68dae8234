"""Says in the published schema which roles an operation needs."""

from drf_spectacular.openapi import AutoSchema
from rest_framework.permissions import SAFE_METHODS

from apps.accounts.api.permissions import RolePermission
from apps.accounts.domain.roles import GRANTS, Permission, Role

EVERYBODY = GRANTS[Role.VIEWER]


class RoleSchema(AutoSchema):
    """Ends the description of what not everybody may do with the roles that may."""

    def get_description(self) -> str:  # type: ignore[override]
        """The view's own sentence, then `Role: editor.`"""
        said: str = super().get_description() or ""
        roles = self._roles()
        return f"{said}\n\nRole: {' or '.join(roles)}." if roles else said

    def _roles(self) -> list[str]:
        if RolePermission not in self.view.permission_classes:
            return []
        method = self.method.lower()
        need = getattr(self.view, "needs", {}).get(getattr(self.view, "action", method))
        if need is None:
            assert self.method in SAFE_METHODS, f"{self.method} {self.path}: nobody may"
            need = Permission.READ
        if need in EVERYBODY:
            return []
        return [role.value for role in Role if need in GRANTS[role]]
