"""The address of the rates of flows, now."""

from django.urls import path

from apps.rate_control.api.views import FlowStatusView

paths = [path("flow-status", FlowStatusView.as_view())]
