"""Addresses of what people and channels of chats are told."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.notifications.api.views import ChannelViewSet, NotificationsView


def register(router: BaseRouter) -> None:
    router.register("channels", ChannelViewSet)


paths = [path("session/notifications", NotificationsView.as_view())]
