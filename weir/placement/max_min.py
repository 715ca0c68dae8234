"""Place publishers over the fewest brokers, the smallest part as large as possible.

The baseline Max-Min of SRTM, section 6.3: it does not know correlation groups.
"""

from __future__ import annotations

from weir.placement._assigning import Rule
from weir.placement._baseline import NoParams, baseline

NAME = "max_min"
TITLE = "Max-min"
SUMMARY = (
    "Takes the fewest brokers and makes the smallest part of the topic as large as it can be: "
    "exactly for publishers of equal rates, by a heuristic for others."
)
RULE = Rule(fewest_brokers=True, even_totals=False, by_group=False)

Params = NoParams
place = baseline(NAME, RULE)
