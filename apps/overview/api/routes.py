"""The address of the overview."""

from django.urls import path

from apps.overview.api.views import OverviewView

paths = [path("overview", OverviewView.as_view())]
