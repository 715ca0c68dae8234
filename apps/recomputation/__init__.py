"""Computing again by itself: schedules, triggers, and every time one of them fired."""
