"""Settings of the test suite. `tests/embedded.py` starts the servers and sets the environment;
tools that only import the settings (mypy, the schema) get addresses at which nothing listens."""

import os

from config.offline import fill

fill(os.environ)

from config.settings.base import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
