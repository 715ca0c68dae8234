"""Move parts of buckets, and let people stop that."""

from apps.adaptation.services.commands import adaptation_resume, adaptation_stop
from apps.adaptation.services.loop import adaptation_tick

__all__ = ["adaptation_resume", "adaptation_stop", "adaptation_tick"]
