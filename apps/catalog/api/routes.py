"""Addresses of topics, publishers, consumer classes and what they are made of."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.catalog.api.curves import DrawnCurveView, TopicRateRangeView
from apps.catalog.api.interest_imports import InterestImportViewSet, InterestViewSet
from apps.catalog.api.views import (
    ConsumerClassViewSet,
    CorrelationKeyViewSet,
    GroupViewSet,
    PublisherViewSet,
    SloViewSet,
    StreamViewSet,
    SubscriberViewSet,
    TopicViewSet,
    UtilityCurveView,
    UtilityFunctionViewSet,
    UtilityKindsView,
)


def register(router: BaseRouter) -> None:
    router.register("topics", TopicViewSet)
    router.register("publishers", PublisherViewSet)
    router.register("correlation-keys", CorrelationKeyViewSet)
    router.register("consumer-classes", ConsumerClassViewSet)
    router.register("utility-functions", UtilityFunctionViewSet)
    router.register("slos", SloViewSet)
    router.register("streams", StreamViewSet)
    router.register("groups", GroupViewSet)
    router.register("subscribers", SubscriberViewSet)
    router.register("interest-imports", InterestImportViewSet)
    router.register("interests", InterestViewSet, basename="interest")


paths = [
    path("utility-kinds", UtilityKindsView.as_view()),
    path("utility-kinds/curve", UtilityCurveView.as_view()),
    path("utility-curves", DrawnCurveView.as_view()),
    path("topics/<uuid:id>/rate-range", TopicRateRangeView.as_view()),
]
