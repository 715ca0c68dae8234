"""The experiments of the Gryphon paper (ICAC 2006, section V), run again on Weir's kernel."""
