"""Say in the published schema what a number counts, where neither its name nor its field does."""

import re
from typing import Any

IN_NAME = re.compile(r"_(s|bytes|ratio|share|sd)$")
"""Names that end so carry their unit: seconds, per second, bytes, shares of 1, deviations."""
OF_REQUEST = re.compile(r"^Patched|Request$")

UTILITY = "In units of utility, which the utility functions define."
PRICE = "Utility per unit of the resource."
COST = "Units of work of the resource per message."
COUNTED = "In the unit that stands beside it."

UNITS: dict[str, str] = {
    "best_utility": "The best utility so far, in units of utility.",
    "burst": "Messages that may pass at once.",
    "capacity": "Units of work per second; of a link, link units per second.",
    "condition": "Condition number of the fit, without a unit; large: the points say too little.",
    "cores": "Cores that a broker's capacity means; null: as reported.",
    "cost": COST,
    "derivatives": "Utility per message per second, one for each of `rates`.",
    "factor": "What costs are multiplied by; 1: as the model says.",
    "factor_max": "The largest factor on costs; 1: none above the model's.",
    "factor_min": "The smallest factor on costs; 1: none below the model's.",
    "high": COUNTED,
    "load": "Units of work per second; of a link, link units per second.",
    "low": COUNTED,
    "maximum": COUNTED,
    "measured": COUNTED,
    "messages_per_transaction": "Messages that a reliable producer sends per acknowledgement.",
    "minimum": COUNTED,
    "minutes": "Minutes.",
    "net_benefit": "Messages over one link; below 0: it costs more than it saves.",
    "price": PRICE,
    "price_per_message": "Utility per message.",
    "r_squared": "Share of the variance that the fit explains, 1 at most.",
    "rate_min": "Messages per second.",
    "rates": "Messages per second.",
    "ratio": "Measured over predicted, without a unit; null: not known.",
    "scale": "What the whole utility is multiplied by, without a unit.",
    "scale_at_margin": "As `scale`: where one consumer would be worth just what it costs.",
    "smoothing": "Weight of the newest measurement, 0 to 1.",
    "target": "Seconds, a share of 1, or messages per second, as `quantity` says.",
    "threshold": "In the unit of `value`.",
    "transformation_cost": "Messages over one link.",
    "upper_bound": "Proven: no answer has more utility than this; null: no bound.",
    "utilisation": "Load over capacity; 1: full.",
    "utility": UTILITY,
    "utility_before": UTILITY,
    "values": "Utility, one for each of `rates`.",
    "wanted": COUNTED,
    "after": COUNTED,
    "before": COUNTED,
}
"""What a number of this name counts."""

OF_COMPONENT: dict[str, str] = {
    "Change.before": "Before the change; the field that holds this says of what.",
    "Change.after": "After the change; the field that holds this says of what.",
    "ModelChange.before": "In the unit of what changed; null: no number.",
    "ModelChange.after": "In the unit of what changed; null: no number.",
    "QuantityChange.before": "In the unit of `kind`.",
    "QuantityChange.after": "In the unit of `kind`.",
    "PreviewChange.before": "In the unit of `kind`.",
    "PreviewChange.after": "In the unit of `kind`.",
    "RelaxedNumber.before": "A capacity in units of work per second, or a rate in messages per "
    "second.",
    "RelaxedNumber.after": "A capacity in units of work per second, or a rate in messages per "
    "second.",
    "Trial.after": "In the unit of `before`.",
    "Coefficient.value": COST,
    "Firing.value": "What the trigger saw: a share, or a number of missed objectives.",
    "FitPoint.measured": "Units of work per second.",
    "FitPoint.fitted": "Units of work per second, by the coefficients that were fitted.",
    "Correction.measured": "Units of work per second.",
    "Correction.predicted": "Units of work per second.",
    "ConsumerClassCost.cost": "Units of work of the resource per message and consumer.",
    "TopicLinkCost.cost": "Link units per message.",
}
"""What it counts in one component, where that is another thing."""


def described_otherwise(name: str, schema: dict[str, Any]) -> bool:
    """Return whether a field is no number, or says itself what it counts."""
    part = schema.get("items", schema) if schema.get("type") == "array" else schema
    number = isinstance(part, dict) and part.get("type") == "number"
    return not number or bool(schema.get("description")) or bool(IN_NAME.search(name))


def describe_units(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Add to every number without a unit what it counts."""
    for component, fields in numbers(result):
        plain = OF_REQUEST.sub("", component)
        for name, schema in fields.items():
            text = OF_COMPONENT.get(f"{plain}.{name}") or UNITS.get(name)
            if text and not described_otherwise(name, schema):
                schema["description"] = text
    return result


def numbers(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the fields of every component."""
    components = schema.get("components", {}).get("schemas", {})
    return [(name, one.get("properties", {})) for name, one in components.items()]
