"""Define the settings shared by every way of running the control plane."""

import warnings
from pathlib import Path
from typing import Any

from celery.schedules import schedule

from config.api_documentation import documented
from config.api_tags import tags_of
from config.env import database_settings, read_environment

# WhiteNoise hands its few, small files to ASGI as synchronous streams, which is all they need.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

BASE_DIR = Path(__file__).resolve().parents[2]
ENV = read_environment()

SECRET_KEY = ENV.secret_key
DEBUG = False
ALLOWED_HOSTS = list(ENV.allowed_hosts)
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "django_celery_beat",
    "apps.common",
    "apps.accounts",
    "apps.audit",
    "apps.systems",
    "apps.topology",
    "apps.catalog",
    "apps.telemetry",
    "apps.runs",
    "apps.calibration",
    "apps.demand",
    "apps.records",
    "apps.executions",
    "apps.policies",
    "apps.plans",
    "apps.allocations",
    "apps.demo",
    "apps.evaluations",
    "apps.rate_control",
    "apps.adaptation",
    "apps.placements",
    "apps.mappings",
    "apps.correlation",
    "apps.pipeline",
    "apps.forecasts",
    "apps.overview",
    "apps.recomputation",
    "apps.studies",
    "apps.integrations",
    "apps.webhooks",
    "apps.inbox",
    "apps.notifications",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Outside the next, which makes another answer of the full one.
    "apps.accounts.api.token_limit.TokenLimitFields",
    # Outside all that adds headers: a 304 has those of the full answer.
    "apps.common.api.polling.Polling",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
]

