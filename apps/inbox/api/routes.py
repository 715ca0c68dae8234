"""The address of the inbox."""

from django.urls import path

from apps.inbox.api.views import InboxView

paths = [path("inbox", InboxView.as_view())]
