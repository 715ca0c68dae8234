"""Place publishers over all brokers so that total loads are even (LB in SRTM, section 6.2)."""

from __future__ import annotations

from weir.placement._assigning import Rule
from weir.placement._baseline import NoParams, baseline

NAME = "load_balanced"
TITLE = "Load balancing"
SUMMARY = (
    "Evens out total loads over all brokers, which splits the token bucket most: exactly for "
    "publishers of equal rates, by a heuristic for others."
)
RULE = Rule(fewest_brokers=False, even_totals=True, by_group=False)

Params = NoParams
place = baseline(NAME, RULE)
