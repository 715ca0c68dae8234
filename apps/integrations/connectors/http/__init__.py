"""Changes at any HTTP endpoint that speaks JSON; the settings say what is sent and read where."""

from apps.integrations.connectors.http.connector import HttpEndpoint
from apps.integrations.connectors.http.settings import HttpSettings
from apps.integrations.domain.contract import Connector, Session

NAME = "http"
TITLE = "HTTP endpoint"
Settings = HttpSettings


def connect(settings: HttpSettings, session: Session) -> Connector:
    """Return the endpoint at the address of these settings."""
    return HttpEndpoint(settings, session)
