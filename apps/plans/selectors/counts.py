"""Count the plans of each state."""

from django.db.models import Count

from apps.plans.models import Plan


def plan_count_by_state() -> dict[str, int]:
    """Return how many plans stand in each state, for metrics."""
    return dict(Plan.objects.values_list("state").annotate(n=Count("id")).order_by())
