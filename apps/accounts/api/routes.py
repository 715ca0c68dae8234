"""Addresses of people, sessions and tokens."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.accounts.api.views import PasswordView, SessionView, TokenViewSet, UserViewSet


def register(router: BaseRouter) -> None:
    router.register("users", UserViewSet)
    router.register("tokens", TokenViewSet)


paths = [
    path("session", SessionView.as_view()),
    path("session/password", PasswordView.as_view()),
]
