"""How many words there were."""

from django.db import models

from apps.runs.models import Computed
from apps.systems.models import System


class Tally(Computed):
    """The words of one text."""

    LETTER = "T"

    system = models.ForeignKey(System, on_delete=models.CASCADE, null=True, related_name="+")
    words = models.PositiveIntegerField()
