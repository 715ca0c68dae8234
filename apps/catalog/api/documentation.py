"""Say what the published API needs to know about imports of interests."""

from apps.common.api.examples import Example
from weir.lifecycle.imports import IMPORTS

ENUM_NAMES = {
    "InterestImportModeEnum": "apps.catalog.models.ImportMode.choices",
    "InterestImportPhaseEnum": "apps.catalog.models.ImportPhase.choices",
    "InterestImportStateEnum": "apps.catalog.api.interest_imports.IMPORT_STATES",
    "InterestImportCommandEnum": "apps.catalog.api.interest_imports.IMPORT_COMMANDS",
    "QuantityEnum": "apps.catalog.models.Quantity.choices",
}

MACHINES = {"InterestImportStateEnum": IMPORTS}

MEANINGS = {
    "InterestImportModeEnum": {
        "add": "What is listed begins.",
        "remove": "What is listed ends.",
        "replace": "Subscribers that are listed want exactly what is listed for them.",
    },
    "InterestImportPhaseEnum": {
        "read": "Reads the file.",
        "match": "Looks up the names of subscribers and topics.",
        "compare": "Compares with the interests that are there.",
        "write": "Writes what differs; kept only when all of it is written.",
    },
    "InterestImportStateEnum": {
        "queued": "Waits for a worker.",
        "running": "Is being carried out.",
        "succeeded": "Has ended; the counts say what was changed, or would be by a dry run.",
        "refused": "Has ended: lines are wrong, as `errors` says; nothing was changed.",
        "failed": "Has ended by an error, which `failure` names; nothing was changed.",
        "cancelled": "Has ended because somebody cancelled it; nothing was changed.",
    },
    "InterestImportCommandEnum": {"cancel": "Stop the import; nothing of it is kept."},
}

REQUESTS: dict[str, Example] = {
    "POST /interest-imports": {"rows": [{"subscriber": "risk-engine", "topic": "quotes.eurusd"}]},
    "POST /interest-imports/{id}/cancel": {"reason": "The wrong file."},
}

TABLES = {"POST /interest-imports": "subscriber,topic\r\nrisk-engine,quotes.eurusd\r\n"}