DATABASES = {"default": database_settings(ENV.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENV.secure_cookies
CSRF_COOKIE_SECURE = ENV.secure_cookies
CSRF_FAILURE_VIEW = "apps.common.api.problems.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

FRONTEND_DIST = BASE_DIR / "frontend" / "dist"
STATIC_URL = "/static/"
WHITENOISE_ROOT = str(FRONTEND_DIST) if FRONTEND_DIST.is_dir() else None
WHITENOISE_INDEX_FILE = False

# One request body may hold a whole problem; anything larger is for `manage.py allocate`.
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024
# But for an import of interests, which is read in pieces and never held in memory.
WEIR_LARGEST_IMPORT_BYTES = 128 * 1024 * 1024

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.accounts.api.authentication.TokenAuthentication",
        "apps.accounts.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apps.accounts.api.permissions.RolePermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.common.api.renderers.FormatNegotiation",
    "DEFAULT_PARSER_CLASSES": ["apps.common.api.parsers.JsonBody"],
    "DEFAULT_PAGINATION_CLASS": "apps.common.api.pagination.CursorPages",
    "DEFAULT_FILTER_BACKENDS": [
        "django_filters.rest_framework.DjangoFilterBackend",
        "apps.common.api.filters.NameSearch",
    ],
    "DEFAULT_SCHEMA_CLASS": "apps.accounts.api.schema.RoleSchema",
    "EXCEPTION_HANDLER": "apps.common.api.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    # A client may write anything into X-Forwarded-For: only the entries of this many proxies of our
    # own count. With none, the peer of the connection counts.
    "NUM_PROXIES": ENV.trusted_proxies,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Weir",
    "DESCRIPTION": (
        "The control plane for publish/subscribe systems.\n\n"
        "**Access.** Programs send `Authorization: Bearer TOKEN`; a token is made under Settings "
        "or with `POST /api/v1/tokens` by a person who is signed in (`POST /api/v1/session`); a "
        "token makes no tokens and no accounts. Every account may read; a write needs a role that "
        "the operation names (`x-weir-roles`: each of them is enough; empty: nobody has to sign "
        "in). Roles add up and none includes another: an administrator edits no "
        "model and approves no plan. What a token may do is what its own roles allow. Browsers "
        "sign in with a session; with a session every write, signing in included, sends the "
        "`csrf_token` of `GET /api/v1/session` as `X-CSRFToken`.\n\n"
        "**Lists** answer `{count, next, previous, results}`: follow `next` until it is null. "
        "`page_size` is at most 500; `search` matches words, `ordering` takes a field, with `-` "
        "for descending. Answers with a schema of their own, such as `overview` and `telemetry`, "
        "are not paged.\n\n"
        "**Writes.** Objects of the model, policies, schedules, triggers, fits, studies and plans "
        'answer with an `ETag`, which is their `version` in quotes, such as `"3"`; send it as '
        "`If-Match` with the change, or with the command on a plan (428 without, 412 when somebody "
        "was faster). A plan is approved by its `content_hash`, too. A creating POST that takes "
        "`Idempotency-Key` may be repeated with the same key: it answers as before.\n\n"
        "**Reads** answer with an `ETag`, too: the version, where there is one, and a hash of the "
        'body, such as `"3-5f0c…"`. Send it as `If-None-Match` to read again: 304, without a body, '
        "while the answer is the same. `If-Match` compares the version alone.\n\n"
        "**Long operations** answer 202 with the `Location` of what shows their progress, and "
        "`Retry-After`. "
        "Read it until its `state`, or that of its `run`, is one that nothing follows: of runs "
        "`succeeded`, `infeasible`, `failed`, `cancelled`; of executions `succeeded`, `stopped`, "
        "`rolled_back`, `failed`; of firings all but `waiting` and `computing`; of imports all "
        "but `queued` and `running`. "
        "Programs ask every few seconds. Browsers hear of changes from `GET /api/v1/events`, "
        "server-sent events for sessions; a token is refused there.\n\n"
        "**Limits.** A token may make a number of requests a minute, in a burst if it likes; "
        "`RateLimit-Policy` names the number, `RateLimit` what is left. Beyond it: 429, "
        "`too_many_requests`, with `Retry-After`. Sessions have no limit.\n\n"
        "**Errors** are RFC 9457 problem documents: decide by `code`; `errors` names the fields. "
        "A field, or a list's query parameter, that does not exist is refused, too. "
        "Numbers are SI: messages per second, seconds, messages."
    ),
    "VERSION": "1",
    "TAGS": tags_of(INSTALLED_APPS),
    "SERVERS": [
        {"url": "/", "description": "The installation that this document was read from."},
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "config.api_meanings.describe_values",
        "apps.common.api.schema.add_problem_responses",
        "apps.common.api.schema.add_headers",
        "config.api_schema.describe_components",
        "config.api_units.describe_units",
        "config.api_schema.add_examples",
    ],
    "ENUM_NAME_OVERRIDES": {
        **documented(INSTALLED_APPS, "ENUM_NAMES"),
        "RunKindEnum": "apps.runs.selectors.kind_choices",
        "RunStateEnum": "apps.runs.api.views.RUN_STATES",
        "DeliveryEnum": "apps.catalog.models.Delivery.choices",
        "ProductEnum": "apps.systems.models.Product.choices",
        "PatternEnum": "apps.catalog.models.Pattern.choices",
        "PlanStateEnum": "apps.plans.api.serializers.PLAN_STATES",
        "CheckStateEnum": "apps.plans.api.serializers.CHECK_STATES",
        "AgentStateEnum": "apps.telemetry.models.AGENT_STATES",
        "ExecutionStateEnum": "apps.executions.api.serializers.EXECUTION_STATES",
        "SessionCommandEnum": "apps.accounts.api.views.SESSION_COMMANDS",
        "TokenCommandEnum": "apps.accounts.api.views.TOKEN_COMMANDS",
        "EditCommandEnum": "apps.common.api.fields.EDIT_ONLY",
        "ImportActionEnum": "apps.systems.api.imports.IMPORT_ACTIONS",
        "ObjectCommandEnum": "apps.systems.api.entities.OBJECT_COMMANDS",
        "SystemCommandEnum": "apps.systems.api.views.SYSTEM_COMMANDS",
        "AgentCommandEnum": "apps.telemetry.api.serializers.AGENT_COMMANDS",
        "RunCommandEnum": "apps.runs.api.views.RUN_COMMANDS",
        "RunEventEnum": "apps.runs.api.views.EVENT_COMMANDS",
        "RuleCommandEnum": "apps.recomputation.api.serializers.RULE_COMMANDS",
        "PlanCommandEnum": "apps.plans.api.serializers.PLAN_COMMANDS",
        "LeftOutReasonEnum": "apps.plans.api.serializers.LEFT_OUT_REASONS",
        "FiringOutcomeEnum": "apps.recomputation.models.Outcome.choices",
        "OutcomeEnum": "apps.executions.services.decide.Outcome.choices",
        "PhaseEnum": "apps.executions.api.serializers.REPORT_PHASES",
        "ExecutionCommandEnum": "apps.executions.api.serializers.COMMANDS",
        "StepStateEnum": "apps.executions.api.serializers.STEP_STATES",
        "ActionStateEnum": "apps.executions.api.serializers.ACTION_STATES",
        "FiringStateEnum": "apps.recomputation.api.serializers.FIRING_STATES",
        "BasisEnum": "apps.overview.api.serializers.LOAD_BASES",
        "TriggerKindEnum": "apps.recomputation.models.Kind.choices",
        "SubjectEnum": "apps.recomputation.api.serializers.SUBJECTS",
        "ThenEnum": "apps.recomputation.models.Then.choices",
        "RoleEnum": "apps.accounts.models.role_choices",
    },
}

CELERY_BROKER_URL = ENV.broker_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Four queues: runs wait for a slot of a worker, their upkeep never waits behind them, and imports,
# which last a minute and need no Spark, hold neither up. The worker of imports has threads for
# integrations, too, which wait for other servers.
CELERY_TASK_DEFAULT_QUEUE = "runs"
CELERY_TASK_ROUTES = {
    "runs.reap": {"queue": "control"},
    "catalog.import_interests": {"queue": "imports"},
    "catalog.reap_imports": {"queue": "control"},
    "recomputation.due": {"queue": "control"},
    "integrations.follow": {"queue": "integrations"},
    "integrations.work": {"queue": "integrations"},
    "webhooks.follow": {"queue": "integrations"},
    "webhooks.send": {"queue": "integrations"},
    "webhooks.tidy": {"queue": "control"},
    "notifications.send": {"queue": "integrations"},
    "notifications.post": {"queue": "integrations"},
    "notifications.tidy": {"queue": "control"},
    "records.take_measurements": {"queue": "imports"},
    "pipeline.add_sums": {"queue": "imports"},
    "pipeline.judge_objectives": {"queue": "imports"},
    "pipeline.tidy": {"queue": "imports"},
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "runs.reap": {"task": "runs.reap", "schedule": schedule(run_every=5.0)},
    "catalog.reap_imports": {"task": "catalog.reap_imports", "schedule": schedule(run_every=5.0)},
    "integrations.follow": {"task": "integrations.follow", "schedule": schedule(run_every=3.0)},
    "webhooks.follow": {"task": "webhooks.follow", "schedule": schedule(run_every=3.0)},
    "webhooks.tidy": {"task": "webhooks.tidy", "schedule": schedule(run_every=3600.0)},
    "notifications.send": {"task": "notifications.send", "schedule": schedule(run_every=5.0)},
    "notifications.post": {"task": "notifications.post", "schedule": schedule(run_every=5.0)},
    "notifications.tidy": {"task": "notifications.tidy", "schedule": schedule(run_every=3600.0)},
    "records.take_measurements": {
        "task": "records.take_measurements",
        "schedule": schedule(run_every=20.0),
    },
    "pipeline.add_sums": {"task": "pipeline.add_sums", "schedule": schedule(run_every=5.0)},
    "pipeline.judge_objectives": {
        "task": "pipeline.judge_objectives",
        "schedule": schedule(run_every=5.0),
    },
    "pipeline.tidy": {"task": "pipeline.tidy", "schedule": schedule(run_every=3600.0)},
}
# Beat records each call at once: a killed beat repeats its last call at most.
CELERY_BEAT_SYNC_EVERY = 1

WEIR_BROKER_URL = ENV.broker_url
WEIR_SPARK_REMOTE = ENV.spark_remote
WEIR_DATA_DIR = ENV.data_dir
WEIR_RECORDINGS_DIR = ENV.recordings_dir
WEIR_WEB_URL = ENV.web_url
# Under which people reach the pages: links lead there.
WEIR_PUBLIC_URL = ENV.public_url
# A run whose worker has been silent this long is taken from it.
WEIR_RUN_SILENCE_S = ENV.run_silence_s
WEIR_RUN_MAX_ATTEMPTS = 3
# How many requests a token may make in a minute; 0: as many as it likes.
WEIR_API_REQUESTS_PER_MINUTE = ENV.api_requests_per_minute
# How long brokers have to get ready for a shift at the first attempt; each later one doubles it.
WEIR_PREPARE_TIMEOUT_S = ENV.prepare_timeout_s
# Credentials of other servers: files below this folder, and variables of this prefix, alone.
WEIR_CREDENTIALS_DIR = ENV.credentials_dir
WEIR_CREDENTIAL_PREFIX = "WEIR_CREDENTIAL_"
# Private addresses that connections to other servers may reach, and whether without TLS.
WEIR_PRIVATE_NETWORKS = ENV.private_networks
WEIR_PLAIN_HTTP = ENV.plain_http
# What such requests go by; None: they go directly.
WEIR_OUTGOING_PROXY = ENV.outgoing_proxy
# A Spark server that is restarted needs a few seconds for its JVM.
WEIR_SPARK_PATIENCE_S = 60.0

# E-mail is sent once there is a server. None of its addresses is a default of Django's.
EMAIL_HOST = ENV.mail.host if ENV.mail else ""
EMAIL_PORT = ENV.mail.port if ENV.mail else 0
EMAIL_HOST_USER = ENV.mail.user if ENV.mail else ""
EMAIL_HOST_PASSWORD = ENV.mail.password if ENV.mail else ""
EMAIL_USE_TLS = ENV.mail.starttls if ENV.mail else False
EMAIL_USE_SSL = ENV.mail.tls if ENV.mail else False
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = ENV.mail.sender if ENV.mail else ""

# What `manage.py coordinate` calls repeatedly: the seconds between two calls, those after a call
# that had nothing to do, and the least between two where news wake it earlier. News say what
# people and agents do; turns are for what time alone causes, and for news that were lost.
WEIR_LOOPS = [
    ("apps.executions.services.executions_tick", 0.5, 2.0, 0.05),
    ("apps.audit.services.events_number", 1.0, 1.0, 0.05),
    # Beat asks a worker for it, too; the coordinator needs neither of them, and no message.
    ("apps.runs.services.runs_reap", 5.0, 5.0, 1.0),
    ("apps.catalog.services.imports_reap", 5.0, 5.0, 1.0),
    ("apps.telemetry.services.levels.levels_roll", 15.0, 15.0, 5.0),
    ("apps.calibration.services.calibration_tick", 5.0, 5.0, 1.0),
    ("apps.demand.services.demand_tick", 10.0, 10.0, 5.0),
    ("apps.forecasts.services.forecasts_start", 60.0, 60.0, 30.0),
    ("apps.plans.services.plans_settle", 0.5, 2.0, 0.05),
    ("apps.plans.services.windows_hold", 0.5, 2.0, 0.05),
    ("apps.plans.services.plans_verify", 5.0, 5.0, 1.0),
    ("apps.mappings.services.filtering.filtering_roll", 60.0, 60.0, 30.0),
    ("apps.rate_control.services.rates_control", 1.0, 1.0, 0.05),
    ("apps.adaptation.services.adaptation_tick", 0.5, 2.0, 0.05),
    ("apps.recomputation.services.recomputation_tick", 1.0, 2.0, 0.05),
    ("apps.recomputation.services.decisions_advance", 2.0, 10.0, 1.0),
    # Nobody waits for these within a second, and they cost more.
    ("apps.inbox.services.items_keep", 2.0, 5.0, 0.5),
    ("apps.inbox.services.backlog_items_keep", 30.0, 30.0, 30.0),
    ("apps.notifications.services.notices_note", 5.0, 5.0, 5.0),
    ("apps.accounts.services.requests_forget", 3600.0, 3600.0, 3600.0),
]

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    # The reaper's two lines every five seconds would hide everything else.
    "loggers": {
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        # Exchanges are kept, with their secrets masked.
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
    },
}
