"""Say what plans need: approvals, times at which they may begin, what counts as worth it."""
