"""Define the settings of the test suite. `tests/embedded.py` starts the servers and sets the
environment; tools that only import the settings (mypy, the schema) get addresses at which nothing
listens."""

import os

from config.offline import fill

fill(os.environ)

from config.settings.base import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# No test outlives its database: nothing waits for the disk at every commit.
DATABASES["default"]["OPTIONS"] = {"options": "-c synchronous_commit=off"}  # noqa: F405

# Counted as in production, and never too many but where a test sets a limit of its own.
WEIR_API_REQUESTS_PER_MINUTE = 600_000

# A kind of computation that only tests know.
INSTALLED_APPS = [*INSTALLED_APPS, "tests.apps.runs.toy"]  # noqa: F405
