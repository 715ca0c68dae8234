"""Changes in Jira: requests of Jira Service Management, or issues of a project."""

from apps.integrations.connectors.jira.connector import Jira
from apps.integrations.connectors.jira.settings import JiraSettings
from apps.integrations.domain.contract import Connector, Session

NAME = "jira"
TITLE = "Jira"
Settings = JiraSettings


def connect(settings: JiraSettings, session: Session) -> Connector:
    """Return the Jira at the address of these settings."""
    return Jira(settings, session)
