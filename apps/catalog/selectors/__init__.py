"""Read the whole model of a system as the kernel's problem, and its interests as a table."""

from apps.catalog.selectors.catalog import system_problem, utility_curve, utility_kind_descriptions
from apps.catalog.selectors.interests import interests_csv

__all__ = ["interests_csv", "system_problem", "utility_curve", "utility_kind_descriptions"]
