"""Read what the home page shows of every system."""

from apps.overview.selectors.overview import systems_overview

__all__ = ["systems_overview"]
