"""List every address: the API, what machines ask, and the single page of the browser."""

from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter

from apps.accounts.api.views import PasswordView, SessionView, TokenViewSet, UserViewSet
from apps.allocations.api.preview import PreviewView
from apps.allocations.api.views import (
    AllocationViewSet,
    LoadViewSet,
    OptimizersView,
    PopulationViewSet,
    RateViewSet,
)
from apps.audit.api.views import AuditViewSet
from apps.calibration.api.views import (
    CalibrationSettingsViewSet,
    CalibrationStateView,
    FitViewSet,
)
from apps.catalog.api.curves import DrawnCurveView, TopicRateRangeView
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
from apps.evaluations.api.repairs import RepairsView
from apps.evaluations.api.tools import (
    MethodsView,
    PlannersView,
    SystemTrafficView,
    TransformationView,
)
from apps.evaluations.api.views import CandidateViewSet, EvaluationViewSet
from apps.executions.api import agents
from apps.executions.api.restored import AdoptRestoredView, RestoredView
from apps.executions.api.views import ExecutionViewSet
from apps.overview.api.views import OverviewView
from apps.plans.api.checklist import ChecklistView
from apps.plans.api.model_state import ModelStateView
from apps.plans.api.views import PlanViewSet
from apps.policies.api.views import PolicyViewSet
from apps.rate_control.api.views import FlowStatusView
from apps.recomputation.api.views import (
    FiringViewSet,
    SchedulePreviewView,
    ScheduleViewSet,
    TriggerViewSet,
)
from apps.runs.api.events import events
from apps.runs.api.processes import ProcessesView
from apps.runs.api.views import RunViewSet, report_progress
from apps.studies.api.job_points import report_points
from apps.studies.api.views import StudyPointViewSet, StudyViewSet
from apps.systems.api.views import SystemViewSet
from apps.telemetry.api.views import (
    AgentViewSet,
    LossesView,
    TelemetryLevelsView,
    TelemetrySeriesView,
    TelemetryView,
)
from apps.topology.api.views import BrokerViewSet, LinkViewSet, OverlayViewSet
from config.health import livez, readyz
from config.metrics import metrics
from config.page import page
from config.schema_view import SchemaView

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("users", UserViewSet)
router.register("tokens", TokenViewSet)
router.register("systems", SystemViewSet)
router.register("brokers", BrokerViewSet)
router.register("links", LinkViewSet)
router.register("overlays", OverlayViewSet)
router.register("topics", TopicViewSet)
router.register("publishers", PublisherViewSet)
router.register("correlation-keys", CorrelationKeyViewSet)
router.register("consumer-classes", ConsumerClassViewSet)
router.register("utility-functions", UtilityFunctionViewSet)
router.register("slos", SloViewSet)
router.register("streams", StreamViewSet)
router.register("groups", GroupViewSet)
router.register("subscribers", SubscriberViewSet)
router.register("runs", RunViewSet)
router.register("allocations", AllocationViewSet)
router.register("allocations/<uuid:allocation_id>/rates", RateViewSet, basename="allocation-rate")
router.register(
    "allocations/<uuid:allocation_id>/populations",
    PopulationViewSet,
    basename="allocation-population",
)
router.register("allocations/<uuid:allocation_id>/loads", LoadViewSet, basename="allocation-load")
router.register("studies", StudyViewSet)
router.register("studies/<uuid:study_id>/points", StudyPointViewSet, basename="study-point")
router.register("overlay-evaluations", EvaluationViewSet)
router.register("overlay-candidates", CandidateViewSet)
router.register("calibrations", FitViewSet, basename="calibration")
router.register("calibration-settings", CalibrationSettingsViewSet)
router.register("agents", AgentViewSet)
router.register("plans", PlanViewSet)
router.register("policies", PolicyViewSet)
router.register("executions", ExecutionViewSet)
router.register("recomputation/schedules", ScheduleViewSet)
router.register("recomputation/triggers", TriggerViewSet)
router.register("recomputation/firings", FiringViewSet)
router.register("audit", AuditViewSet)

api = [
    path("session", SessionView.as_view()),
    path("session/password", PasswordView.as_view()),
    path("overview", OverviewView.as_view()),
    path("processes", ProcessesView.as_view()),
    path("utility-kinds", UtilityKindsView.as_view()),
    path("utility-kinds/curve", UtilityCurveView.as_view()),
    path("topics/<uuid:id>/rate-range", TopicRateRangeView.as_view()),
    path("utility-curves", DrawnCurveView.as_view()),
    path("optimizers", OptimizersView.as_view()),
    path("flow-status", FlowStatusView.as_view()),
    path("model-state", ModelStateView.as_view()),
    path("recomputation/preview", SchedulePreviewView.as_view()),
    path("systems/<uuid:id>/preview", PreviewView.as_view()),
    path("systems/<uuid:id>/checklist", ChecklistView.as_view()),
    path("systems/<uuid:id>/restored", RestoredView.as_view()),
    path("systems/<uuid:id>/adopt-restored", AdoptRestoredView.as_view()),
    path("systems/<uuid:id>/traffic", SystemTrafficView.as_view()),
    path("overlay-transformations", TransformationView.as_view()),
    path("repairs", RepairsView.as_view()),
    path("topology-planners", PlannersView.as_view()),
    path("topology-methods", MethodsView.as_view()),
    path("calibration-state", CalibrationStateView.as_view()),
    path("telemetry", TelemetryView.as_view()),
    path("telemetry/series", TelemetrySeriesView.as_view()),
    path("telemetry/levels", TelemetryLevelsView.as_view()),
    path("telemetry/losses", LossesView.as_view()),
    path("schema", SchemaView.as_view()),
    *router.urls,
]

handler400 = "apps.common.api.problems.bad_request"
handler404 = "apps.common.api.problems.not_found"
handler500 = "apps.common.api.problems.server_error"

urlpatterns = [
    path("api/v1/events", events),
    path("api/v1/", include(api)),
    path("agent/v1/session", agents.session),
    path("agent/v1/document", agents.document),
    path("agent/v1/report", agents.report),
    path("internal/runs/progress", report_progress),
    path("internal/studies/points", report_points),
    path("livez", livez),
    path("readyz", readyz),
    path("metrics", metrics),
    re_path(r"^(?!api/|agent/v1/|internal/|assets/|static/).*$", page),
]
