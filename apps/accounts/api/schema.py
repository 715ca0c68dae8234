"""Add to the published schema which roles an operation needs, and how it may refuse a request."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework.permissions import SAFE_METHODS

from apps.accounts.api.permissions import RolePermission
from apps.accounts.domain.roles import GRANTS, Permission, Role, granting
from apps.common.api.preconditions import IDEMPOTENCY_KEY, IF_NONE_MATCH
from apps.common.api.schema import REPLAYED, error_statuses, problem_reference

EVERYBODY = GRANTS[Role.VIEWER]
SENTENCE_END = re.compile(r"(?<=[.;])\s")


class RoleSchema(AutoSchema):
    """Say of every operation who may call it, as `x-weir-roles` and at the end of its description,
    and which statuses it may answer."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the operation with its roles and every status that it may answer."""
        operation: dict[str, Any] = super().get_operation(*args, **kwargs) or {}
        if operation:
            operation["x-weir-roles"] = self.roles()
            statuses = set(error_statuses(self.view, self.method, operation))
            if self._restricted():
                statuses |= {"403"} if self.method in SAFE_METHODS else {"403", "409"}
            if any(one["name"] == IDEMPOTENCY_KEY.name for one in operation.get("parameters", ())):
                for status, response in operation["responses"].items():
                    if status.startswith("2"):
                        response.setdefault("headers", {})["Idempotency-Replayed"] = REPLAYED
            for status in sorted(statuses):
                operation["responses"].setdefault(status, problem_reference(status))
        return operation

    def get_override_parameters(self) -> list[Any]:
        """Return what the method declares, and what callers send who ask again."""
        parameters = list(super().get_override_parameters())
        name = getattr(self.view, "action", None) or self.method.lower()
        if getattr(getattr(self.view, name, None), "takes_idempotency_key", False):
            parameters.append(IDEMPOTENCY_KEY)
        if self.method == "GET" and name not in getattr(self.view, "never_alike", ()):
            parameters.append(IF_NONE_MATCH)
        return parameters

    def get_summary(self) -> str:
        """Return the first sentence of the description, without its full stop."""
        return SENTENCE_END.split(" ".join(self._text().split()), maxsplit=1)[0].rstrip(".;")

    def get_description(self) -> str:  # type: ignore[override]
        """Return what the view's `words` say of the action, else its docstring; then `Role:
        editor.`"""
        return f"{self._text()}\n\nRole: {self._sentence()}"

    def _text(self) -> str:
        action = getattr(self.view, "action", "")
        return getattr(self.view, "words", {}).get(action) or super().get_description() or ""

    def _sentence(self) -> str:
        if not self._needs_sign_in():
            return "none; nobody has to sign in."
        return f"{' or '.join(self.roles())}." if self._restricted() else "any."

    def roles(self) -> list[str]:
        """Return the roles each of which is enough; none where nobody has to sign in."""
        if not self._needs_sign_in():
            return []
        return [role.value for role in granting(self._need())]

    def _needs_sign_in(self) -> bool:
        return RolePermission in self.view.permission_classes

    def _restricted(self) -> bool:
        return self._needs_sign_in() and self._need() not in EVERYBODY

    def _need(self) -> Permission:
        method = self.method.lower()
        need = getattr(self.view, "needs", {}).get(getattr(self.view, "action", method))
        if need is None:
            assert self.method in SAFE_METHODS, f"{self.method} {self.path}: nobody may"
            need = Permission.READ
        return Permission(need)
