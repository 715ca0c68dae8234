"""Shells of people who are signed in."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import token_create
from tests.weir_cli.terminal import Terminal


@pytest.fixture
def terminal(capsys: Any) -> Callable[..., Terminal]:
    def sign_in(person: User, *roles: Role) -> Terminal:
        _, secret = token_create(owner=person, name="terminal", roles=roles or [*person.roles])
        return Terminal(capsys, secret)

    return sign_in


@pytest.fixture
def weir(terminal: Callable[..., Terminal], admin: User) -> Terminal:
    return terminal(admin, *Role)
