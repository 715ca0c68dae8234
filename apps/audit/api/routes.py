"""Addresses of the audit record."""

from rest_framework.routers import BaseRouter

from apps.audit.api.views import AuditViewSet


def register(router: BaseRouter) -> None:
    router.register("audit", AuditViewSet)
