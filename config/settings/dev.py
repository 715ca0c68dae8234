"""Define the settings of `make up`: one machine, loopback only, embedded servers."""

from config.settings.base import *  # noqa: F403
