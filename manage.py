#!/usr/bin/env python
"""Weir's command line: Django's own commands and Weir's (`allocate`, `load_demo`, ...)."""

import os
import sys


def main() -> None:
    """Run one management command, on the servers of the environment or those of `make up`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    if "DATABASE_URL" not in os.environ and "DATABASE_URL_FILE" not in os.environ:
        _adopt_running_system()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


def _adopt_running_system() -> None:
    from config import offline
    from config.stack import Stack, StackError

    try:
        found = Stack().environment()
    except StackError:
        # Never started: commands that need no server work, the others say what does not answer.
        found = {}
    for name, value in found.items():
        os.environ.setdefault(name, value)
    offline.fill(os.environ)


if __name__ == "__main__":
    main()
