"""Evaluate overlays: candidates for a better tree, what reaching each would take and be worth."""
