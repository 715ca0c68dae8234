"""Addresses of the adaptation of a topic's parts."""

from django.urls import path

from apps.adaptation.api.views import AdaptationResumeView, AdaptationStopView, AdaptationView

paths = [
    path("topics/<uuid:id>/adaptation", AdaptationView.as_view()),
    path("topics/<uuid:id>/adaptation/stop", AdaptationStopView.as_view()),
    path("topics/<uuid:id>/adaptation/resume", AdaptationResumeView.as_view()),
]
