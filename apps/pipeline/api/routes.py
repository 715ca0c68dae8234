"""Addresses of sums of records and their quality, of requesters, and of how objectives held."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.pipeline.api.objectives import SloComplianceViewSet
from apps.pipeline.api.quality import RecordQualityView
from apps.pipeline.api.request_loops import RequestLoopsView
from apps.pipeline.api.views import RecordMetricsView, RecordSumsView


def register(router: BaseRouter) -> None:
    router.register("slo-compliance", SloComplianceViewSet, basename="slo-compliance")


paths = [
    path("record-sums", RecordSumsView.as_view()),
    path("record-metrics", RecordMetricsView.as_view()),
    path("record-quality", RecordQualityView.as_view()),
    path("request-loops", RequestLoopsView.as_view()),
]
