"""Addresses of batches of records, of what was set aside, and of how records are kept."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.records.api.metrics import OtlpMetricsView, PrometheusView
from apps.records.api.views import (
    RecordBatchViewSet,
    RecordCountsView,
    RecordSettingsViewSet,
    SetAsideViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("record-batches", RecordBatchViewSet)
    router.register("set-aside-records", SetAsideViewSet)
    router.register("record-settings", RecordSettingsViewSet)


paths = [
    path("record-batches/prometheus", PrometheusView.as_view()),
    path("record-batches/otlp/v1/metrics", OtlpMetricsView.as_view()),
    path("record-counts", RecordCountsView.as_view()),
]
