"""People with one role each, on the harbour."""

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.plans.models import Plan
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour
from tests.factories.plans import make_plan


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


@pytest.fixture
def ines(db: None) -> User:
    """Makes plans."""
    return make_user("ines", Role.EDITOR)


@pytest.fixture
def jon(db: None) -> User:
    """Reviews them."""
    return make_user("jon", Role.APPROVER)


@pytest.fixture
def tomas(db: None) -> User:
    """Reviews them too."""
    return make_user("tomas", Role.APPROVER)


@pytest.fixture
def olga(db: None) -> User:
    """Carries them out."""
    return make_user("olga", Role.OPERATOR)


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    """A draft that ines made."""
    return make_plan(harbour.system, ines)
