"""Say what the published API needs to know about connections and changes."""

from apps.common.api.examples import SYSTEM, WHY, Example
from weir.lifecycle.changes import CHANGES

TAGS = {
    "connection-products": "Products that changes can be opened in, with their settings.",
    "connections": "Products at an address, such as ServiceNow, in which plans open changes.",
    "exchanges": "The last requests to other servers, with their answers.",
    "waiting-messages": "What waits to be sent about changes, and why.",
}

ENUM_NAMES = {
    "ConnectionProductEnum": "apps.integrations.api.serializers.PRODUCTS",
    "ConnectionCommandEnum": "apps.integrations.api.serializers.CONNECTION_COMMANDS",
    "ChangeStateEnum": "apps.integrations.api.serializers.CHANGE_STATES",
    "ChangeApprovalEnum": "apps.integrations.api.serializers.APPROVALS",
    "ChangeEndingEnum": "apps.integrations.api.serializers.ENDINGS",
    "ChangeMessageKindEnum": "apps.integrations.models.MessageKind.choices",
}

MACHINES = {"ChangeStateEnum": CHANGES}

MEANINGS = {
    "ConnectionProductEnum": {
        "http": "Any HTTP endpoint that speaks JSON.",
        "jira": "Requests of a Jira service desk, or issues of a Jira project.",
        "servicenow": "Changes of ServiceNow's Change Management.",
    },
    "ConnectionCommandEnum": {
        "edit": "PATCH it.",
        "delete": "DELETE it.",
        "test": "Try whether it works; nothing else comes of it.",
    },
    "ChangeStateEnum": {
        "opening": "Waits until the other side has made it.",
        "open": "The other side has it; people there decide about it.",
        "ending": "Waits until the other side has closed or cancelled it.",
        "closed": "Has ended at the other side, or was never made there.",
    },
    "ChangeApprovalEnum": {
        "waiting": "People there have not decided, or it has not been read.",
        "approved": "People there have approved it, or need not, and it may be carried out.",
        "refused": "People there have rejected or cancelled it.",
    },
    "ChangeEndingEnum": {
        "succeeded": "The plan was carried out.",
        "failed": "The plan was begun and not carried out, or rolled back.",
        "cancelled": "The plan was taken back, rejected, or does not fit any more.",
    },
    "ChangeMessageKindEnum": {
        "open": "Make the change.",
        "comment": "Write what happened.",
        "begin": "Say that the plan is being carried out.",
        "end": "Close or cancel the change.",
    },
}

REQUESTS: dict[str, Example] = {
    "POST /connections": {
        "name": "ServiceNow",
        "product": "servicenow",
        "settings": {
            "address": "https://example.service-now.com",
            "kind": "normal",
            "assignment_group": "Messaging",
        },
        "credential": "env:WEIR_CREDENTIAL_SERVICENOW",
        "systems": [SYSTEM],
        "reason": WHY,
    },
    "PATCH /connections/{id}": {"approval_needed": False, "reason": WHY},
}
