"""Topics, publishers, consumer classes, utility functions, SLOs, streams, groups, interests."""
