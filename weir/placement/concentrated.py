"""Place publishers over the fewest brokers, total loads even (Conc in SRTM, section 6.2)."""

from __future__ import annotations

from weir.placement._assigning import Rule
from weir.placement._baseline import NoParams, baseline

NAME = "concentrated"
TITLE = "Concentration"
SUMMARY = (
    "Takes the fewest brokers and evens out their total loads: exactly for publishers of "
    "equal rates, by a heuristic for others."
)
RULE = Rule(fewest_brokers=True, even_totals=True, by_group=False)

Params = NoParams
place = baseline(NAME, RULE)
