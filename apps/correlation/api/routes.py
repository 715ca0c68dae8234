"""Addresses of searches for publishers that burst together, and of what they suggest."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.correlation.api.views import (
    AnalysisSuggestionViewSet,
    CorrelationAnalysisViewSet,
    MemberViewSet,
    PublisherTimesView,
    RecordingsView,
    SuggestionViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("correlation-analyses", CorrelationAnalysisViewSet)
    router.register(
        "correlation-analyses/<uuid:analysis_id>/suggestions",
        AnalysisSuggestionViewSet,
        basename="correlation-analysis-suggestion",
    )
    router.register("correlation-suggestions", SuggestionViewSet)
    router.register(
        "correlation-suggestions/<uuid:suggestion_id>/members",
        MemberViewSet,
        basename="correlation-suggestion-member",
    )


paths = [
    path("recordings", RecordingsView.as_view()),
    path("topics/<uuid:id>/publisher-times", PublisherTimesView.as_view()),
]
