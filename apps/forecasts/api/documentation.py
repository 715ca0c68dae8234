"""Say what the published API needs to know about forecasts of demand."""

from apps.common.api.examples import SYSTEM, Example

TAGS = {"demand-forecasts": "What publishers and consumers will want, hour by hour."}

REQUESTS: dict[str, Example] = {"POST /demand-forecasts": {"system": SYSTEM}}
