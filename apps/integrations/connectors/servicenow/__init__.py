"""Changes in ServiceNow, by its Change Management API (`sn_chg_rest`)."""

from apps.integrations.connectors.servicenow.connector import ServiceNow
from apps.integrations.connectors.servicenow.settings import ServiceNowSettings
from apps.integrations.domain.contract import Connector, Session

NAME = "servicenow"
TITLE = "ServiceNow"
Settings = ServiceNowSettings


def connect(settings: ServiceNowSettings, session: Session) -> Connector:
    """Return the change management at the address of these settings."""
    return ServiceNow(settings, session)
