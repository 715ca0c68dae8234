"""Read orders, what is measured, and how an adaptation stands."""
