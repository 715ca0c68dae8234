"""The address of what a person is told."""

from django.urls import path

from apps.notifications.api.views import NotificationsView

paths = [path("session/notifications", NotificationsView.as_view())]
