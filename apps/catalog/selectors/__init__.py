"""Read the whole model of a system as the kernel's problem."""

from apps.catalog.selectors.catalog import system_problem, utility_curve, utility_kind_descriptions

__all__ = ["system_problem", "utility_curve", "utility_kind_descriptions"]
